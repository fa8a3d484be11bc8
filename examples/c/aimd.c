// Additive increase, multiplicative decrease: the rules of the registered "aimd", with the same bits.
//
// cc -O2 -ffp-contract=off -shared -fPIC -I python/dumbbell/include examples/c/aimd.c -o aimd.so
#include "dumbbell.h"

struct aimd {
    double increase; // segments per round trip
    double decrease; // fraction of the window after a loss
    double losses;
};

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

static void start(void *state, const struct dumbbell_setup *setup, const double *parameters,
                  struct dumbbell_window *window)
{
    struct aimd *aimd = state;
    (void)setup;
    (void)window;
    aimd->increase = parameters[0];
    aimd->decrease = parameters[1];
}

static void on_ack(void *state, const struct dumbbell_connection *connection, const struct dumbbell_ack *ack,
                   struct dumbbell_window *window)
{
    const struct aimd *aimd = state;
    if (ack->in_recovery || window->cwnd >= connection->growth_limit)
        return;
    double growth = connection->mss;
    if (window->cwnd >= window->ssthresh)
        growth = connection->mss / (window->cwnd / (connection->mss * aimd->increase));
    window->cwnd = least(window->cwnd + growth, connection->growth_limit);
}

static void on_congestion(void *state, const struct dumbbell_connection *connection,
                          const struct dumbbell_congestion *congestion, struct dumbbell_window *window)
{
    struct aimd *aimd = state;
    double rest = most(connection->flight_size * aimd->decrease, 2 * connection->mss);
    double largest = most(window->cwnd, 2 * connection->mss);
    window->ssthresh = least(rest, largest);
    window->cwnd = least(congestion->restarts ? connection->loss_window : rest, largest);
    aimd->losses += 1;
}

static double probe(const void *state, uint32_t index)
{
    (void)index;
    return ((const struct aimd *)state)->losses;
}

static const struct dumbbell_parameter parameters[] = {
    {.name = "increase", .unit = "segments", .initial = 1.0, .minimum = 1e-6, .maximum = 1e6},
    {.name = "decrease", .unit = "-", .initial = 0.5, .minimum = 1e-6, .maximum = 1 - 1e-6},
};
static const char *const probes[] = {"losses"};

static const struct dumbbell_algorithm algorithm = {
    .abi_version = DUMBBELL_ABI_VERSION,
    .size = sizeof(struct dumbbell_algorithm),
    .state_size = sizeof(struct aimd),
    .parameter_count = 2,
    .probe_count = 1,
    .parameters = parameters,
    .probes = probes,
    .start = start,
    .on_ack = on_ack,
    .on_congestion = on_congestion,
    .probe = probe,
};

const struct dumbbell_algorithm *dumbbell_library(void) { return &algorithm; }

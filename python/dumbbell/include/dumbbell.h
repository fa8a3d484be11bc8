// The C interface of congestion controls in compiled libraries, written from the sources of Dumbbell.
// docs/algorithms-in-c.md explains it.
// SHA-256 of its source: bccdfac9eea8da1bdc3c55c6d796561ed87f6de0d6113adcf76a1e8874ce240c

#ifndef DUMBBELL_H
#define DUMBBELL_H

#include <stdint.h>

// Version of this interface. A library of another version is refused.
#define DUMBBELL_ABI_VERSION 1

// Signal: duplicate ACKs; the recovery continues from the reduced window.
#define DUMBBELL_FAST_RETRANSMIT 0

// Signal: a router marked a packet; at most once per window of data.
#define DUMBBELL_ECN_ECHO 1

// Signal: duplicate ACKs, answered with a restart from the loss window (Tahoe).
#define DUMBBELL_RESTART 2

// Signal: the retransmission timer expired.
#define DUMBBELL_TIMEOUT 3

// Flag: acknowledgements carry delivery rates.
#define DUMBBELL_USES_RATE_SAMPLES 1

// Flag: the window follows from a model of the path, so that the rules of growth do not apply.
#define DUMBBELL_MODEL_BASED 2

// Flag: on_ack reacts to marks by itself; with exact feedback, on_congestion is not called for them.
#define DUMBBELL_REACTS_TO_MARKS 4

// A parameter.
struct dumbbell_parameter {
  // Its name: 1 to 40 letters, digits and underscores.
  const char *name;
  // Unit of its values, such as "s", or "-".
  const char *unit;
  // Value if a scenario gives none, within the range.
  double initial;
  // Smallest and largest value that a scenario may give, possibly infinite.
  double minimum;
  // See minimum.
  double maximum;
};

// The setup of a connection.
struct dumbbell_setup {
  // Time of its start since that of the run, in s, at least 0.
  double now;
  // Payload of a full segment, in bytes, above 0.
  double mss;
  // Initial window, in bytes, at least one segment.
  double initial_window;
  // Initial slow-start threshold, in bytes, possibly infinite.
  double initial_ssthresh;
  // Seed for random numbers of this connection, from 0 to 2^53 - 1.
  uint64_t seed;
  // 1 if both ends echo ECN marks, otherwise 0.
  uint32_t is_ecn_capable;
  // 0.
  uint32_t reserved;
};

// The answer: passed with its current values, and read after the call. A value out of range ends the run with an error.
struct dumbbell_window {
  // Congestion window, in bytes, finite, at least one segment. At the start, the initial window.
  double cwnd;
  // Slow-start threshold, in bytes, above 0, possibly infinite. At the start, that of the setup.
  double ssthresh;
  // Pacing rate, in bytes/s of payload, finite, above 0; 0 if segments leave as the window allows, as at the start.
  double pacing_rate;
};

// The connection at an event, before the event changes it.
struct dumbbell_connection {
  // Time since the start of the run, in s, at least 0.
  double now;
  // Payload of a full segment, in bytes, above 0.
  double mss;
  // Oldest unacknowledged byte, from 0.
  uint64_t snd_una;
  // Next byte to send, at least snd_una.
  uint64_t snd_nxt;
  // Bytes sent and not acknowledged (FlightSize, RFC 5681 §2), at least 0.
  double flight_size;
  // Bytes in the network as far as the sender knows, at least 0.
  double in_flight;
  // Receive window and send buffer, whichever is smaller, in bytes, above 0, possibly infinite.
  double max_window;
  // Limit of growth by acknowledgements, in bytes, possibly infinite: a window below it may grow up to it, any other
  // must not grow.
  double growth_limit;
  // Window to restart from after a timeout, in bytes, at least one segment.
  double loss_window;
  // Smoothed round-trip time, in s, above 0; infinite before the first sample.
  double srtt;
  // Minimum round-trip time, in s, above 0; infinite before the first sample.
  double min_rtt;
  // Bytes delivered since the connection began, from 0.
  uint64_t delivered;
  // Bytes considered lost since the connection began, from 0.
  uint64_t lost;
  // Bytes for which an ECN mark was echoed since the connection began, from 0.
  uint64_t marked;
  // Round trips since the connection began, from 0.
  uint64_t round;
  // 1 if only the application limits the sender, otherwise 0.
  uint32_t is_app_limited;
  // 0.
  uint32_t reserved;
};

// An acknowledgement.
struct dumbbell_ack {
  // Next byte that the receiver expects.
  uint64_t ack;
  // Newly acknowledged bytes; 0 for a duplicate.
  uint64_t acked;
  // Newly delivered bytes: acknowledged, or reported selectively, for the first time; at least 0.
  uint64_t newly_delivered;
  // Bytes lost according to the reports of this acknowledgement, at least 0.
  uint64_t newly_lost;
  // Bytes for which this acknowledgement echoes a mark, at least 0.
  uint64_t newly_marked;
  // Round-trip time of the newest acknowledged segment, in s, above 0; infinite without a sample.
  double rtt;
  // Delivery rate, in bytes/s, at least 0; 0 without a sample, or without the flag DUMBBELL_USES_RATE_SAMPLES.
  double delivery_rate;
  // Bytes in flight after the acknowledgement, at least 0; in_flight of the connection is the state before.
  double in_flight_after;
  // 1 if the application limited the sender during the sample of the rate, otherwise 0.
  uint32_t rate_is_app_limited;
  // 1 if a round trip begins, otherwise 0.
  uint32_t is_round_start;
  // 1 if the window limits the sender, otherwise 0.
  uint32_t is_cwnd_limited;
  // 1 during a fast recovery, in which the window does not grow; otherwise 0.
  uint32_t in_recovery;
  // 1 if the acknowledgement echoes congestion experienced, otherwise 0.
  uint32_t is_ecn_echo;
  // 0.
  uint32_t reserved;
};

// A congestion event.
struct dumbbell_congestion {
  // DUMBBELL_FAST_RETRANSMIT, DUMBBELL_ECN_ECHO, DUMBBELL_RESTART or DUMBBELL_TIMEOUT.
  uint32_t signal;
  // 1 if the connection restarts from the loss window, otherwise 0.
  uint32_t restarts;
  // 1 if the lost segment had already been retransmitted, otherwise 0.
  uint32_t retransmitted_before;
  // 0.
  uint32_t reserved;
};

// A segment that is sent, or considered lost.
struct dumbbell_segment {
  // First byte, from 0.
  uint64_t seq;
  // Time of its last transmission, in s, at least 0.
  double sent_at;
  // Payload, in bytes, above 0.
  uint32_t bytes;
  // 1 if it is, or was, a retransmission, otherwise 0.
  uint32_t is_retransmission;
};

// The end of a fast recovery.
struct dumbbell_recovery_exit {
  // Inflation that the environment leaves in the window, in bytes; below 0 if the window stays reduced.
  double kept_inflation;
};

// A reaction that was spurious and is undone.
struct dumbbell_undo {
  // Window before the reaction, in bytes, at least one segment.
  double cwnd;
  // Slow-start threshold before the reaction, in bytes, possibly infinite.
  double ssthresh;
  // The signal that was not caused by congestion, as in dumbbell_congestion.
  uint32_t signal;
  // 0.
  uint32_t reserved;
};

// A connection that resumes sending after an idle period.
struct dumbbell_restart {
  // Time since the last transmission, in s, at least timeout.
  double idle;
  // Retransmission timeout, in s, above 0.
  double timeout;
};

// What a library states about its algorithm. Pointers may be null unless they are required, and stay valid.
//
// A function receives the state of one connection. It depends on nothing else: threads call it at once with the states of
// different connections. It must not keep the pointers that it receives.
struct dumbbell_algorithm {
  // DUMBBELL_ABI_VERSION.
  uint32_t abi_version;
  // sizeof(struct dumbbell_algorithm). A later version may append fields to the struct.
  uint32_t size;
  // Size of the state of a connection, in bytes, at most 2^20. The engine provides it, zeroed and aligned to 16 bytes.
  uint32_t state_size;
  // Sum of DUMBBELL_USES_RATE_SAMPLES, DUMBBELL_MODEL_BASED and DUMBBELL_REACTS_TO_MARKS, or 0.
  uint32_t flags;
  // Number of parameters, at most 64.
  uint32_t parameter_count;
  // Number of probes, at most 64.
  uint32_t probe_count;
  // The parameters.
  const struct dumbbell_parameter *parameters;
  // The names of the probes: 1 to 40 letters, digits and underscores. A scenario records them as own.NAME.
  const char *const *probes;
  // A connection starts. The values of the parameters are in the declared order.
  void (*start)(void *state,
                const struct dumbbell_setup *setup,
                const double *parameters,
                struct dumbbell_window *window);
  // Required: new data is acknowledged.
  void (*on_ack)(void *state,
                 const struct dumbbell_connection *connection,
                 const struct dumbbell_ack *ack,
                 struct dumbbell_window *window);
  // Required: congestion is detected. Afterwards cwnd is the window of the recovery.
  void (*on_congestion)(void *state,
                        const struct dumbbell_connection *connection,
                        const struct dumbbell_congestion *congestion,
                        struct dumbbell_window *window);
  // A duplicate ACK arrives, which may report data as delivered.
  void (*on_duplicate_ack)(void *state,
                           const struct dumbbell_connection *connection,
                           const struct dumbbell_ack *ack,
                           struct dumbbell_window *window);
  // A segment is considered lost; called for each, before the reaction to congestion.
  void (*on_loss)(void *state,
                  const struct dumbbell_connection *connection,
                  const struct dumbbell_segment *segment,
                  struct dumbbell_window *window);
  // A fast recovery begins.
  void (*on_recovery_enter)(void *state,
                            const struct dumbbell_connection *connection,
                            struct dumbbell_window *window);
  // A fast recovery ends. Null: the kept inflation is added to cwnd.
  void (*on_recovery_exit)(void *state,
                           const struct dumbbell_connection *connection,
                           const struct dumbbell_recovery_exit *exit,
                           struct dumbbell_window *window);
  // A reaction was spurious. Null: cwnd and ssthresh return to their values before it, unless they are larger.
  void (*on_undo)(void *state,
                  const struct dumbbell_connection *connection,
                  const struct dumbbell_undo *undo,
                  struct dumbbell_window *window);
  // Sending resumes after an idle period. Null: cwnd is at most the initial window (RFC 5681 §4.1).
  void (*on_restart)(void *state,
                     const struct dumbbell_connection *connection,
                     const struct dumbbell_restart *restart,
                     struct dumbbell_window *window);
  // A segment is about to be sent, and is not in flight yet. It changes neither cwnd nor ssthresh.
  void (*on_sent)(void *state,
                  const struct dumbbell_connection *connection,
                  const struct dumbbell_segment *segment,
                  struct dumbbell_window *window);
  // The value of a probe by its index, in its unit; NaN if it has none yet. Required if there are probes.
  double (*probe)(const void *state, uint32_t index);
  // Makes `to` an independent copy of `from`. Null: its bytes are copied. Not called in WebAssembly, where the whole
  // memory is copied.
  void (*copy)(void *to, const void *from);
  // Releases what the state owns. Null: nothing. Not called in WebAssembly.
  void (*destroy)(void *state);
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The only function that a library exports: its algorithm, which stays valid.
extern const struct dumbbell_algorithm *dumbbell_library(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DUMBBELL_H */

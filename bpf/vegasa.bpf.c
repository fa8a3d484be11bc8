/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Vegas-A [srijith2005], [chan2010 §2.5]: Vegas whose band from alpha to beta follows its own throughput.
 *
 * Departures from the twin: those of Vegas, see `vegas.bpf.c`. Thresholds are whole thousandths of a segment, and
 * throughputs whole bytes per second, so that two that differ by less count as equal.
 */
#include "delay.h"

LICENSE;

/* Minimum of `alpha` [chan2010 §2.5]. */
#define FLOOR 1000

/* Initial lower threshold. */
PARAMETER(thousandths, alpha, 1000, 1000, 1000000);
/* Initial upper threshold. */
PARAMETER(thousandths, beta, 3000, 1000, 1000000);
/* Treat a difference equal to a threshold as between the thresholds. */
PARAMETER(flag, inclusive, 0, 0, 1);
/* How the window grows by one segment per round trip. */
PARAMETER(enum increase, increase, increase_spread, increase_at_once, increase_spread);
/* Numerator of the expected rate. */
PARAMETER(enum numerator, numerator, numerator_in_transit, numerator_in_transit, numerator_ns2);
/* Change of the round-trip time that explains a change of the throughput which counts as none. */
PARAMETER(microseconds, rtt_tolerance, 0, 0, 1000000);

#include "band_probes.h"

struct vegasa {
	struct vegas vegas;
	/* The band, in thousandths of a segment. */
	s32 alpha;
	s32 beta;
	/* Actual rate of the previous round in bytes per second, if there is one. */
	u64 throughput;
};

_Static_assert(sizeof(struct vegasa) <= CA_PRIV_SIZE, "the state of a socket");

static __always_inline void shrink_and_sink(struct tcp_sock *tp, struct vegasa *vegasa)
{
	s32 sunk = least(vegasa->alpha - FLOOR, 1000);

	shrink(tp, &vegasa->vegas);
	vegasa->alpha -= sunk;
	vegasa->beta -= sunk;
}

/* The window and the band after a round in congestion avoidance. */
static __always_inline void step(struct tcp_sock *tp, struct vegasa *vegasa, const struct check *check)
{
	struct vegas *vegas = &vegasa->vegas;
	u64 tolerated = vegasa->throughput * rtt_tolerance / most(check->rtt_ns / 1000, 1);
	bool rises = vegas->has_throughput && check->actual > vegasa->throughput + tolerated;
	bool falls = vegas->has_throughput && check->actual + tolerated < vegasa->throughput;
	s64 diff = check->diff;
	bool is_within = inclusive ? vegasa->alpha <= diff && diff <= vegasa->beta
				   : vegasa->alpha < diff && diff < vegasa->beta;

	if (is_within) {
		if (rises) {
			grow(tp, vegas, increase);
			vegasa->alpha += 1000;
			vegasa->beta += 1000;
		} else {
			hold(vegas);
		}
	} else if (diff < vegasa->alpha) {
		if (vegasa->alpha <= FLOOR || rises)
			grow(tp, vegas, increase);
		else if (falls)
			shrink_and_sink(tp, vegasa);
		else
			hold(vegas);
	} else if (diff > vegasa->beta) {
		shrink_and_sink(tp, vegasa);
	} else {
		hold(vegas);
	}
}

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	struct vegas *vegas = inet_csk_ca(sk);

	if (react(tcp_sk(sk), vegas, new_state, true))
		vegas->has_throughput = 0;
}

#include "delay_reactions.h"

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct vegasa *vegasa = inet_csk_ca(sk);

	vegas_init(tcp_sk(sk), &vegasa->vegas);
	vegasa->alpha = alpha;
	vegasa->beta = beta;
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	const struct round_rules rules = {numerator, true, true};
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegasa *vegasa = inet_csk_ca(sk);
	struct vegas *vegas = &vegasa->vegas;
	struct check check;

	set_later_ssthresh(tp, &vegas->window);
	if (poll_check(tp, vegas, &rules, &check)) {
		if (is_in_avoidance(tp, vegas))
			step(tp, vegasa, &check);
		else if (is_below_ssthresh(tp, vegas))
			check_slow_start(tp, vegas, check.diff);
		vegasa->throughput = check.actual;
		vegas->has_throughput = 1;
	}
	grow_between_checks(tp, vegas, acked);
	take_sample(vegas);
	tell(sk, vegas, vegasa->alpha);
}

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_vegasa",
};

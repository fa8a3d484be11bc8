/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The thresholds between which a window stays constant, and how they move, shared by NewVegas and CODE
 * [chan2010 §2.4], [chan2010 §3].
 */
#ifndef BAND_H
#define BAND_H

#include "delay.h"

/* The round-trip time that shows whether congestion increases. */
enum band_rtt {
	band_rtt_target,
	band_rtt_minimum,
	band_rtt_actual,
};

/* Initial lower threshold. */
PARAMETER(thousandths, alpha, 1000, 0, 1000000);
/* Initial upper threshold. */
PARAMETER(thousandths, beta, 3000, 0, 1000000);
/* Growth of the round-trip time that moves the thresholds up to which it counts as unchanged. */
PARAMETER(microseconds, rtt_tolerance, 0, 0, 1000000);
/* How the window grows by one segment per round trip. */
PARAMETER(enum increase, increase, increase_at_once, increase_at_once, increase_spread);
/* Numerator of the expected rate. */
PARAMETER(enum numerator, numerator, numerator_in_transit, numerator_in_transit, numerator_ns2);

/* Vegas's window between thresholds that move, in thousandths of a segment. */
struct banded {
	struct vegas vegas;
	s32 alpha;
	s32 beta;
	/* Round-trip time of the previous round in nanoseconds, if it may be compared; otherwise 0. */
	u64 rtt_old;
};

_Static_assert(sizeof(struct banded) <= CA_PRIV_SIZE, "the state of a socket");

static __always_inline void reset_band(struct banded *banded)
{
	banded->alpha = alpha;
	banded->beta = beta;
	banded->vegas.has_changed = 1;
}

/* A round ended in congestion avoidance, and the window has moved. The thresholds rise in steps of `rise`. */
static __always_inline void move_band(struct banded *banded, u64 rtt_ns, bool has_grown, s64 rise)
{
	if (banded->vegas.is_round_spoiled) {
		banded->vegas.is_round_spoiled = 0;
		return;
	}
	if (rtt_ns && banded->rtt_old) {
		if (rtt_ns <= banded->rtt_old + 1000ULL * rtt_tolerance) {
			if (banded->alpha > alpha) {
				banded->alpha -= 1000;
				banded->beta -= 1000;
			}
		} else if (!has_grown) {
			banded->alpha += rise;
			banded->beta += rise;
		}
	}
	banded->rtt_old = rtt_ns;
}

/* The round-trip time that moves the thresholds, in nanoseconds; 0 for none. */
static __always_inline u64 band_rtt_ns(const struct banded *banded, const struct check *check, u32 choice)
{
	if (choice == band_rtt_target)
		return 1000ULL * banded->vegas.rounds.sample;
	if (choice == band_rtt_minimum)
		return 1000ULL * check->rtt_minimum;
	return check->rtt_minimum ? check->rtt_ns : 0;
}

/* New data was acknowledged. `choice` is the round-trip time that moves the thresholds, in steps of `rise`. */
static __always_inline void banded_cong_avoid(struct tcp_sock *tp, struct banded *banded, u32 acked, u32 choice,
					      s64 rise)
{
	const struct round_rules rules = {numerator, true, true};
	struct vegas *vegas = &banded->vegas;
	struct check check;

	set_later_ssthresh(tp, &vegas->window);
	if (poll_check(tp, vegas, &rules, &check)) {
		if (is_in_avoidance(tp, vegas)) {
			u64 rtt_ns = band_rtt_ns(banded, &check, choice);
			u64 before = cwnd_of(tp, &vegas->window);
			bool is_granted = check.diff < banded->alpha;

			if (check.diff > banded->beta)
				shrink(tp, vegas);
			else if (is_granted)
				grow(tp, vegas, increase);
			else
				hold(vegas);
			/* Where the growth follows, the decision counts as growth. */
			move_band(banded, rtt_ns,
				  increase == increase_spread ? is_granted : cwnd_of(tp, &vegas->window) > before,
				  rise);
		} else if (is_below_ssthresh(tp, vegas)) {
			banded->rtt_old = 0;
			vegas->is_round_spoiled = 0;
			check_slow_start(tp, vegas, check.diff);
		}
	}
	grow_between_checks(tp, vegas, acked);
	take_sample(vegas);
}

/*
 * A state of the stack begins. True if it is a reaction to congestion: its round is not compared with its neighbours.
 */
static __always_inline bool banded_react(struct tcp_sock *tp, struct banded *banded, u8 new_state)
{
	if (!react(tp, &banded->vegas, new_state, true))
		return false;
	banded->rtt_old = 0;
	banded->vegas.is_round_spoiled = 1;
	return true;
}

#endif

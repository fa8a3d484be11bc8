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

/* How the thresholds move. */
struct band_rules {
	/* Initial thresholds, in thousandths of a segment. */
	s64 alpha;
	s64 beta;
	/* Step by which they rise. */
	s64 rise;
	u32 band_rtt;
	/* Growth of the round-trip time up to which it counts as unchanged. */
	u32 rtt_tolerance_us;
};

/* Vegas's window between thresholds that move, in thousandths of a segment. */
struct banded {
	struct vegas vegas;
	s32 alpha;
	s32 beta;
	/* Round-trip time of the previous round in nanoseconds, if it may be compared; otherwise 0. */
	u64 rtt_old;
};

_Static_assert(sizeof(struct banded) <= CA_PRIV_SIZE, "the state of a socket");

static __always_inline void reset_band(struct banded *banded, const struct band_rules *rules)
{
	banded->alpha = rules->alpha;
	banded->beta = rules->beta;
	banded->vegas.has_changed = 1;
}

/* A round ended in congestion avoidance, and the window has moved. */
static __always_inline void move_band(struct banded *banded, u64 rtt, bool has_grown, const struct band_rules *rules)
{
	if (banded->vegas.is_round_spoiled) {
		banded->vegas.is_round_spoiled = 0;
		return;
	}
	if (rtt && banded->rtt_old) {
		if (rtt <= banded->rtt_old + 1000ULL * rules->rtt_tolerance_us) {
			if (banded->alpha > rules->alpha) {
				banded->alpha -= 1000;
				banded->beta -= 1000;
			}
		} else if (!has_grown) {
			banded->alpha += rules->rise;
			banded->beta += rules->rise;
		}
	}
	banded->rtt_old = rtt;
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

/* New data was acknowledged. */
static __always_inline void banded_cong_avoid(struct tcp_sock *tp, struct banded *banded, u32 acked,
					      const struct round_rules *rounds, const struct band_rules *rules,
					      s64 gamma, u32 increase)
{
	struct vegas *vegas = &banded->vegas;
	struct check check;

	set_later_ssthresh(tp, &vegas->window);
	if (poll_check(tp, vegas, rounds, &check)) {
		if (is_in_avoidance(tp, vegas)) {
			u64 rtt = band_rtt_ns(banded, &check, rules->band_rtt);
			u64 before = cwnd_of(tp, &vegas->window);
			bool is_granted = check.diff < banded->alpha;

			if (check.diff > banded->beta)
				shrink(tp, vegas);
			else if (is_granted)
				grow(tp, vegas, increase);
			else
				hold(vegas);
			/* Where the growth follows, the decision counts as growth. */
			move_band(banded, rtt,
				  increase == increase_spread ? is_granted : cwnd_of(tp, &vegas->window) > before,
				  rules);
		} else if (is_below_ssthresh(tp, vegas)) {
			banded->rtt_old = 0;
			vegas->is_round_spoiled = 0;
			check_slow_start(tp, vegas, check.diff, gamma);
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

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by the delay-based twins: the measurement once per round trip, and the window that TCP Vegas derives from it
 * [brakmo1995 §3], [hengartner2000 §VI].
 *
 * An ACK is first told to pkts_acked, then to cong_avoid, which the stack leaves out during a recovery. Its sample
 * counts for the round after the check that is due with it, so it waits in between.
 */
#ifndef DELAY_H
#define DELAY_H

#include "toolbox.h"

/* The switches that a window of Vegas owns, and G, whose window of two segments follows the start and a timeout. */
MECHANISM("A", slow_start_detection, 1);
MECHANISM("B", avoidance_detection, 1);
MECHANISM("F", quarter_cut, 1);
MECHANISM("G", window_of_two, 1);
MECHANISM("I", growth_guard, 1);

/* Which round-trip time of the past round enters the actual rate. */
enum rtt_choice {
	rtt_choice_mean,
	rtt_choice_newest,
	rtt_choice_minimum,
};

/* Numerator of the expected rate; `window` is that of the actual rate, too. */
enum numerator {
	numerator_in_transit,
	numerator_cwnd,
	numerator_window,
	numerator_ns2,
};

/* How a window grows by the segment that a check grants. */
enum increase {
	increase_at_once,
	increase_spread,
};

/* Leave slow start when more segments than this are queued. */
PARAMETER(thousandths, gamma, 1000, 0, 1000000000);
/* Round the difference to whole segments before comparing, as ns-2 does. */
PARAMETER(flag, round_diff, 0, 0, 1);
/* The round-trip time used in the actual rate. */
PARAMETER(enum rtt_choice, rtt, rtt_choice_mean, rtt_choice_mean, rtt_choice_minimum);

/* How a round is measured, besides these. */
struct round_rules {
	u32 numerator;
	bool fix_base_rtt;
	bool fix_invariant;
};

/* The result of one check. */
struct check {
	/* Expected less actual rate times the base RTT, in thousandths of a segment. */
	s64 diff;
	/* Round-trip time that entered the actual rate, in nanoseconds. */
	u64 rtt_ns;
	/* Minimum round-trip time of the round in microseconds; 0 without a sample. */
	u32 rtt_minimum;
	/* Actual rate in bytes per second. */
	u64 actual;
};

/* The measurement. Times are in microseconds, and 0 stands for none. */
struct rounds {
	u64 beg_time;
	u64 rtt_sum;
	u32 rtt_count;
	u32 rtt_newest;
	u32 rtt_minimum;
	u32 base_rtt;
	u32 beg_seq;
	/* Oldest byte not acknowledged, after and before the current ACK. */
	u32 una;
	u32 una_before;
	/* Sample of the current ACK for the actual rate, and for the base RTT. */
	u32 sample;
	u32 base_sample;
	/* Difference of the last check, in thousandths of a segment. */
	s32 diff;
};

/* The state of Vegas's window. */
struct vegas {
	struct window window;
	/* Growth per segment acknowledged until the next check, in 2^-24 segments. */
	u64 increment;
	struct rounds rounds;
	/* The growth is that of slow start, which ends at the threshold. */
	u8 is_slow_start_growth;
	u8 grow_this_rtt;
	/* The stack has asked for a threshold and not yet told why. */
	u8 is_asked;
	/* The base sample replaces the base RTT, instead of lowering it. */
	u8 replaces_base_rtt;
	u8 has_diff;
	/* A probe has changed. */
	u8 has_changed;
	/* Of moving thresholds, which have no room of their own for them. */
	u8 is_round_spoiled;
	u8 has_throughput;
};

static __always_inline void begin_round(struct rounds *rounds, u32 first, u64 now)
{
	rounds->beg_seq = first;
	rounds->beg_time = now;
	rounds->rtt_sum = 0;
	rounds->rtt_count = 0;
	rounds->rtt_minimum = 0;
}

static __always_inline u64 round_rtt_ns(const struct rounds *rounds, u64 now, const struct round_rules *rules)
{
	u64 elapsed = now - rounds->beg_time;

	if (rounds->rtt_count == 0)
		return 1000 * most(rules->fix_base_rtt ? most(elapsed, rounds->base_rtt) : elapsed, 1);
	if (rtt == rtt_choice_mean)
		return rounds->rtt_sum * 1000 / rounds->rtt_count;
	return 1000ULL * (rtt == rtt_choice_newest ? rounds->rtt_newest : rounds->rtt_minimum);
}

/* The check, if the current ACK ends the round; a new round begins then. */
static __always_inline bool poll_check(const struct tcp_sock *tp, struct vegas *vegas,
				       const struct round_rules *rules, struct check *check)
{
	struct rounds *rounds = &vegas->rounds;
	u32 mss = most(tp->mss_cache, 1);
	u64 cwnd = (cwnd_of(tp, &vegas->window) >> 8) * mss >> 16;
	u64 now = tp->tcp_mstamp;
	u64 sent, rtt_ns, window_size, rtt_len, actual_part;

	if (!is_after(tp->snd_una, rounds->beg_seq))
		return false;
	rtt_ns = round_rtt_ns(rounds, now, rules);
	sent = tp->snd_nxt - rounds->beg_seq;
	rtt_len = rules->numerator == numerator_window ? cwnd : sent;
	if (rules->numerator == numerator_cwnd || rules->numerator == numerator_window) {
		window_size = cwnd;
	} else if (rules->numerator == numerator_ns2) {
		window_size = (u64)(tp->snd_nxt - tp->snd_una) + mss;
	} else {
		window_size = tp->snd_nxt - rounds->una_before;
		/* An ACK of several segments counts less, as in the released code [hengartner2000 equation (3)]. */
		if (!rules->fix_invariant)
			window_size -= most(tp->snd_una - rounds->una_before, mss) - mss;
	}
	if (!rules->fix_base_rtt && (rtt_ns / 1000 < rounds->base_rtt || sent <= mss))
		rounds->base_rtt = 0;
	if (!rounds->base_rtt)
		rounds->base_rtt = most(rtt_ns / 1000, 1);

	actual_part = rtt_len * rounds->base_rtt * 1000 / rtt_ns;
	if (window_size >= actual_part)
		check->diff = (window_size - actual_part) * 1000 / mss;
	else
		check->diff = -(s64)((actual_part - window_size) * 1000 / mss);
	/* To whole segments, as ns-2 does. */
	if (round_diff)
		check->diff = floored(check->diff + 500);
	check->rtt_ns = rtt_ns;
	check->rtt_minimum = rounds->rtt_minimum;
	check->actual = rtt_len * 1000000000 / rtt_ns;
	rounds->diff = check->diff;
	vegas->has_diff = 1;
	vegas->has_changed = 1;
	begin_round(rounds, tp->snd_nxt, now);
	return true;
}

/* Counts the sample that waits. */
static __always_inline void take_sample(struct vegas *vegas)
{
	struct rounds *rounds = &vegas->rounds;
	u32 sample = rounds->sample;
	u32 base = rounds->base_sample;

	if (!sample)
		return;
	rounds->rtt_sum += sample;
	rounds->rtt_count++;
	rounds->rtt_newest = sample;
	if (!rounds->rtt_minimum || sample < rounds->rtt_minimum)
		rounds->rtt_minimum = sample;
	if (base && base != rounds->base_rtt &&
	    (vegas->replaces_base_rtt || !rounds->base_rtt || base < rounds->base_rtt)) {
		rounds->base_rtt = base;
		vegas->has_changed = 1;
	}
	rounds->sample = 0;
}

/* An ACK arrived. Its round-trip time in microseconds, if it acknowledges new data and has one; otherwise 0. */
static __always_inline u32 hear_ack(const struct tcp_sock *tp, struct vegas *vegas, const struct ack_sample *sample)
{
	struct rounds *rounds = &vegas->rounds;

	take_sample(vegas);
	rounds->una_before = rounds->una;
	rounds->una = tp->snd_una;
	if (rounds->una == rounds->una_before || sample->rtt_us < 0)
		return 0;
	return most(sample->rtt_us, 1);
}

/* An ACK arrived, whose round-trip time counts as it is. */
static __always_inline void hear_round_trip(const struct tcp_sock *tp, struct vegas *vegas,
					    const struct ack_sample *sample)
{
	u32 heard = hear_ack(tp, vegas, sample);

	vegas->rounds.sample = heard;
	vegas->rounds.base_sample = heard;
}

static __always_inline bool is_below_ssthresh(const struct tcp_sock *tp, struct vegas *vegas)
{
	return cwnd_of(tp, &vegas->window) < ssthresh_of(tp);
}

/* True if checks control the window in congestion avoidance (mechanism B), and it is there. */
static __always_inline bool is_in_avoidance(const struct tcp_sock *tp, struct vegas *vegas)
{
	return avoidance_detection && !is_below_ssthresh(tp, vegas);
}

/* True unless most of the window is unused (mechanism I). */
static __always_inline bool keeps_up(const struct tcp_sock *tp, struct vegas *vegas)
{
	u64 mss = most(tp->mss_cache, 1);
	/* The segment just acknowledged still counts, as in the released code. */
	u64 outstanding = (u64)(tp->snd_nxt - tp->snd_una) * SEGMENT / mss + SEGMENT;

	return !growth_guard || cwnd_of(tp, &vegas->window) <= outstanding + 2 * SEGMENT;
}

/*
 * A check below the threshold: grows every other round, and leaves slow start when more than `gamma` segments are
 * queued (mechanism A).
 */
static __always_inline void check_slow_start(struct tcp_sock *tp, struct vegas *vegas, s64 diff)
{
	u64 cwnd = cwnd_of(tp, &vegas->window);

	if (!slow_start_detection)
		return;
	vegas->grow_this_rtt = !vegas->grow_this_rtt;
	vegas->is_slow_start_growth = 1;
	if (!vegas->grow_this_rtt) {
		vegas->increment = 0;
	} else if (diff > gamma) {
		tp->snd_ssthresh = LEAST_WINDOW;
		set_cwnd(tp, &vegas->window, most(cwnd - cwnd / 8, LEAST_WINDOW * SEGMENT));
		vegas->increment = 0;
	} else {
		vegas->increment = SEGMENT;
	}
}

/* Keeps the window until the next check. */
static __always_inline void hold(struct vegas *vegas)
{
	vegas->increment = 0;
}

/* Shrinks the window by one segment and then keeps it until the next check. */
static __always_inline void shrink(struct tcp_sock *tp, struct vegas *vegas)
{
	u64 cwnd = cwnd_of(tp, &vegas->window);

	set_cwnd(tp, &vegas->window, most(cwnd, (LEAST_WINDOW + 1) * SEGMENT) - SEGMENT);
	vegas->increment = 0;
}

/* Grows the window by one segment, now or until the next check. */
static __always_inline void grow(struct tcp_sock *tp, struct vegas *vegas, u32 increase)
{
	if (increase == increase_spread) {
		vegas->increment = linear_growth(cwnd_of(tp, &vegas->window));
		vegas->is_slow_start_growth = 0;
		return;
	}
	vegas->increment = 0;
	if (keeps_up(tp, vegas))
		grow_cwnd(tp, &vegas->window, SEGMENT);
}

/* New data was acknowledged, after the decision of a check that was due. */
static __always_inline void grow_between_checks(struct tcp_sock *tp, struct vegas *vegas, u32 acked)
{
	u64 cwnd = cwnd_of(tp, &vegas->window);
	bool is_below = is_below_ssthresh(tp, vegas);
	u32 early;

	if (vegas->is_slow_start_growth && !is_below)
		vegas->increment = 0;
	if (!keeps_up(tp, vegas))
		return;
	if (is_below ? !slow_start_detection : !avoidance_detection) {
		reno_grow(tp, &vegas->window, acked);
		return;
	}
	early = acked_in_slow_start(tp, cwnd, acked);
	grow_cwnd(tp, &vegas->window, vegas->increment * (vegas->is_slow_start_growth ? early : acked));
}

static __always_inline void vegas_init(struct tcp_sock *tp, struct vegas *vegas)
{
	/* The stack has told of the SYN before. Its round-trip time is that of a small packet. */
	__builtin_memset(vegas, 0, sizeof(*vegas));
	vegas->grow_this_rtt = 1;
	vegas->rounds.una = tp->snd_una;
	begin_round(&vegas->rounds, tp->snd_nxt, tp->tcp_mstamp);
	if (window_of_two)
		set_cwnd(tp, &vegas->window, LEAST_WINDOW * SEGMENT);
}

/*
 * The stack asks for a threshold at a fast retransmit, a timeout, and a reaction to ECN, and says afterwards which it
 * was. This answers for the first; `react` corrects the others.
 */
static __always_inline u32 vegas_ssthresh(const struct tcp_sock *tp, struct vegas *vegas)
{
	u32 cwnd = tp->snd_cwnd;

	vegas->window.before = cwnd;
	vegas->is_asked = 1;
	if (!quarter_cut)
		return halved(cwnd);
	return cwnd <= 3 ? LEAST_WINDOW : cwnd - cwnd / 4;
}

static __always_inline u32 reduced_ssthresh(struct sock *sk)
{
	return vegas_ssthresh(tcp_sk(sk), inet_csk_ca(sk));
}

/* A state of the stack begins. True if it is a reaction to congestion. */
static __always_inline bool react(struct tcp_sock *tp, struct vegas *vegas, u8 new_state, bool fix_timeout)
{
	struct window *window = &vegas->window;
	bool is_asked = vegas->is_asked;

	if (!begins_reduction(new_state) || (!is_asked && new_state != TCP_CA_Loss))
		return false;
	vegas->is_asked = 0;
	window->cwnd = 0;
	window->later_ssthresh = 0;
	if (new_state == TCP_CA_Recovery) {
		if (quarter_cut)
			window->later_ssthresh = LEAST_WINDOW;
		return true;
	}
	tp->snd_ssthresh = halved(window->before);
	if (new_state == TCP_CA_Loss) {
		if (window_of_two)
			set_cwnd(tp, window, most(tp->snd_cwnd, LEAST_WINDOW) * SEGMENT);
		if (fix_timeout) {
			vegas->increment = SEGMENT;
			vegas->is_slow_start_growth = 1;
			vegas->grow_this_rtt = 1;
		}
	}
	return true;
}

/* After a timeout: skips slow start and continues from the current window. */
static __always_inline void skip_slow_start(struct tcp_sock *tp, struct vegas *vegas)
{
	tp->snd_ssthresh = tp->snd_cwnd;
	vegas->increment = 0;
}

#endif

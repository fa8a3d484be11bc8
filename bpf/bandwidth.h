/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by the twins that estimate bandwidth from acknowledgements: Reno's window, whose threshold after a loss is the
 * estimated bandwidth times the minimum round-trip time [mascolo2001], [grieco2004 §2.1].
 */
#ifndef BANDWIDTH_H
#define BANDWIDTH_H

#include "toolbox.h"

/* The state of the window, and what the last ACK told. */
struct bandwidth_window {
	struct window window;
	/* Minimum round-trip time in microseconds; 0 before the first. */
	u32 rtt_min;
	/* Segments that the stack had delivered. */
	u32 delivered;
	u32 una;
	/* A probe has changed. */
	u32 has_changed;
};

static __always_inline void bandwidth_init(const struct tcp_sock *tp, struct bandwidth_window *state)
{
	state->delivered = tp->delivered;
	state->una = tp->snd_una;
}

/* The round-trip time of an ACK in microseconds, if it acknowledges new data and has one; otherwise 0. */
static __always_inline u32 hear_rtt(const struct tcp_sock *tp, struct bandwidth_window *state, s32 rtt_us)
{
	bool is_new = tp->snd_una != state->una;
	u32 rtt;

	state->una = tp->snd_una;
	if (!is_new || rtt_us < 0)
		return 0;
	rtt = most(rtt_us, 1);
	if (!state->rtt_min || rtt < state->rtt_min) {
		state->rtt_min = rtt;
		state->has_changed = 1;
	}
	return rtt;
}

/* Bytes that arrived since the last ACK, as the stack counts them: each segment once, whatever ACK signals it. */
static __always_inline u64 newly_delivered(const struct tcp_sock *tp, struct bandwidth_window *state)
{
	u32 delivered = tp->delivered - state->delivered;

	state->delivered = tp->delivered;
	return (u64)delivered * tp->mss_cache;
}

/* The threshold after a loss, with a bandwidth in bytes per second. Without an estimate, the reaction is Reno's. */
static __always_inline u32 bandwidth_ssthresh(const struct tcp_sock *tp, struct bandwidth_window *state,
					      bool has_estimate, u64 bandwidth, bool only_reduce)
{
	u32 cwnd = tp->snd_cwnd;
	u32 estimate, reduced;

	state->window.later_ssthresh = 0;
	if (!has_estimate || !state->rtt_min)
		return halved(cwnd);
	estimate = most(bandwidth * state->rtt_min / 1000000 / most(tp->mss_cache, 1), LEAST_WINDOW);
	reduced = only_reduce ? least(estimate, cwnd) : estimate;
	/* The stack ends a recovery with the window at the threshold, which may be more than the window should become. */
	if (estimate > reduced)
		state->window.later_ssthresh = estimate;
	return reduced;
}

static __always_inline void bandwidth_react(struct tcp_sock *tp, struct bandwidth_window *state, u8 new_state)
{
	struct window *window = &state->window;

	if (!begins_reduction(new_state))
		return;
	window->cwnd = 0;
	if (new_state == TCP_CA_Loss && window->later_ssthresh) {
		tp->snd_ssthresh = window->later_ssthresh;
		window->later_ssthresh = 0;
	}
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Components shared by all twins: how they declare parameters and probes, windows that grow by fractions of a segment,
 * and Reno's rules.
 */
#ifndef TOOLBOX_H
#define TOOLBOX_H

#include "kernel.h"

/* Scales of parameters and probes. The loader finds them by name in the type information of the object. */
typedef s64 thousandths;
typedef s64 microseconds;
typedef s64 bits_per_second;
typedef s64 flag;

/*
 * PARAMETER declares a parameter with its type, default and accepted values, in the scale of the type. The loader
 * overwrites the value before the verifier sees it, which then removes what it switches off. MECHANISM declares a
 * switch of Vegas with its letter.
 */
#ifdef __bpf__
#define CONSTANT const volatile
#define PARAMETER(type, name, value, least, most) \
	CONSTANT type name __attribute__((btf_decl_tag("parameter " #least " " #most))) = value
#define MECHANISM(letter, name, value)                                        \
	CONSTANT flag name __attribute__((btf_decl_tag("parameter 0 1"),      \
					  btf_decl_tag("mechanism " letter))) = value
#else
#include "native/parameters.h"
#endif

#define LICENSE char LICENSE_TEXT[] SEC("license") = "Dual BSD/GPL"

/* Declares the operations. The loader replaces the name. */
#define CONGESTION_CONTROL SEC(".struct_ops.link") struct tcp_congestion_ops congestion_control

/* The operations of a twin that has a function of the same name for each of them. Any user may choose it. */
#define ALL_OPERATIONS                                                                                                 \
	.init = (void *)init, .pkts_acked = (void *)pkts_acked, .cong_avoid = (void *)cong_avoid,                      \
	.ssthresh = (void *)ssthresh, .set_state = (void *)set_state, .undo_cwnd = (void *)undo_cwnd,                  \
	.flags = TCP_CONG_NON_RESTRICTED

/* Windows with a fraction count in units of 2^-24 segments. */
#define SEGMENT (1ULL << 24)

/* The smallest window that a reduction leaves, in segments. */
#define LEAST_WINDOW 2

static __always_inline u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static __always_inline u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Rounds thousandths down to a multiple of 1000, also below zero. */
static __always_inline s64 floored(s64 value)
{
	/* A program divides unsigned numbers only: a multiple of 1000 makes the dividend positive. */
	s64 offset = 1LL << 40;

	return ((s64)((u64)(value + offset * 1000) / 1000) - offset) * 1000;
}

/* True if the sequence number `a` is after `b`. */
static __always_inline bool is_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/*
 * The window of a connection. The stack knows whole segments; the fraction is kept here, as long as the stack's window
 * is the one set here: a recovery, a restart or an undo voids it.
 */
struct window {
	/* In 2^-24 segments. */
	u64 cwnd;
	/* The stack's window when it was last to be reduced, in segments. */
	u32 before : 29;
	/* State of the stack of which the algorithm was told. */
	u32 told : 3;
	/* Threshold to set after the recovery, in segments; 0 for none. */
	u32 later_ssthresh;
};

static __always_inline u64 cwnd_of(const struct tcp_sock *tp, struct window *window)
{
	if (window->cwnd / SEGMENT != tp->snd_cwnd)
		window->cwnd = tp->snd_cwnd * SEGMENT;
	return window->cwnd;
}

static __always_inline void set_cwnd(struct tcp_sock *tp, struct window *window, u64 cwnd)
{
	window->cwnd = most(cwnd, SEGMENT);
	tp->snd_cwnd = window->cwnd / SEGMENT;
}

static __always_inline u64 ssthresh_of(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh * SEGMENT;
}

/* True if the window limits the sender, as the stack defines it. */
static __always_inline bool is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Grows the window, unless it does not limit the sender. */
static __always_inline void grow_cwnd(struct tcp_sock *tp, struct window *window, u64 growth)
{
	u64 cwnd = cwnd_of(tp, window);
	u64 limit = tp->snd_cwnd_clamp * SEGMENT;

	if (growth && cwnd < limit && is_cwnd_limited(tp))
		set_cwnd(tp, window, least(cwnd + growth, limit));
}

/* Those of `acked` segments with which the window reaches the threshold. */
static __always_inline u32 acked_in_slow_start(const struct tcp_sock *tp, u64 cwnd, u32 acked)
{
	u64 ssthresh = ssthresh_of(tp);

	return cwnd < ssthresh ? least((ssthresh - cwnd + SEGMENT - 1) / SEGMENT, acked) : 0;
}

/* A segment spread over a window [RFC 5681 §3.1], rounded up so that the window's ACKs add the whole segment. */
static __always_inline u64 linear_growth(u64 cwnd)
{
	cwnd = most(cwnd, SEGMENT);
	return (SEGMENT * SEGMENT + cwnd - 1) / cwnd;
}

/* Grows by Reno's rules. */
static __always_inline void reno_grow(struct tcp_sock *tp, struct window *window, u32 acked)
{
	u64 cwnd = cwnd_of(tp, window);
	u32 early = acked_in_slow_start(tp, cwnd, acked);
	u64 growth = early * SEGMENT;

	if (acked > early)
		growth += (acked - early) * linear_growth(cwnd + growth);
	grow_cwnd(tp, window, growth);
}

static __always_inline u32 halved(u32 cwnd)
{
	return most(cwnd / 2, LEAST_WINDOW);
}

/* A fast recovery, a reaction to ECN or a timeout begins: the stack sets the window from now on. */
static __always_inline bool begins_reduction(u8 new_state)
{
	return new_state == TCP_CA_CWR || new_state == TCP_CA_Recovery || new_state == TCP_CA_Loss;
}

/* What an algorithm does when the stack asks for a threshold, and when a state of the stack begins. */
typedef u32 asked_ssthresh(struct sock *sk);
typedef void told_state(struct sock *sk, u8 new_state);

/* A state of the stack begins. The private state of a socket begins with its window. */
static __always_inline void hear_state(struct sock *sk, u8 new_state, told_state *enter)
{
	struct window *window = inet_csk_ca(sk);

	window->told = new_state;
	enter(sk, new_state);
}

/*
 * Makes good for a reduction that the algorithm was not told of; `pkts_acked` begins with it.
 *
 * Some kernels run no programs while certain processes are current, such as the first one. A timer that interrupts them
 * can begin a recovery: the stack then takes for the threshold what its memory held, and the window follows. The next
 * ACK tells of it before the stack uses either.
 */
static __always_inline void catch_up(struct sock *sk, asked_ssthresh *reduced, told_state *enter)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct window *window = inet_csk_ca(sk);
	u8 state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	u32 cwnd = tp->snd_cwnd;

	if (!begins_reduction(state) || state == window->told)
		return;
	tp->snd_cwnd = tp->prior_cwnd;
	tp->snd_ssthresh = reduced(sk);
	tp->snd_cwnd = least(cwnd, tp->prior_cwnd);
	hear_state(sk, state, enter);
}

/*
 * Sets the threshold that was deferred, when the window grows again. The stack says that a recovery has ended before it
 * sets the window to the threshold of the recovery, so that the end itself would be too early.
 */
static __always_inline void set_later_ssthresh(struct tcp_sock *tp, struct window *window)
{
	if (!window->later_ssthresh)
		return;
	tp->snd_ssthresh = window->later_ssthresh;
	window->later_ssthresh = 0;
}

/*
 * The window after a spurious reaction: the larger one. The stack then restores the threshold if that was larger than
 * it is now, which is only meant for the recovery if another one was deferred.
 */
static __always_inline u32 restored_cwnd(struct tcp_sock *tp, struct window *window)
{
	set_later_ssthresh(tp, window);
	return most(tp->snd_cwnd, tp->prior_cwnd);
}

#endif

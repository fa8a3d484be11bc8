/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reno's window [RFC 5681 §3.1]: a check of the method, since the kernel has a Reno of its own.
 *
 * Departures from the twin: the window grows per segment acknowledged, not per ACK, so that delayed ACKs do not slow
 * it. A loss halves the window, not the bytes in flight (`reduction_base = "whole-window"`), and the stack moves the
 * window there with Proportional Rate Reduction [RFC 6937 §3]. After a pause, the stack sets window and threshold.
 */
#include "toolbox.h"

LICENSE;

static __always_inline u32 reduced_ssthresh(struct sock *sk)
{
	return halved(tcp_sk(sk)->snd_cwnd);
}

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	struct window *window = inet_csk_ca(sk);

	if (begins_reduction(new_state))
		window->cwnd = 0;
}

#include "reactions.h"

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	catch_up(sk, reduced_ssthresh, enter_state);
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	reno_grow(tcp_sk(sk), inet_csk_ca(sk), acked);
}

CONGESTION_CONTROL = {
	.pkts_acked = (void *)pkts_acked,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.undo_cwnd = (void *)undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "db_reno",
};

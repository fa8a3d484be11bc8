/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The operations for reductions and growth of a window set from a bandwidth estimate.
 *
 * Included after `reduced_ssthresh`, see `reactions.h`. The private state of a socket begins with its
 * `struct bandwidth_window`.
 */
#ifndef BANDWIDTH_REACTIONS_H
#define BANDWIDTH_REACTIONS_H

#include "bandwidth.h"

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	bandwidth_react(tcp_sk(sk), inet_csk_ca(sk), new_state);
}

#include "reactions.h"

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct bandwidth_window *state = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	set_later_ssthresh(tp, &state->window);
	reno_grow(tp, &state->window, acked);
}

#endif

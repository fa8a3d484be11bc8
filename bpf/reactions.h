/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The operations for reductions and their undoing, which are the same in all twins.
 *
 * Included after `reduced_ssthresh` and `enter_state`, by which a twin answers and reacts. The private state of a socket
 * begins with its window.
 */
#ifndef REACTIONS_H
#define REACTIONS_H

#include "toolbox.h"

SEC("struct_ops")
u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return reduced_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, u8 new_state)
{
	hear_state(sk, new_state, enter_state);
}

SEC("struct_ops")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return restored_cwnd(tcp_sk(sk), inet_csk_ca(sk));
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The operations for reductions, and the round-trip times of a window of Vegas that hears no queueing times.
 *
 * Included after `enter_state`, see `reactions.h`.
 */
#ifndef DELAY_REACTIONS_H
#define DELAY_REACTIONS_H

#include "reactions.h"

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	catch_up(sk, reduced_ssthresh, enter_state);
	hear_round_trip(tcp_sk(sk), inet_csk_ca(sk), sample);
}

#endif

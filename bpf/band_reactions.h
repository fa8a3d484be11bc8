/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The operations for the start and for reductions of a window between thresholds that move.
 *
 * Included after `enter_state`, see `reactions.h`.
 */
#ifndef BAND_REACTIONS_H
#define BAND_REACTIONS_H

#include "band.h"
#include "delay_reactions.h"

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct banded *banded = inet_csk_ca(sk);

	vegas_init(tcp_sk(sk), &banded->vegas);
	reset_band(banded);
}

#endif

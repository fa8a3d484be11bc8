/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * NewVegas [devendictis2003], [chan2010 §2.4]: Vegas whose band from alpha to beta rises by a segment while other
 * flows fill the queue, and is reset after a loss.
 *
 * Departures from the twin: those of Vegas, see `vegas.bpf.c`. Thresholds are whole thousandths of a segment.
 */
#include "band.h"

LICENSE;

/* The round-trip time that moves the thresholds. */
PARAMETER(enum band_rtt, band_rtt, band_rtt_target, band_rtt_target, band_rtt_actual);
/* Stay in congestion avoidance after a timeout. */
PARAMETER(flag, timeout_avoidance, 0, 0, 1);

#include "band_probes.h"

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct banded *banded = inet_csk_ca(sk);

	if (!banded_react(tp, banded, new_state))
		return;
	reset_band(banded);
	if (timeout_avoidance && new_state == TCP_CA_Loss)
		skip_slow_start(tp, &banded->vegas);
}

#include "band_reactions.h"

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct banded *banded = inet_csk_ca(sk);

	banded_cong_avoid(tcp_sk(sk), banded, acked, band_rtt, 1000);
	tell(sk, &banded->vegas, banded->alpha);
}

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_newvegas",
};

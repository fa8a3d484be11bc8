/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * NewVegas [devendictis2003], [chan2010 §2.4]: Vegas whose band from alpha to beta rises by a segment while other
 * flows fill the queue, and is reset after a loss.
 *
 * Departures from the twin: those of Vegas, see `vegas.bpf.c`. Thresholds are whole thousandths of a segment.
 */
#include "band.h"

LICENSE;

/* Initial lower threshold, restored after a loss. */
PARAMETER(thousandths, alpha, 1000, 0, 1000000);
/* Initial upper threshold, restored after a loss. */
PARAMETER(thousandths, beta, 3000, 0, 1000000);
/* Leave slow start when more segments than this are queued. */
PARAMETER(thousandths, gamma, 1000, 0, 1000000000);
/* The round-trip time that moves the thresholds. */
PARAMETER(enum band_rtt, band_rtt, band_rtt_target, band_rtt_target, band_rtt_actual);
/* Growth of this round-trip time up to which it counts as unchanged. */
PARAMETER(microseconds, rtt_tolerance, 0, 0, 1000000);
/* How the window grows by one segment per round trip. */
PARAMETER(enum increase, increase, increase_at_once, increase_at_once, increase_spread);
/* Stay in congestion avoidance after a timeout. */
PARAMETER(flag, timeout_avoidance, 0, 0, 1);
/* Round the difference to whole segments before comparing, as ns-2 does. */
PARAMETER(flag, round_diff, 0, 0, 1);
/* The round-trip time used in the actual rate. */
PARAMETER(enum rtt_choice, rtt, rtt_choice_mean, rtt_choice_mean, rtt_choice_minimum);
/* Numerator of the expected rate. */
PARAMETER(enum numerator, numerator, numerator_in_transit, numerator_in_transit, numerator_ns2);

#include "band_probes.h"

static __always_inline struct band_rules band_rules(void)
{
	return (struct band_rules){alpha, beta, 1000, band_rtt, rtt_tolerance};
}

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	const struct band_rules rules = band_rules();
	struct tcp_sock *tp = tcp_sk(sk);
	struct banded *banded = inet_csk_ca(sk);

	if (!banded_react(tp, banded, new_state))
		return;
	reset_band(banded, &rules);
	if (timeout_avoidance && new_state == TCP_CA_Loss)
		skip_slow_start(tp, &banded->vegas);
}

#include "band_reactions.h"

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	const struct round_rules rounds = {rtt, numerator, round_diff, true, true};
	const struct band_rules rules = band_rules();
	struct banded *banded = inet_csk_ca(sk);

	banded_cong_avoid(tcp_sk(sk), banded, acked, &rounds, &rules, gamma, increase);
	tell(sk, &banded->vegas, banded->alpha);
}

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_newvegas",
};

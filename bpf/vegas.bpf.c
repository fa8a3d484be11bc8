/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * TCP Vegas [brakmo1995 §3], with the mechanisms of [hengartner2000 §VI] that a congestion control of the kernel can
 * carry: A, B, F, G and I as switches, E always. C, D, H and J belong to the sender, which is the kernel's.
 *
 * Departures from the twin: windows grow per segment acknowledged, not per ACK. A reduction is a fraction of the window
 * in whole segments, and the stack moves the window there with Proportional Rate Reduction [RFC 6937 §3]. A second
 * retransmission of the same segment does not halve the window, since the stack does not tell. Data is never sent anew
 * from the oldest byte after a timeout, so that a round needs no correction then; a timeout during a fast recovery
 * halves the window before it. After a pause, the stack sets window and threshold. Times are whole microseconds, and
 * differences whole thousandths of a segment.
 */
#include "delay.h"

LICENSE;

/* Grow while fewer segments than this are queued. */
PARAMETER(thousandths, alpha, 1000, 0, 1000000000);
/* Shrink while more segments than this are queued. */
PARAMETER(thousandths, beta, 3000, 0, 1000000000);
/* Leave slow start when more segments than this are queued. */
PARAMETER(thousandths, gamma, 1000, 0, 1000000000);
/* Round the difference to whole segments before comparing, as ns-2 does. */
PARAMETER(flag, round_diff, 0, 0, 1);
/* The round-trip time used in the actual rate. */
PARAMETER(enum rtt_choice, rtt, rtt_choice_mean, rtt_choice_mean, rtt_choice_minimum);
/* Numerator of the expected rate. */
PARAMETER(enum numerator, numerator, numerator_in_transit, numerator_in_transit, numerator_ns2);
/* How the window grows by one segment per round trip. */
PARAMETER(enum increase, increase, increase_spread, increase_at_once, increase_spread);
/* Grow exponentially immediately after a timeout, not only after the next check. */
PARAMETER(flag, fix_timeout, 1, 0, 1);
/* Use the minimum of measured times as the base RTT. */
PARAMETER(flag, fix_base_rtt, 1, 0, 1);
/* Keep expected at least actual. */
PARAMETER(flag, fix_invariant, 1, 0, 1);

#include "vegas_probes.h"

_Static_assert(sizeof(struct vegas) <= CA_PRIV_SIZE, "the state of a socket");

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	react(tcp_sk(sk), inet_csk_ca(sk), new_state, fix_timeout);
}

#include "delay_reactions.h"

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	vegas_init(tcp_sk(sk), inet_csk_ca(sk));
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	const struct round_rules rules = {rtt, numerator, round_diff, fix_base_rtt, fix_invariant};
	const struct thresholds thresholds = {alpha, beta, gamma, increase};
	struct vegas *vegas = inet_csk_ca(sk);

	vegas_cong_avoid(tcp_sk(sk), vegas, acked, &rules, &thresholds);
	tell(sk, vegas);
}

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_vegas",
};

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

/* Numerator of the expected rate. */
PARAMETER(enum numerator, numerator, numerator_in_transit, numerator_in_transit, numerator_ns2);
/* Grow exponentially immediately after a timeout, not only after the next check. */
PARAMETER(flag, fix_timeout, 1, 0, 1);
/* Use the minimum of measured times as the base RTT. */
PARAMETER(flag, fix_base_rtt, 1, 0, 1);
/* Keep expected at least actual. */
PARAMETER(flag, fix_invariant, 1, 0, 1);

static __always_inline struct round_rules round_rules(void)
{
	return (struct round_rules){numerator, fix_base_rtt, fix_invariant};
}

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	react(tcp_sk(sk), inet_csk_ca(sk), new_state, fix_timeout);
}

#include "delay_reactions.h"
#include "vegas_growth.h"

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_vegas",
};

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A window between fixed thresholds, shared by Vegas and RoVegas: its parameters, and the operations for its start and
 * its growth.
 *
 * Included after `round_rules`, by which a twin says how it measures a round.
 */
#ifndef VEGAS_GROWTH_H
#define VEGAS_GROWTH_H

#include "vegas_probes.h"

/* Grow while fewer segments than this are queued. */
PARAMETER(thousandths, alpha, 1000, 0, 1000000000);
/* Shrink while more segments than this are queued. */
PARAMETER(thousandths, beta, 3000, 0, 1000000000);
/* How the window grows by one segment per round trip. */
PARAMETER(enum increase, increase, increase_spread, increase_at_once, increase_spread);

_Static_assert(sizeof(struct vegas) <= CA_PRIV_SIZE, "the state of a socket");

/* A check: grows, holds or shrinks by the thresholds [chan2004 §3.1]. */
static __always_inline void decide(struct tcp_sock *tp, struct vegas *vegas, s64 diff)
{
	if (is_below_ssthresh(tp, vegas))
		check_slow_start(tp, vegas, diff);
	else if (!avoidance_detection)
		return;
	else if (diff > beta)
		shrink(tp, vegas);
	else if (diff < alpha)
		grow(tp, vegas, increase);
	else
		hold(vegas);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	vegas_init(tcp_sk(sk), inet_csk_ca(sk));
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	const struct round_rules rules = round_rules();
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *vegas = inet_csk_ca(sk);
	struct check check;

	set_later_ssthresh(tp, &vegas->window);
	if (poll_check(tp, vegas, &rules, &check))
		decide(tp, vegas, check.diff);
	grow_between_checks(tp, vegas, acked);
	take_sample(vegas);
	tell(sk, vegas);
}

#endif

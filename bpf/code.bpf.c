/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CODE TCP, a competitive delay-based TCP [chan2010 §3]: NewVegas whose band rises by two segments, and is multiplied
 * by epsilon after a loss.
 *
 * Departures from the twin: those of Vegas, see `vegas.bpf.c`. Thresholds are whole thousandths of a segment.
 */
#include "band.h"

LICENSE;

/* Fraction of the thresholds that remains after a loss. */
PARAMETER(thousandths, epsilon, 680, 1, 1000);
/* Step by which the thresholds rise. */
PARAMETER(thousandths, rise, 2000, 0, 1000000);
/* Never lower the thresholds below their initial values. */
PARAMETER(flag, clamp, 0, 0, 1);
/* Round the thresholds down to whole segments after a loss. */
PARAMETER(flag, truncate, 0, 0, 1);
/* The round-trip time that moves the thresholds. */
PARAMETER(enum band_rtt, band_rtt, band_rtt_minimum, band_rtt_target, band_rtt_actual);

#include "band_probes.h"

static __always_inline void clamp_band(struct banded *banded)
{
	if (!clamp)
		return;
	if (banded->alpha < alpha)
		banded->alpha = alpha;
	if (banded->beta < beta)
		banded->beta = beta;
}

/* What a loss leaves of a threshold, in thousandths of a segment. */
static __always_inline s64 reduced(s64 threshold)
{
	bool is_negative = threshold < 0;
	u64 magnitude = ((u64)(is_negative ? -threshold : threshold) * epsilon + 500) / 1000;
	s64 left = is_negative ? -(s64)magnitude : (s64)magnitude;

	return truncate ? floored(left) : left;
}

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct banded *banded = inet_csk_ca(sk);

	if (!banded_react(tp, banded, new_state))
		return;
	if (new_state == TCP_CA_Loss) {
		reset_band(banded);
	} else {
		banded->alpha = reduced(banded->alpha);
		banded->beta = reduced(banded->beta);
		banded->vegas.has_changed = 1;
	}
	clamp_band(banded);
}

#include "band_reactions.h"

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct banded *banded = inet_csk_ca(sk);

	banded_cong_avoid(tcp_sk(sk), banded, acked, band_rtt, rise);
	clamp_band(banded);
	tell(sk, &banded->vegas, banded->alpha);
}

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_code",
};

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * TCP Westwood [mascolo2001], with the time-varying filter to which [grieco2004 §2.2] compares Westwood+: a bandwidth
 * sample per ACK, and a sample of zero whenever `tau / m` passes without one.
 *
 * Departures from the twin: the window is that of `reno.bpf.c`. What an ACK delivers is counted by the stack, once for
 * each segment and in whole segments, instead of from duplicate and cumulative ACKs; without selective
 * acknowledgements, a duplicate ACK counts with the one after it. A threshold is whole segments, rounded down. Times
 * are whole microseconds, and bandwidths whole bytes per second.
 */
#include "bandwidth.h"

LICENSE;

/* Time constant of the filter. */
PARAMETER(microseconds, tau, 1000000, 1, 100000000);
/* Insert a virtual sample of zero after this fraction of the time constant: tau / m. */
PARAMETER(thousandths, m, 2000, 1000, 1000000);

#include "bandwidth_probes.h"

struct westwood {
	struct bandwidth_window state;
	/* Estimate, in bytes per second. */
	u64 bandwidth;
	/* The previous sample, in bytes per second. */
	u64 sample;
	/* Time of the last sample of the filter, virtual or not, in microseconds. */
	u64 sampled_at;
	/* Time of the last ACK that gave a sample. */
	u64 last_ack;
	/* Bytes delivered since then. */
	u64 delivered;
	u32 has_sample;
};

_Static_assert(sizeof(struct westwood) <= CA_PRIV_SIZE, "the state of a socket");

/* One, in the powers of a fraction. Its product with a bandwidth stays below 2^64 up to 500 Gbit/s. */
#define ONE (1ULL << 28)

/* A fraction, at most one, to a power below 2^20, by squaring. */
static __always_inline u64 power(u64 base, u32 exponent)
{
	u64 result = ONE;

	for (int bit = 0; bit < 20; bit++) {
		if (exponent >> bit & 1)
			result = result * base / ONE;
		base = base * base / ONE;
	}
	return result;
}

static __always_inline u64 longest(void)
{
	return most(tau * 1000ULL / m, 1);
}

/* The filter, `dt` after its last sample. */
static __always_inline void input(struct westwood *westwood, u64 sample, u64 dt)
{
	u64 sum = (2 * tau - dt) * westwood->bandwidth + dt * (sample + westwood->sample);

	westwood->bandwidth = sum / (2 * tau + dt);
	westwood->sample = sample;
	westwood->state.has_changed = 1;
}

/* Inserts the virtual samples that were due before `now`. After the first, one only multiplies the estimate. */
static __always_inline void advance(struct westwood *westwood, u64 now)
{
	u64 age = now - westwood->sampled_at;
	u64 due, factor;

	if (age <= longest())
		return;
	due = (age - 1) / longest();
	input(westwood, 0, longest());
	factor = (2 * tau - longest()) * ONE / (2 * tau + longest());
	westwood->bandwidth = westwood->bandwidth * power(factor, least(due - 1, (1 << 20) - 1)) / ONE;
	westwood->sampled_at += due * longest();
}

static __always_inline u32 reduced_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *westwood = inet_csk_ca(sk);

	advance(westwood, tp->tcp_mstamp);
	return bandwidth_ssthresh(tp, &westwood->state, westwood->has_sample, westwood->bandwidth, true);
}

#include "bandwidth_reactions.h"

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *westwood = inet_csk_ca(sk);

	/* The stack has told of the SYN before. Its round-trip time is that of a small packet. */
	__builtin_memset(westwood, 0, sizeof(*westwood));
	bandwidth_init(tp, &westwood->state);
	westwood->sampled_at = tp->tcp_mstamp;
	westwood->last_ack = tp->tcp_mstamp;
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *westwood = inet_csk_ca(sk);
	u64 now = tp->tcp_mstamp;
	u64 dt;

	catch_up(sk, reduced_ssthresh, enter_state);
	dt = now - westwood->last_ack;
	hear_rtt(tp, &westwood->state, sample->rtt_us);
	westwood->delivered += newly_delivered(tp, &westwood->state);
	if (westwood->delivered && dt) {
		advance(westwood, now);
		input(westwood, westwood->delivered * 1000000 / dt, now - westwood->sampled_at);
		westwood->sampled_at = now;
		westwood->last_ack = now;
		westwood->delivered = 0;
		westwood->has_sample = 1;
	}
	tell(sk, &westwood->state, westwood->has_sample, westwood->bandwidth);
}

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_westwood",
};

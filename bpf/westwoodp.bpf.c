/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Westwood+ [grieco2004 §2]: one bandwidth sample per round trip, and a filter of constant coefficients.
 *
 * Departures from the twin: the window is that of `reno.bpf.c`. What an ACK delivers is counted by the stack, once for
 * each segment and in whole segments, instead of from duplicate and cumulative ACKs; without selective
 * acknowledgements, a duplicate ACK counts with the one after it. A threshold is whole segments, rounded down. Times
 * are whole microseconds, and bandwidths whole bytes per second.
 */
#include "bandwidth.h"

LICENSE;

/* The round-trip time that sets the length of an interval. */
enum interval_rtt {
	interval_rtt_newest,
	interval_rtt_smoothed,
};

/* Weight of the previous estimate in the filter. */
PARAMETER(thousandths, filter, 900, 0, 999);
/* The round-trip time that sets the length of an interval. */
PARAMETER(enum interval_rtt, interval_rtt, interval_rtt_newest, interval_rtt_newest, interval_rtt_smoothed);
/* Shortest interval; 50 ms in Linux. */
PARAMETER(microseconds, minimum_interval, 0, 0, 1000000000);
/* Never raise the window at three duplicate ACKs. */
PARAMETER(flag, only_reduce, 1, 0, 1);

#include "bandwidth_probes.h"

struct westwood {
	struct bandwidth_window state;
	/* When the interval began, in microseconds. */
	u64 begun;
	/* Bytes delivered in it. */
	u64 delivered;
	/* Round-trip time of an interval in nanoseconds; 0 before the first. */
	u64 rtt_ns;
	/* Estimate, in bytes per second. */
	u64 bandwidth;
	u32 has_sample;
	u32 has_begun;
};

_Static_assert(sizeof(struct westwood) <= CA_PRIV_SIZE, "the state of a socket");

static __always_inline void hear_interval_rtt(struct westwood *westwood, u32 rtt)
{
	u64 rtt_ns = 1000ULL * rtt;

	if (interval_rtt == interval_rtt_smoothed && westwood->rtt_ns)
		rtt_ns = (7 * westwood->rtt_ns + rtt_ns) / 8;
	westwood->rtt_ns = rtt_ns;
}

/* The first ACK opens the first interval, and the first sample initializes the filter [grieco2004 equation (1)]. */
static __always_inline void measure(struct westwood *westwood, u64 bytes, u64 now)
{
	u64 elapsed, sample;

	if (!westwood->has_begun) {
		westwood->has_begun = 1;
		westwood->begun = now;
		return;
	}
	westwood->delivered += bytes;
	elapsed = now - westwood->begun;
	if (!westwood->rtt_ns || !elapsed || 1000 * elapsed < most(westwood->rtt_ns, 1000 * minimum_interval))
		return;
	sample = westwood->delivered * 1000000 / elapsed;
	if (westwood->has_sample)
		sample = (filter * westwood->bandwidth + (1000 - filter) * sample + 500) / 1000;
	westwood->bandwidth = sample;
	westwood->has_sample = 1;
	westwood->begun = now;
	westwood->delivered = 0;
	westwood->state.has_changed = 1;
}

static __always_inline u32 reduced_ssthresh(struct sock *sk)
{
	struct westwood *westwood = inet_csk_ca(sk);

	return bandwidth_ssthresh(tcp_sk(sk), &westwood->state, westwood->has_sample, westwood->bandwidth, only_reduce);
}

#include "bandwidth_reactions.h"

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct westwood *westwood = inet_csk_ca(sk);

	/* The stack has told of the SYN before. Its round-trip time is that of a small packet. */
	__builtin_memset(westwood, 0, sizeof(*westwood));
	bandwidth_init(tcp_sk(sk), &westwood->state);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *westwood = inet_csk_ca(sk);
	u32 rtt;
	u64 bytes;

	catch_up(sk, reduced_ssthresh, enter_state);
	rtt = hear_rtt(tp, &westwood->state, sample->rtt_us);
	bytes = newly_delivered(tp, &westwood->state);
	if (rtt)
		hear_interval_rtt(westwood, rtt);
	if (bytes)
		measure(westwood, bytes, tp->tcp_mstamp);
	tell(sk, &westwood->state, westwood->has_sample, westwood->bandwidth);
}

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_westwoodp",
};

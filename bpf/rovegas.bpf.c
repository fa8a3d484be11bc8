/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RoVegas [chan2004 §3]: Vegas with routers that report queueing times. Every segment accumulates its queueing time in
 * a TCP option (AQT), the receiver returns it, and the ACK accumulates its own. A second program writes and reads the
 * option of every connection that chooses the algorithm, for sockets in the control group to which it is attached.
 *
 * Departures from the twin: those of Vegas, see `vegas.bpf.c`. The receiver returns the last time heard, also on an ACK
 * that was not caused by the newest segment it acknowledges. The option takes 8 bytes of every segment of the
 * connection, by which the stack shortens the data. Its kind is not assigned: use it on private networks only.
 */
#include "delay.h"

LICENSE;

/* How a round-trip time without queueing time updates the base RTT. */
enum base_rtt {
	base_rtt_replace,
	base_rtt_minimum,
};

/* How a round-trip time without queueing time updates the base RTT. */
PARAMETER(enum base_rtt, base_rtt, base_rtt_replace, base_rtt_replace, base_rtt_minimum);
/* Numerator of the expected rate. */
PARAMETER(enum numerator, numerator, numerator_window, numerator_in_transit, numerator_ns2);

/*
 * The option [chan2004 §3.1]: queueing time so far and queueing time returned, in microseconds, most significant byte
 * first.
 */
#define AQT_KIND 200
#define AQT_LENGTH 8

struct aqt_option {
	u8 kind;
	u8 length;
	u8 queueing[3];
	u8 echo[3];
};

/* What a socket has heard from its peer, in microseconds. */
struct aqt {
	/* Queueing time of the last segment that arrived. */
	u32 queueing;
	/* Queueing time that it returned. */
	u32 echo;
	/* It arrived since the last ACK was evaluated. */
	u32 is_new;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct aqt);
} aqts SEC(".maps");

static __always_inline u32 of_bytes(const u8 *bytes)
{
	return (u32)bytes[0] << 16 | (u32)bytes[1] << 8 | bytes[2];
}

/* True if the connection chose this algorithm under any name of the loader. */
static __always_inline bool is_ours(struct bpf_sock_ops *ops)
{
	const char own[] = "db_rovegas";
	char name[16] = {};

	if (bpf_getsockopt(ops, 6 /* SOL_TCP */, 13 /* TCP_CONGESTION */, name, sizeof(name)))
		return false;
	return !__builtin_memcmp(name, own, sizeof(own) - 1);
}

static __always_inline void write_option(struct bpf_sock_ops *ops, struct bpf_sock *sk)
{
	struct aqt_option option = {.kind = AQT_KIND, .length = AQT_LENGTH};
	struct aqt *aqt = bpf_sk_storage_get(&aqts, sk, NULL, 0);

	if (aqt) {
		option.echo[0] = aqt->queueing >> 16;
		option.echo[1] = aqt->queueing >> 8;
		option.echo[2] = aqt->queueing;
	}
	bpf_store_hdr_opt(ops, &option, sizeof(option), 0);
}

static __always_inline void read_option(struct bpf_sock_ops *ops, struct bpf_sock *sk)
{
	struct aqt_option option = {.kind = AQT_KIND};
	struct aqt *aqt;

	if (bpf_load_hdr_opt(ops, &option, sizeof(option), 0) != AQT_LENGTH)
		return;
	aqt = bpf_sk_storage_get(&aqts, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!aqt)
		return;
	aqt->queueing = of_bytes(option.queueing);
	aqt->echo = of_bytes(option.echo);
	aqt->is_new = 1;
	/* Who hears the option returns it. */
	if (!(ops->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

SEC("sockops")
int options(struct bpf_sock_ops *ops)
{
	/* Each access may yield nothing, so it is read once. */
	struct bpf_sock *sk = ops->sk;
	int flags;

	if (!sk)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		flags = ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG;
		if (is_ours(ops))
			flags |= BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
		bpf_sock_ops_cb_flags_set(ops, flags);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		bpf_reserve_hdr_opt(ops, AQT_LENGTH, 0);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		write_option(ops, sk);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		read_option(ops, sk);
		break;
	}
	return 1;
}

static __always_inline void enter_state(struct sock *sk, u8 new_state)
{
	react(tcp_sk(sk), inet_csk_ca(sk), new_state, true);
}

#include "reactions.h"

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *vegas = inet_csk_ca(sk);
	struct rounds *rounds = &vegas->rounds;
	u32 heard;
	struct aqt *aqt = bpf_sk_storage_get(&aqts, sk, NULL, 0);
	u32 queueing;

	catch_up(sk, reduced_ssthresh, enter_state);
	heard = hear_ack(tcp_sk(sk), vegas, sample);
	rounds->sample = heard;
	rounds->base_sample = heard;
	vegas->replaces_base_rtt = 0;
	if (!aqt || !aqt->is_new)
		return;
	aqt->is_new = 0;
	queueing = aqt->queueing + aqt->echo;
	if (queueing >= heard) {
		rounds->sample = 0;
		return;
	}
	rounds->sample = heard - aqt->queueing;
	rounds->base_sample = heard - queueing;
	vegas->replaces_base_rtt = base_rtt == base_rtt_replace;
}

static __always_inline struct round_rules round_rules(void)
{
	return (struct round_rules){numerator, true, true};
}

#include "vegas_growth.h"

CONGESTION_CONTROL = {
	ALL_OPERATIONS,
	.name = "db_rovegas",
};

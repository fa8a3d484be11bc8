/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fields of the kernel that the twins use. Their offsets are relocated to those of the running kernel when a
 * program is loaded, so that this list is complete and of no particular release.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

/* States of `icsk_ca_state`, as set_state receives them. */
enum {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

/* Any user and any network namespace may choose the algorithm. */
#define TCP_CONG_NON_RESTRICTED 1

/* Bytes of state per socket. */
#define CA_PRIV_SIZE 104

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct sock_common {
	__be16 skc_dport;
	u16 skc_num;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[CA_PRIV_SIZE / sizeof(u64)];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 snd_cwnd_clamp;
	u32 prior_cwnd;
	u32 max_packets_out;
	u32 mss_cache;
	u32 delivered;
	u64 tcp_mstamp;
	u8 is_cwnd_limited : 1;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	u32 flags;
	char name[16];
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* The state of the algorithm, zeroed by the stack when a socket chooses it. */
static __always_inline void *inet_csk_ca(const struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The twin's probes leave through a ring buffer when one of them changes, if the loader asks for them.
 *
 * Included after `struct probes`, whose members have the names of the probes and the types of their scales.
 */
#ifndef PROBES_H
#define PROBES_H

#include "toolbox.h"

#include <bpf/bpf_endian.h>

/* A probe without a value yet. */
#define ABSENT ((s64)(1ULL << 63))

CONSTANT u32 is_probing = 0;

struct record {
	/* CLOCK_MONOTONIC. */
	u64 at_ns;
	/* Ports of the connection, in host byte order. */
	u16 local_port;
	u16 remote_port;
	u32 reserved;
	struct probes probes;
};

/* Its type tells the loader the layout of a record. */
CONSTANT struct record record_layout = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

/* A record to be filled and submitted; none while nobody reads. */
static __always_inline struct record *begin_record(const struct sock *sk)
{
	struct record *record;

	if (!is_probing)
		return NULL;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record)
		return NULL;
	record->at_ns = bpf_ktime_get_ns();
	record->local_port = sk->__sk_common.skc_num;
	record->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	record->reserved = 0;
	return record;
}

#endif

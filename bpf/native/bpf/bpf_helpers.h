/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The helpers of the kernel that the twins use, in user space: one socket, no clock, and a ring buffer of one record,
 * which the driver reads.
 */
#ifndef NATIVE_BPF_HELPERS_H
#define NATIVE_BPF_HELPERS_H

#include <stddef.h>
#include <string.h>

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

static __u64 native_record[16];
static __u64 native_storage[8];
static int native_has_storage;
/* The option that the last segment carried, and the one that the next segment will carry. */
static __u8 native_received[8];
static __u8 native_written[8];
static char native_congestion[16];

static inline __u64 bpf_ktime_get_ns(void)
{
	return 0;
}

static inline void *bpf_ringbuf_reserve(void *map, __u64 size, __u64 flags)
{
	return native_record;
}

static inline void bpf_ringbuf_submit(void *data, __u64 flags)
{
}

static inline void *bpf_sk_storage_get(void *map, const void *sk, void *value, __u64 flags)
{
	if (!native_has_storage && !(flags & BPF_SK_STORAGE_GET_F_CREATE))
		return NULL;
	native_has_storage = 1;
	return native_storage;
}

static inline long bpf_getsockopt(void *context, int level, int option, void *value, int length)
{
	memcpy(value, native_congestion, length);
	return 0;
}

static inline long bpf_sock_ops_cb_flags_set(struct bpf_sock_ops *ops, int flags)
{
	ops->bpf_sock_ops_cb_flags = flags;
	return 0;
}

static inline long bpf_reserve_hdr_opt(struct bpf_sock_ops *ops, __u32 length, __u64 flags)
{
	return 0;
}

static inline long bpf_store_hdr_opt(struct bpf_sock_ops *ops, const void *option, __u32 length, __u64 flags)
{
	memcpy(native_written, option, length);
	return 0;
}

static inline long bpf_load_hdr_opt(struct bpf_sock_ops *ops, void *option, __u32 length, __u64 flags)
{
	if (native_received[0] != *(__u8 *)option)
		return -1;
	memcpy(option, native_received, length);
	return length;
}

#endif

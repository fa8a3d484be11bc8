/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The probes of a window that is set from a bandwidth estimate, shared by Westwood and Westwood+.
 */
#ifndef BANDWIDTH_PROBES_H
#define BANDWIDTH_PROBES_H

#include "bandwidth.h"

struct probes {
	microseconds base_rtt;
	bits_per_second bandwidth;
};

#include "probes.h"

/* `bandwidth` is the estimate in bytes per second, if there is one. */
static __always_inline void tell(const struct sock *sk, struct bandwidth_window *state, bool has_sample, u64 bandwidth)
{
	struct record *record;

	if (!state->has_changed)
		return;
	state->has_changed = 0;
	record = begin_record(sk);
	if (!record)
		return;
	record->probes.base_rtt = state->rtt_min ? state->rtt_min : ABSENT;
	record->probes.bandwidth = has_sample ? (s64)(8 * bandwidth) : ABSENT;
	bpf_ringbuf_submit(record, 0);
}

#endif

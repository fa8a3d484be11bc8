/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The probes of a window between fixed thresholds, shared by Vegas and RoVegas.
 */
#ifndef VEGAS_PROBES_H
#define VEGAS_PROBES_H

#include "toolbox.h"

struct probes {
	microseconds base_rtt;
	thousandths vegas_diff;
};

#include "delay_probes.h"

static __always_inline void tell(const struct sock *sk, struct vegas *vegas)
{
	struct record *record = begin_change(sk, vegas);

	if (record)
		bpf_ringbuf_submit(record, 0);
}

#endif

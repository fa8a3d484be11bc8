/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The probes of a window between thresholds that move, shared by NewVegas, CODE and Vegas-A.
 */
#ifndef BAND_PROBES_H
#define BAND_PROBES_H

#include "toolbox.h"

struct probes {
	microseconds base_rtt;
	thousandths vegas_diff;
	thousandths alpha;
};

#include "delay_probes.h"

/* `alpha` is the lower threshold. */
static __always_inline void tell(const struct sock *sk, struct vegas *vegas, s32 alpha)
{
	struct record *record = begin_change(sk, vegas);

	if (!record)
		return;
	record->probes.alpha = alpha;
	bpf_ringbuf_submit(record, 0);
}

#endif

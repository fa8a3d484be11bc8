/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The probes of a window between thresholds that move, shared by NewVegas and CODE.
 */
#ifndef BAND_PROBES_H
#define BAND_PROBES_H

#include "band.h"

struct probes {
	microseconds base_rtt;
	thousandths vegas_diff;
	thousandths alpha;
};

#include "probes.h"

static __always_inline void tell(const struct sock *sk, struct banded *banded)
{
	struct vegas *vegas = &banded->vegas;
	struct record *record;

	if (!vegas->has_changed)
		return;
	vegas->has_changed = 0;
	record = begin_record(sk);
	if (!record)
		return;
	record->probes.base_rtt = vegas->rounds.base_rtt ? vegas->rounds.base_rtt : ABSENT;
	record->probes.vegas_diff = vegas->has_diff ? vegas->rounds.diff : ABSENT;
	record->probes.alpha = banded->alpha;
	bpf_ringbuf_submit(record, 0);
}

#endif

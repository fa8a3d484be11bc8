/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The probes that all windows of Vegas have. Included after `struct probes`, which begins with them.
 */
#ifndef DELAY_PROBES_H
#define DELAY_PROBES_H

#include "delay.h"
#include "probes.h"

/* A record with these probes, to be completed and submitted; none while nothing has changed or nobody reads. */
static __always_inline struct record *begin_change(const struct sock *sk, struct vegas *vegas)
{
	struct record *record;

	if (!vegas->has_changed)
		return NULL;
	vegas->has_changed = 0;
	record = begin_record(sk);
	if (!record)
		return NULL;
	record->probes.base_rtt = vegas->rounds.base_rtt ? vegas->rounds.base_rtt : ABSENT;
	record->probes.vegas_diff = vegas->has_diff ? vegas->rounds.diff : ABSENT;
	return record;
}

#endif

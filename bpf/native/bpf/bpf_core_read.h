/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fields are where this compiler puts them. */
#define BPF_CORE_READ_BITFIELD(object, field) ((object)->field)

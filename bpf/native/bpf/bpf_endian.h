/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ports stay as they are. */
#define bpf_ntohs(value) (value)

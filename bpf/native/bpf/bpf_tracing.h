/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A program is a function. */
#define BPF_PROG(name, arguments...) name(arguments)

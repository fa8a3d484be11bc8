/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parameters in user space: variables, and a table by which the driver finds them. */
#ifndef NATIVE_PARAMETERS_H
#define NATIVE_PARAMETERS_H

struct parameter {
	const char *name;
	void *value;
	unsigned long size;
};

#define CONSTANT
#define PARAMETER(type, name, value, least, most)                            \
	type name = value;                                                   \
	static const struct parameter parameter_##name                       \
		__attribute__((used, aligned(8), section("parameters"))) = { \
			#name, &name, sizeof(name)}
#define MECHANISM(letter, name, value) PARAMETER(flag, name, value, 0, 1)

#endif

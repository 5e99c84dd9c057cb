/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instruments: switches that disable a part of a driver, to measure what it is
 * worth, or make it fail, to test what follows. They are built with
 * IRQMOD_INSTRUMENTS=y only (instruments/README.md). Otherwise each is a constant,
 * which the compiler removes, and its file in sysfs is not there.
 */
#ifndef IRQMOD_INSTRUMENTS_H
#define IRQMOD_INSTRUMENTS_H

#include <linux/moduleparam.h>

/* The value of a switch; without instruments it is always @otherwise. */
#ifdef IRQMOD_INSTRUMENTS
#define irqmod_instrument(value, otherwise)	(value)
#else
#define irqmod_instrument(value, otherwise)	(otherwise)
#endif

/* A switch that is a module parameter, which only irqmod_instrument() may read. */
#ifdef IRQMOD_INSTRUMENTS
#define IRQMOD_PARAMETER(name, type, mode, text)		\
	static type name;					\
	module_param(name, type, mode);				\
	MODULE_PARM_DESC(name, text)
#else
#define IRQMOD_PARAMETER(name, type, mode, text)		\
	static_assert(true)
#endif

#endif /* IRQMOD_INSTRUMENTS_H */

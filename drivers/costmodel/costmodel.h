/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COSTMODEL_H
#define COSTMODEL_H

#include <linux/tracepoint.h>
#include <linux/types.h>

/* A tracepoint and its probe. The probe's own execution time is measured when
 * the module is loaded and subtracted from every charge.
 */
struct cost_site {
	const char *tracepoint;
	void *probe;		/* called with the site as its data */
	unsigned int terms;	/* bit mask of the costs that need it */
	s64 overhead_ps;	/* time of one call, including the call site */
	struct tracepoint *tp;
	bool attached;
};

/* Adds @ps to the time owed and burns whole loop passes. Not from NMI. */
void cost_charge(const struct cost_site *site, s64 ps);

/* Measures one pass of the loop; to be called first. */
int cost_measure_round(void);

/* Measures a call of the probe with these tracepoint arguments. */
int cost_measure_site(struct cost_site *site, unsigned long first,
		      void *second);

#endif

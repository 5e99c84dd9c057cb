/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COSTMODEL_H
#define COSTMODEL_H

#include <linux/tracepoint.h>
#include <linux/types.h>

/* Where a probe is attached. What its own execution takes is measured when the
 * module is loaded, and taken off every charge.
 */
struct cost_site {
	const char *tracepoint;
	void *probe;		/* called with the site as its data */
	unsigned int terms;	/* of the costs that need it */
	s64 overhead_ps;	/* of one call, call site included */
	struct tracepoint *tp;
	bool attached;
};

/* Owes the clock @ps and burns what is due. Any context but NMI. */
void cost_charge(const struct cost_site *site, s64 ps);

/* How long a round of the loop takes; before anything else. */
int cost_measure_round(void);

/* What a call of the probe takes, with these arguments of its tracepoint. */
int cost_measure_site(struct cost_site *site, unsigned long first,
		      void *second);

#endif

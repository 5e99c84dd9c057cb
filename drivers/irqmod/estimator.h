/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packet-rate estimator and two-threshold switch of the hybrid scheme (Salah &
 * Qahtan, section 4.2). Compiled by the kernel and by the unit test in user
 * space: includes nothing, needs u32, u64 and bool.
 *
 * Once a window the packets counted in it enter an exponentially weighted
 * moving average with gain 1/4, by shifts and adds only. Thresholds are kept
 * in the average's own unit, 1/16 packet a window, so that no window divides
 * or multiplies; divisions are made when a setting changes.
 */
#ifndef IRQMOD_ESTIMATOR_H
#define IRQMOD_ESTIMATOR_H

#define ESTIMATOR_FRACTION_BITS	4
#define ESTIMATOR_GAIN_SHIFT	2

struct estimator {
	u64 average;		/* packets a window, 1/16 */
	u64 cliff1;		/* below: DE; the same unit */
	u64 cliff2;		/* above: NAPI */
	bool above;		/* NAPI is in force */
};

/* Packets a window, in 1/16, that are @rate_pps; at most 2^32 pps, 1000 ms. */
static inline u64 estimator_units(u64 rate_pps, u32 window_ms)
{
	return ((rate_pps * window_ms) << ESTIMATOR_FRACTION_BITS) / 1000;
}

/* cliff1 = (1 - e) * cliff, cliff2 = (1 + e) * cliff */
static inline void estimator_configure(struct estimator *e, u32 cliff_pps,
				       u32 epsilon_permille, u32 window_ms)
{
	u64 cliff = estimator_units(cliff_pps, window_ms);
	u64 margin = cliff * epsilon_permille / 1000;

	e->cliff1 = cliff - margin;
	e->cliff2 = cliff + margin;
}

/* The average in packets a second, for people. */
static inline u64 estimator_rate_pps(const struct estimator *e, u32 window_ms)
{
	return ((e->average * 1000) / window_ms) >> ESTIMATOR_FRACTION_BITS;
}

/* A window has passed in which @packets came. True: the scheme changes. */
static inline bool estimator_window(struct estimator *e, u32 packets)
{
	u64 sample = (u64)packets << ESTIMATOR_FRACTION_BITS;

	e->average += (sample >> ESTIMATOR_GAIN_SHIFT);
	e->average -= (e->average - (sample >> ESTIMATOR_GAIN_SHIFT)) >>
		      ESTIMATOR_GAIN_SHIFT;

	if (e->above ? e->average < e->cliff1 : e->average > e->cliff2) {
		e->above = !e->above;
		return true;
	}
	return false;
}

#endif /* IRQMOD_ESTIMATOR_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packet-rate estimator and two-threshold switch of the hybrid scheme (Salah &
 * Qahtan, section 4.2). Compiled by the kernel and by the unit test in user
 * space: includes nothing, needs u32, u64 and bool.
 *
 * What arrives in a window is what the hardware put on the ring and what it
 * dropped because the ring was full. Once a window it enters an exponentially
 * weighted moving average with gain 1/4, by shifts and adds only.
 * But if two windows in a row are off the average by more than a quarter of it,
 * to the same side, that is a step, and the average starts anew from the second.
 *
 * No single gain does both. With 1/4 alone a step to twice the cliff is known
 * after four windows, with 1/2 after two; but with 1/2 the estimate is up to
 * 5.5 % off at 1000 pps, where a window of 8 ms has 8 packets or 9 (1/4: 2.8 %),
 * and bursts at the cliff, of little more than a window each, switch the scheme
 * to and fro.
 *
 * Thresholds are kept in the average's own unit, 1/256 packet a window, so that
 * no window divides or multiplies; divisions are made when a setting changes.
 */
#ifndef IRQMOD_ESTIMATOR_H
#define IRQMOD_ESTIMATOR_H

#define ESTIMATOR_FRACTION_BITS	8
#define ESTIMATOR_GAIN_SHIFT	2
#define ESTIMATOR_STEP_SHIFT	2

struct estimator {
	u64 average;		/* packets a window, 1/256 */
	u64 cliff1;		/* below: DE; the same unit */
	u64 cliff2;		/* above: NAPI */
	u32 arrived;		/* packets, for ever, when the window began */
	int off;		/* last window was far above (1), below (-1) */
	bool above;		/* NAPI is in force */
};

/* Packets a window, in 1/256, that are @rate_pps; at most 2^32 pps, 1000 ms. */
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

/* The first window begins; @arrived as for estimator_window(). */
static inline void estimator_start(struct estimator *e, u32 arrived)
{
	e->average = 0;
	e->arrived = arrived;
	e->off = 0;
	e->above = false;
}

/* The average in packets a second, for people. */
static inline u64 estimator_rate_pps(const struct estimator *e, u32 window_ms)
{
	return ((e->average * 1000) / window_ms) >> ESTIMATOR_FRACTION_BITS;
}

/* A window has passed. @arrived: packets received and dropped, for ever, modulo
 * 2^32. True: the scheme changes.
 */
static inline bool estimator_window(struct estimator *e, u32 arrived)
{
	u32 packets = arrived - e->arrived;
	u64 sample = (u64)packets << ESTIMATOR_FRACTION_BITS;
	int side = sample > e->average ? 1 : -1;
	u64 distance = side > 0 ? sample - e->average : e->average - sample;
	bool far = distance > e->average >> ESTIMATOR_STEP_SHIFT;

	if (far && e->off == side)
		e->average = sample;
	else if (side > 0)
		e->average += distance >> ESTIMATOR_GAIN_SHIFT;
	else
		e->average -= distance >> ESTIMATOR_GAIN_SHIFT;
	e->off = far ? side : 0;
	e->arrived = arrived;

	if (e->above ? e->average < e->cliff1 : e->average > e->cliff2) {
		e->above = !e->above;
		return true;
	}
	return false;
}

#endif /* IRQMOD_ESTIMATOR_H */

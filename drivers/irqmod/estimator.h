/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packet-rate estimator and two-threshold switch of the hybrid scheme (Salah &
 * Qahtan, section 4.2). Compiled both in the kernel and in a user-space unit
 * test: it includes nothing and needs u32, u64, bool and div_u64().
 *
 * The arrivals of a window are the packets that the hardware put on the ring or
 * dropped because the ring was full. At the end of each window they enter an
 * exponentially weighted moving average with gain 1/4, computed with shifts and
 * additions only (and a division after a window at whose end the hardware had no
 * count). If two consecutive windows deviate from the average by more
 * than a quarter of it, in the same direction, the estimator assumes a step and
 * restarts the average from the second window.
 *
 * No single gain is both fast and accurate. A gain of 1/4 detects a step to twice
 * the cliff after four windows, a gain of 1/2 after two. But with 1/2 the estimate
 * is up to 5.5 % off at 1000 pps, where a window of 8 ms has 8 or 9 packets (with
 * 1/4: 2.8 %), and bursts at the cliff that are slightly longer than a window
 * cause frequent switches.
 *
 * Thresholds are stored in the unit of the average, 1/256 packet per window, so
 * that a window needs no division or multiplication; divisions are done when a
 * setting changes.
 *
 * The cliff belongs to the processor: what it receives on other queues counts with the
 * queue's average (@others), but not in the average, which is of this queue alone.
 */
#ifndef IRQMOD_ESTIMATOR_H
#define IRQMOD_ESTIMATOR_H

#define ESTIMATOR_FRACTION_BITS	8
#define ESTIMATOR_GAIN_SHIFT	2
#define ESTIMATOR_STEP_SHIFT	2

struct estimator {
	u64 average;		/* in 1/256 packet per window */
	u64 cliff1;		/* below: DE; same unit */
	u64 cliff2;		/* above: NAPI; same unit */
	u32 arrived;		/* total packets at the start of the window */
	u32 uncounted;		/* windows since then whose end had no count */
	int off;		/* last window was far above (1) or below (-1) */
	bool above;		/* NAPI is active */
};

/* Converts @rate_pps to 1/256 packet per window; at most 2^32 pps, 1000 ms. */
static inline u64 estimator_units(u64 rate_pps, u32 window_ms)
{
	return div_u64((rate_pps * window_ms) << ESTIMATOR_FRACTION_BITS, 1000);
}

/* cliff1 = (1 - e) * cliff, cliff2 = (1 + e) * cliff */
static inline void estimator_configure(struct estimator *e, u32 cliff_pps,
				       u32 epsilon_permille, u32 window_ms)
{
	u64 cliff = estimator_units(cliff_pps, window_ms);
	u64 margin = div_u64(cliff * epsilon_permille, 1000);

	e->cliff1 = cliff - margin;
	e->cliff2 = cliff + margin;
}

/* Starts the first window; @arrived as for estimator_window(). */
static inline void estimator_start(struct estimator *e, u32 arrived)
{
	e->average = 0;
	e->arrived = arrived;
	e->uncounted = 0;
	e->off = 0;
	e->above = false;
}

/* The average in packets per second, for display. */
static inline u64 estimator_rate_pps(const struct estimator *e, u32 window_ms)
{
	return div_u64(e->average * 1000, window_ms) >> ESTIMATOR_FRACTION_BITS;
}

/* Ends a window without a count: the next one has the packets of both. */
static inline void estimator_no_count(struct estimator *e)
{
	e->uncounted++;
}

/* Ends a window. @arrived: total packets received and dropped, modulo 2^32; @others: what
 * the processor receives on other queues, in the unit of the average. Returns true if the
 * scheme changes.
 */
static inline bool estimator_window(struct estimator *e, u32 arrived, u64 others)
{
	u32 packets = arrived - e->arrived;
	u64 load, distance, sample = (u64)packets << ESTIMATOR_FRACTION_BITS;
	bool far;
	int side;

	if (e->uncounted) {
		sample = div_u64(sample, e->uncounted + 1);
		e->uncounted = 0;
	}
	side = sample > e->average ? 1 : -1;
	distance = side > 0 ? sample - e->average : e->average - sample;
	far = distance > e->average >> ESTIMATOR_STEP_SHIFT;
	if (far && e->off == side)
		e->average = sample;
	else if (side > 0)
		e->average += distance >> ESTIMATOR_GAIN_SHIFT;
	else
		e->average -= distance >> ESTIMATOR_GAIN_SHIFT;
	e->off = far ? side : 0;
	e->arrived = arrived;

	load = e->average + others;
	if (e->above ? load < e->cliff1 : load > e->cliff2) {
		e->above = !e->above;
		return true;
	}
	return false;
}

#endif /* IRQMOD_ESTIMATOR_H */

// SPDX-License-Identifier: GPL-2.0-only
/* Unit test of ../estimator.h in user space: prints TAP. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef uint32_t u32;
typedef uint64_t u64;

static u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

#include "../estimator.h"

#define CLIFF	60000u
#define EPSILON	150u
#define WINDOW	8u

static int tests, failures;

static void ok(bool good, const char *what)
{
	tests++;
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", tests, what);
}

static struct estimator fresh(u32 cliff_pps, u32 epsilon, u32 window_ms)
{
	struct estimator e = { 0 };

	estimator_configure(&e, cliff_pps, epsilon, window_ms);
	return e;
}

/* A window with @packets arrivals; true: a switch. */
static bool window(struct estimator *e, u32 packets)
{
	return estimator_window(e, e->arrived + packets, 0);
}

/* @windows windows at a constant rate; returns the number of switches. */
static int run(struct estimator *e, u32 rate_pps, int windows)
{
	int switches = 0;

	while (windows--)
		switches += window(e, rate_pps * WINDOW / 1000);
	return switches;
}

static void test_converges(void)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);
	u64 rate;

	run(&e, 40000, 40);
	rate = estimator_rate_pps(&e, WINDOW);
	ok(rate >= 39900 && rate <= 40000, "a constant rate is found to 0.25 %");
	run(&e, 0, 80);
	ok(estimator_rate_pps(&e, WINDOW) < 100, "silence is found");
}

/* The largest error of the estimate, in permille, at a constant rate whose
 * packets are not spread evenly over the windows.
 */
static u32 worst_permille(u32 rate_pps)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);
	u32 worst = 0;
	u64 i;

	for (i = 1; i <= 1000; i++) {
		u64 estimate, off;

		estimator_window(&e, rate_pps * i * WINDOW / 1000, 0);
		estimate = estimator_rate_pps(&e, WINDOW);
		off = estimate > rate_pps ? estimate - rate_pps
					  : rate_pps - estimate;
		if (i > 20 && off * 1000 / rate_pps > worst)
			worst = off * 1000 / rate_pps;
	}
	return worst;
}

static void test_constant_rates(void)
{
	u32 rate, at = 0, worst = 0;

	for (rate = 1000; rate < 200000; rate += 1 + rate / 300) {
		u32 off = worst_permille(rate);

		if (off > worst) {
			worst = off;
			at = rate;
		}
	}
	printf("# at worst %u permille off, at %u pps\n", worst, at);
	ok(worst < 30, "every constant rate from 1000 pps on is found to 3 %");
}

/* A step that begins anywhere in a window: how many windows have ended when the
 * scheme switches.
 */
static int windows_after_step(u32 rate_pps, u32 phase_percent)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);
	u32 packets = rate_pps * WINDOW / 1000;
	int windows = 1;

	if (window(&e, packets * (100 - phase_percent) / 100))
		return windows;
	do {
		windows++;
	} while (!window(&e, packets) && windows < 100);
	return windows;
}

static void test_agile(void)
{
	u32 tenths, phase;
	int late = 0;

	for (tenths = 12; tenths <= 40; tenths++)
		for (phase = 0; phase < 100; phase++)
			late += windows_after_step(CLIFF / 10 * tenths, phase) > 2;
	ok(!late, "after a step from 0 to 1.2 to 4 times the cliff, the scheme switches when the second window ends");
}

/* The average moves by a quarter of the difference, or by all of it after the
 * second large difference in a row.
 */
static void test_gains(void)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);
	u64 one = 1 << ESTIMATOR_FRACTION_BITS;

	e.average = 100 * one;
	window(&e, 120);
	ok(e.average == 105 * one, "20 % more: a quarter of the difference");
	window(&e, 205);
	ok(e.average == 130 * one, "95 % more, once: a quarter of the difference");
	window(&e, 30);
	ok(e.average == 105 * one, "... then 77 % less: a quarter of the difference");
	window(&e, 105);
	window(&e, 25);
	ok(e.average == 85 * one, "76 % less, after a window without difference: a quarter");
	window(&e, 25);
	ok(e.average == 25 * one, "... and again: the average restarts");
}

/* Frames that the NIC drops because the ring is full count as well. */
static void test_dropped(void)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);
	u32 taken = UINT32_MAX - 1000, dropped = UINT32_MAX - 5000;
	int i, switches = 0;

	estimator_start(&e, taken + dropped);
	for (i = 0; i < 50; i++) {
		taken += 40000 * WINDOW / 1000;
		dropped += 200000 * WINDOW / 1000;
		switches += estimator_window(&e, taken + dropped, 0);
	}
	ok(estimator_rate_pps(&e, WINDOW) == 240000,
	   "taken and dropped frames are counted, also beyond 2^32");
	ok(switches == 1 && e.above, "... and NAPI stays active, although the taken frames alone are below the cliff");
	estimator_start(&e, taken + dropped);
	ok(!e.above && !e.average, "a start resets the estimator");
	ok(!window(&e, 0) && !e.average, "... and earlier frames do not count");
}

static void test_thresholds(void)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);

	ok(e.cliff1 == estimator_units(51000, WINDOW), "cliff1 = (1 - e) cliff");
	ok(e.cliff2 == estimator_units(69000, WINDOW), "cliff2 = (1 + e) cliff");
	ok(run(&e, 68000, 100) == 0, "below cliff2: DE stays");
	ok(run(&e, 70000, 100) == 1 && e.above, "above cliff2: NAPI, once");
	ok(run(&e, 52000, 100) == 0, "between the thresholds: NAPI stays");
	ok(run(&e, 50000, 100) == 1 && !e.above, "below cliff1: DE, once");
	ok(run(&e, 60000, 100) == 0, "between the thresholds: DE stays");
}

/* A load that fluctuates by 40 % around the cliff from window to window. */
static int switches_with(u32 epsilon)
{
	struct estimator e = fresh(CLIFF, epsilon, WINDOW);
	u32 state = 1;
	int i, switches = 0;

	for (i = 0; i < 1000; i++) {
		state = state * 1664525u + 1013904223u;
		switches += window(&e, (36000 + state / 89478u) * WINDOW / 1000);
	}
	return switches;
}

static void test_hysteresis(void)
{
	int none = switches_with(0), some = switches_with(150);

	printf("# switches in 1000 windows: %d with e = 0, %d with e = 0.15\n",
	       none, some);
	ok(some < none / 3, "epsilon 0.15 reduces switches at a fluctuating load");
}

/* Bursts of 10 ms at twice the cliff, 10 ms apart: the mean is at the cliff. */
static void test_bursts(void)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);
	u64 count = 0, ms;
	int switches = 0;

	for (ms = 1; ms <= 4000; ms++) {
		count += ms % 20 < 10 ? 2 * CLIFF / 1000 : 0;
		if (ms % WINDOW == 0)
			switches += estimator_window(&e, count, 0);
	}
	printf("# switches in 200 bursts: %d\n", switches);
	ok(switches < 10, "bursts slightly longer than a window are averaged");
}

/* Some windows, or two in a row, end without a count: the chip was busy, or late. */
static void test_uncounted(void)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);
	u32 arrived = 0, packets = 55000 * WINDOW / 1000;
	int i, switches = 0;
	u64 rate, least = UINT64_MAX;

	e.above = true;
	e.average = estimator_units(55000, WINDOW);
	for (i = 1; i <= 100; i++) {
		arrived += packets;
		if (i % 10 == 0 || i % 10 == 1) {
			estimator_no_count(&e);
			continue;
		}
		switches += estimator_window(&e, arrived, 0);
		rate = estimator_rate_pps(&e, WINDOW);
		least = rate < least ? rate : least;
	}
	ok(switches == 0 && e.above, "windows without a count cause no switch near the cliff");
	ok(least > 54900, "... and do not lower the estimate");
	estimator_no_count(&e);
	estimator_start(&e, arrived);
	window(&e, 400);
	ok(e.average == 100 << ESTIMATOR_FRACTION_BITS, "... and a start forgets them");
}

/* Two queues of a processor, each below the cliff. */
static void test_others(void)
{
	struct estimator one = fresh(CLIFF, EPSILON, WINDOW);
	struct estimator two = fresh(CLIFF, EPSILON, WINDOW);
	u32 packets = 40000 * WINDOW / 1000;
	int i;

	for (i = 0; i < 100; i++) {
		estimator_window(&one, one.arrived + packets, two.average);
		estimator_window(&two, two.arrived + packets, one.average);
	}
	ok(one.above && two.above, "two queues, together above the cliff: NAPI on both");
	ok(estimator_rate_pps(&one, WINDOW) <= 40000, "... and each estimates its own load");
	for (i = 0; i < 100; i++)
		estimator_window(&one, one.arrived + packets, 0);
	ok(!one.above, "... the other one is quiet: DE");
}

static void test_extremes(void)
{
	struct estimator e = fresh(100000000u, 999, 1000);

	ok(e.cliff2 > e.cliff1, "the largest settings do not overflow");
	run(&e, 0, 1);
	window(&e, UINT32_MAX);
	ok(e.average > 0, "a window of 2^32 - 1 packets does not overflow");
	e = fresh(1, 0, 1);
	window(&e, 1);
	ok(e.above, "one packet a window is above a cliff of 1 pps");
}

int main(void)
{
	test_converges();
	test_constant_rates();
	test_gains();
	test_agile();
	test_dropped();
	test_thresholds();
	test_hysteresis();
	test_bursts();
	test_uncounted();
	test_others();
	test_extremes();
	printf("1..%d\n", tests);
	return failures != 0;
}

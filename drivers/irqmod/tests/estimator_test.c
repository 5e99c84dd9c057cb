// SPDX-License-Identifier: GPL-2.0-only
/* Unit test of ../estimator.h in user space: prints TAP. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef uint32_t u32;
typedef uint64_t u64;

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

/* So many windows at a constant rate; returns the number of switches. */
static int run(struct estimator *e, u32 rate_pps, int windows)
{
	int switches = 0;

	while (windows--)
		switches += estimator_window(e, rate_pps * WINDOW / 1000);
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

static void test_agile(void)
{
	struct estimator e = fresh(CLIFF, EPSILON, WINDOW);
	int windows = 0;

	while (!estimator_window(&e, 140000 * WINDOW / 1000))
		windows++;
	ok(windows < 4, "an overload is answered within 4 windows (32 ms)");
	ok(e.above, "... with NAPI");
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

/* A load that fluctuates by 40 % around the cliff, window by window. */
static int switches_with(u32 epsilon)
{
	struct estimator e = fresh(CLIFF, epsilon, WINDOW);
	u32 state = 1;
	int i, switches = 0;

	for (i = 0; i < 1000; i++) {
		state = state * 1664525u + 1013904223u;
		switches += estimator_window(&e, (36000 + state / 89478u) *
						 WINDOW / 1000);
	}
	return switches;
}

static void test_hysteresis(void)
{
	int none = switches_with(0), some = switches_with(150);

	printf("# switches in 1000 windows: %d with e = 0, %d with e = 0.15\n",
	       none, some);
	ok(some < none / 4, "epsilon 0.15 saves switches at a fluctuating load");
}

static void test_extremes(void)
{
	struct estimator e = fresh(100000000u, 999, 1000);

	ok(e.cliff2 > e.cliff1, "the largest settings do not overflow");
	run(&e, 0, 1);
	estimator_window(&e, UINT32_MAX);
	ok(e.average > 0, "a window of 2^32 - 1 packets does not overflow");
	e = fresh(1, 0, 1);
	estimator_window(&e, 1);
	ok(e.above, "one packet a window is above a cliff of 1 pps");
}

int main(void)
{
	test_converges();
	test_agile();
	test_thresholds();
	test_hysteresis();
	test_extremes();
	printf("1..%d\n", tests);
	return failures != 0;
}

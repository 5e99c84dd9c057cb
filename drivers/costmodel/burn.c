// SPDX-License-Identifier: GPL-2.0-only
/* Burns time, exact on average.
 *
 * On a clock that counts instructions, every pass of a loop of two instructions
 * takes the same time. Remainders below one loop pass carry over to the next
 * charge, and so does the time of the probe itself. The total of all charges is
 * therefore exact to one loop pass, as long as each exceeds the probe's time.
 */
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>
#include <asm/msr.h>

#include "costmodel.h"
#include "../compat.h"

#define LONG_ROUNDS	100000
#define CALLS		64
#define ROUNDS_A_CALL	100

DECLARE_TRACE_EVENT(irqlab_cost_measure,
		    TP_PROTO(unsigned long first, void *second),
		    TP_ARGS(first, second));
DEFINE_TRACE(irqlab_cost_measure,
	     TP_PROTO(unsigned long first, void *second),
	     TP_ARGS(first, second));

static DEFINE_PER_CPU(s64, owed_ps);
static s32 round_ps;

static int round_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", round_ps);
}

static const struct kernel_param_ops round_ops = { .get = round_get };
module_param_cb(round_ps, &round_ops, NULL, 0444);
MODULE_PARM_DESC(round_ps, "Measured time of one pass of the delay loop, in ps");

static __always_inline void burn(unsigned long rounds)
{
	asm volatile("1:	dec %0\n"
		     "	jnz 1b\n" : "+r" (rounds) : : "cc");
}

void cost_charge(const struct cost_site *site, s64 ps)
{
	unsigned long flags;
	s64 rounds = 0;
	s64 owed;
	s32 rest;

	/* Do not lose the charge of an interrupt between read and write. */
	local_irq_save(flags);
	owed = __this_cpu_read(owed_ps) + ps - site->overhead_ps;
	if (owed > 0) {
		rounds = div_s64_rem(owed, round_ps, &rest);
		owed = rest;
	}
	__this_cpu_write(owed_ps, owed);
	local_irq_restore(flags);
	if (rounds)
		burn(rounds);
}

int cost_measure_round(void)
{
	unsigned long flags;
	u64 began, took_ns;

	local_irq_save(flags);
	began = ktime_get_raw_fast_ns();
	burn(LONG_ROUNDS);
	took_ns = ktime_get_raw_fast_ns() - began;
	local_irq_restore(flags);
	round_ps = DIV_ROUND_CLOSEST_ULL(took_ns * 1000, LONG_ROUNDS);
	/* An instruction takes a whole number of ns; round off the clock's error. */
	round_ps = DIV_ROUND_CLOSEST(round_ps, 1000) * 1000;
	return round_ps ? 0 : -EOPNOTSUPP;
}

/* Time of the calls, in ticks of the time stamp counter. */
static noinline u64 call(unsigned long first, void *second)
{
	u64 began = rdtsc();
	int i;

	for (i = 0; i < CALLS; i++)
		trace_irqlab_cost_measure(first, second);
	return rdtsc() - began;
}

static noinline u64 ticks_of_long_burn(void)
{
	u64 began = rdtsc();

	burn(LONG_ROUNDS);
	return rdtsc() - began;
}

int cost_measure_site(struct cost_site *site, unsigned long first,
		      void *second)
{
	u64 detached, attached, burning;
	unsigned long flags;
	s64 spent_ps;
	int err;

	/* Without a cost, a negative overhead makes all calls burn the same time. */
	site->overhead_ps = -(s64)ROUNDS_A_CALL * round_ps;
	local_irq_save(flags);
	__this_cpu_write(owed_ps, 0);
	burning = ticks_of_long_burn();
	detached = call(first, second);
	local_irq_restore(flags);

	err = tracepoint_probe_register(&__tracepoint_irqlab_cost_measure,
					site->probe, site);
	if (err)
		return err;
	local_irq_save(flags);
	attached = call(first, second);
	__this_cpu_write(owed_ps, 0);
	local_irq_restore(flags);
	tracepoint_probe_unregister(&__tracepoint_irqlab_cost_measure,
				    site->probe, site);
	tracepoint_synchronize_unregister();

	if (attached <= detached || !burning)
		return -EOPNOTSUPP;
	spent_ps = div64_u64((attached - detached) * LONG_ROUNDS, burning);
	spent_ps = div_s64(spent_ps * round_ps, CALLS);
	site->overhead_ps += spent_ps;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Moderates the interrupts of an xHCI USB host controller.
 *
 * An xHCI has a register for this (IMOD, section 5.5.2.2 of the specification,
 * revision 1.2). Linux sets it to one interrupt in 40 us, and QEMU ignores it.
 * Here each interrupt disables the line, and a timer enables it again. For one
 * controller with one line, as in the lab.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "../compat.h"

static unsigned long interval_ns = 40000;
module_param(interval_ns, ulong, 0444);
MODULE_PARM_DESC(interval_ns, "Minimum time between two interrupts in ns");

static struct tracepoint *handled;
static struct hrtimer timer;
static unsigned int line;
static bool disabled;

static enum hrtimer_restart interval_over(struct hrtimer *unused)
{
	/* Read first: the next interrupt may overwrite it. */
	unsigned int irq = line;

	/* Release: pairs with the acquire of probe_handled(). */
	smp_store_release(&disabled, false);
	enable_irq(irq);
	return HRTIMER_NORESTART;
}

/* At the end of a handler, in hard IRQ. */
static void probe_handled(void *unused, int irq, struct irqaction *action,
			  int ret)
{
	if (!action->name || strcmp(action->name, "xhci_hcd"))
		return;
	/* Acquire: pairs with interval_over(). The line has one handler at a
	 * time, so nobody else sets it.
	 */
	if (smp_load_acquire(&disabled))
		return;
	line = irq;
	WRITE_ONCE(disabled, true);
	disable_irq_nosync(irq);
	hrtimer_start(&timer, ns_to_ktime(interval_ns), HRTIMER_MODE_REL_HARD);
}

static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "irq_handler_exit"))
		handled = tp;
}

static int __init xhci_imod_init(void)
{
	if (!interval_ns || interval_ns > NSEC_PER_MSEC) {
		pr_err("interval_ns must be from 1 to %lu\n", NSEC_PER_MSEC);
		return -EINVAL;
	}
	for_each_kernel_tracepoint(find_tracepoint, NULL);
	if (!handled) {
		pr_err("no tracepoint irq_handler_exit\n");
		return -ENOENT;
	}
	hrtimer_setup(&timer, interval_over, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_HARD);
	return tracepoint_probe_register(handled, probe_handled, NULL);
}

static void __exit xhci_imod_exit(void)
{
	tracepoint_probe_unregister(handled, probe_handled, NULL);
	/* Waits for probes that run; none starts the timer after it. */
	tracepoint_synchronize_unregister();
	if (hrtimer_cancel(&timer))
		interval_over(&timer);
}

module_init(xhci_imod_init);
module_exit(xhci_imod_exit);

MODULE_DESCRIPTION("Interrupt moderation of an xHCI, which QEMU does not emulate");
MODULE_LICENSE("GPL");

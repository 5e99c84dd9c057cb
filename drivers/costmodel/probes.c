// SPDX-License-Identifier: GPL-2.0-only
/* Hardware costs that an instruction clock does not account for.
 *
 * Probes on the kernel's own tracepoints charge them for any driver:
 *
 *	irq		entry of a device's interrupt handler. Timers are
 *			recognised by IRQF_TIMER; the local APIC's interrupts
 *			do not pass this tracepoint
 *	byte		byte of a frame without FCS, when its driver hands it to
 *			the stack, and again when the stack hands it to a driver
 *	netif_rx	frame queued on the backlog
 *	free		freed buffer
 *	free_irq	in addition to free, if an interrupt handler deferred it
 *			(dev_kfree_skb_irq()), so that NET_TX frees it
 *	softirq		run of NET_RX or NET_TX
 *
 * The parameters NAME_ps, in picoseconds, are writable at any time. A probe is
 * attached only while a cost that needs it is not 0. `events` shows the number
 * of events charged.
 */
#include <linux/if_ether.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/skbuff.h>
#include <linux/string.h>

#include "costmodel.h"

enum cost_term { IRQ, BYTE, NETIF_RX, FREE, FREE_IRQ, SOFTIRQ, TERMS };

#define MAX_PS		1000000000ul	/* 1 ms */
#define MAX_BYTE_PS	1000000ul	/* 1 us */

static const char * const term_names[TERMS] = {
	"irq", "byte", "netif_rx", "free", "free_irq", "softirq"
};

static unsigned long cost_ps[TERMS];
static bool count;
static bool ready;
static DEFINE_MUTEX(attach_lock);
static DEFINE_PER_CPU(u64 [TERMS], events);
static DEFINE_PER_CPU(unsigned int, softirq_vec);

static s64 worth(enum cost_term term, unsigned int quantity)
{
	this_cpu_add(events[term], quantity);
	return (s64)READ_ONCE(cost_ps[term]) * quantity;
}

static void probe_irq(void *site, int irq, struct irqaction *action)
{
	cost_charge(site, action->flags & __IRQF_TIMER ? 0 : worth(IRQ, 1));
}

static void probe_rx(void *site, struct sk_buff *skb)
{
	cost_charge(site, worth(BYTE, skb->len + ETH_HLEN));
}

static void probe_netif_rx(void *site, struct sk_buff *skb)
{
	cost_charge(site, worth(BYTE, skb->len + ETH_HLEN) +
			  worth(NETIF_RX, 1));
}

static void probe_xmit(void *site, struct sk_buff *skb)
{
	cost_charge(site, worth(BYTE, skb->len));
}

static void probe_free(void *site, struct sk_buff *skb)
{
	s64 ps = worth(FREE, 1);

	/* in_serving_softirq() holds in an interrupt that hit NET_TX, too:
	 * that frees the frames for which the backlog has no room.
	 */
	if (in_serving_softirq() && !in_hardirq() &&
	    this_cpu_read(softirq_vec) == NET_TX_SOFTIRQ)
		ps += worth(FREE_IRQ, 1);
	cost_charge(site, ps);
}

static void probe_softirq(void *site, unsigned int vec)
{
	this_cpu_write(softirq_vec, vec);
	cost_charge(site, vec == NET_RX_SOFTIRQ || vec == NET_TX_SOFTIRQ ?
			  worth(SOFTIRQ, 1) : 0);
}

static struct cost_site sites[] = {
	{ "irq_handler_entry", probe_irq, BIT(IRQ) },
	{ "netif_rx_entry", probe_netif_rx, BIT(BYTE) | BIT(NETIF_RX) },
	{ "netif_receive_skb_entry", probe_rx, BIT(BYTE) },
	{ "netif_receive_skb_list_entry", probe_rx, BIT(BYTE) },
	{ "napi_gro_receive_entry", probe_rx, BIT(BYTE) },
	{ "napi_gro_frags_entry", probe_rx, BIT(BYTE) },
	{ "net_dev_start_xmit", probe_xmit, BIT(BYTE) },
	{ "consume_skb", probe_free, BIT(FREE) | BIT(FREE_IRQ) },
	{ "kfree_skb", probe_free, BIT(FREE) | BIT(FREE_IRQ) },
	{ "softirq_entry", probe_softirq, BIT(SOFTIRQ) | BIT(FREE_IRQ) },
};

/* Attaches the probes that are needed, and detaches all others. */
static int update(void)
{
	unsigned int wanted = 0;
	bool detached = false;
	int i, err = 0;

	lockdep_assert_held(&attach_lock);
	for (i = 0; i < TERMS; i++)
		if (count || cost_ps[i])
			wanted |= BIT(i);
	for (i = 0; i < ARRAY_SIZE(sites); i++) {
		struct cost_site *site = &sites[i];
		bool want = site->terms & wanted;

		if (want == site->attached)
			continue;
		if (want) {
			err = tracepoint_probe_register(site->tp, site->probe,
							site);
			if (err)
				break;
		} else {
			tracepoint_probe_unregister(site->tp, site->probe,
						    site);
			detached = true;
		}
		site->attached = want;
	}
	if (detached)
		tracepoint_synchronize_unregister();
	return err;
}

static int set_cost(const char *text, const struct kernel_param *kp)
{
	unsigned long *cost = kp->arg;
	unsigned long value, before;
	int err;

	err = kstrtoul(text, 0, &value);
	if (err)
		return err;
	if (value > (cost == &cost_ps[BYTE] ? MAX_BYTE_PS : MAX_PS))
		return -ERANGE;
	mutex_lock(&attach_lock);
	before = *cost;
	WRITE_ONCE(*cost, value);
	err = ready ? update() : 0;
	if (err)
		WRITE_ONCE(*cost, before);
	mutex_unlock(&attach_lock);
	return err;
}

static int set_count(const char *text, const struct kernel_param *kp)
{
	bool value;
	int err;

	err = kstrtobool(text, &value);
	if (err)
		return err;
	mutex_lock(&attach_lock);
	count = value;
	err = ready ? update() : 0;
	mutex_unlock(&attach_lock);
	return err;
}

static int get_events(char *buffer, const struct kernel_param *kp)
{
	int i, cpu, len = 0;

	for (i = 0; i < TERMS; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu(events, cpu)[i]);
		len += sysfs_emit_at(buffer, len, "%s %llu\n", term_names[i],
				     sum);
	}
	return len;
}

static const struct kernel_param_ops cost_ops = {
	.set = set_cost, .get = param_get_ulong
};

static const struct kernel_param_ops count_ops = {
	.set = set_count, .get = param_get_bool
};

static const struct kernel_param_ops events_ops = { .get = get_events };

#define COST_PARAM(name, term, text)					\
	module_param_cb(name##_ps, &cost_ops, &cost_ps[term], 0644);	\
	__MODULE_PARM_TYPE(name##_ps, "ulong");				\
	MODULE_PARM_DESC(name##_ps, "Cost of " text ", in ps")

COST_PARAM(irq, IRQ, "a device interrupt");
COST_PARAM(byte, BYTE, "a received byte, and of a sent byte");
COST_PARAM(netif_rx, NETIF_RX, "a frame queued on the backlog");
COST_PARAM(free, FREE, "a freed buffer");
COST_PARAM(free_irq, FREE_IRQ, "a buffer deferred by an interrupt handler");
COST_PARAM(softirq, SOFTIRQ, "a run of NET_RX or NET_TX");
module_param_cb(count, &count_ops, &count, 0644);
MODULE_PARM_DESC(count, "Count all events, also those without cost");
module_param_cb(events, &events_ops, NULL, 0444);
MODULE_PARM_DESC(events, "Events counted");

static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sites); i++)
		if (!strcmp(tp->name, sites[i].tracepoint))
			sites[i].tp = tp;
}

/* Measures every probe with arguments of its tracepoint's types. */
static int measure_sites(void)
{
	static struct irqaction action;
	struct sk_buff *skb;
	int i, err = 0;

	skb = alloc_skb(ETH_ZLEN, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	skb_put(skb, ETH_ZLEN);
	for (i = 0; i < ARRAY_SIZE(sites) && !err; i++) {
		struct cost_site *site = &sites[i];

		if (site->probe == probe_irq)
			err = cost_measure_site(site, 0, &action);
		else if (site->probe == probe_softirq)
			err = cost_measure_site(site, NET_RX_SOFTIRQ, NULL);
		else
			err = cost_measure_site(site, (unsigned long)skb, NULL);
	}
	kfree_skb(skb);
	return err;
}

static void detach_all(void)
{
	mutex_lock(&attach_lock);
	memset(cost_ps, 0, sizeof(cost_ps));
	count = false;
	update();
	mutex_unlock(&attach_lock);
}

static int __init costmodel_init(void)
{
	int i, err;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(sites); i++) {
		if (!sites[i].tp) {
			pr_err("no tracepoint %s\n", sites[i].tracepoint);
			return -ENOENT;
		}
	}
	err = cost_measure_round();
	if (!err)
		err = measure_sites();
	if (err)
		return err;
	for_each_possible_cpu(i)
		memset(per_cpu(events, i), 0, sizeof(events));

	mutex_lock(&attach_lock);
	ready = true;
	err = update();
	mutex_unlock(&attach_lock);
	if (err)
		detach_all();
	return err;
}

static void __exit costmodel_exit(void)
{
	detach_all();
}

module_init(costmodel_init);
module_exit(costmodel_exit);

MODULE_DESCRIPTION("Charges virtual time for costs that an instruction clock ignores");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The NIC's own counters: frames received, and frames dropped. On command the
 * NIC writes its counters to memory, resets them to 0, and, some microseconds
 * later, writes a completion mark after them.
 */
#include <linux/delay.h>
#include <linux/io.h>

#include "i8255x.h"

#define DUMP_WAIT_US	20

/* Adds the requested dump if it is complete; true: none is in progress. */
static bool counters_collect(struct i8255x *np)
{
	struct i8255x_counters *c = np->counters;
	u32 missed;

	if (!np->counters_asked)
		return true;
	if (READ_ONCE(c->done) != cpu_to_le32(COUNTERS_DONE))
		return false;
	/* Read the mark before the counters. */
	dma_rmb();
	missed = le32_to_cpu(c->rx_resource) + le32_to_cpu(c->rx_overrun);
	np->rx_missed += missed;
	WRITE_ONCE(np->rx_arrived,
		   np->rx_arrived + missed + le32_to_cpu(c->rx_good));
	np->counters_asked = false;
	return true;
}

static void counters_ask(struct i8255x *np)
{
	if (np->counters_asked)
		return;
	np->counters->done = 0;
	/* Clear the mark before the NIC may write it. */
	dma_wmb();
	np->counters_asked = i8255x_try_command(np, CU_DUMP_RESET);
}

static void counters_now(struct i8255x *np)
{
	int i;

	if (!np->counters_on)
		return;
	counters_collect(np);
	counters_ask(np);
	for (i = 0; i < DUMP_WAIT_US && !counters_collect(np); i++)
		udelay(1);
}

/* Called after a reset, which clears the NIC's copy of the address. */
int i8255x_counters_start(struct i8255x *np)
{
	unsigned long flags;
	int err;

	err = i8255x_command(np, CU_LOAD_DUMP, np->counters_dma);
	if (err)
		return err;
	spin_lock_irqsave(&np->counters_lock, flags);
	np->counters_asked = false;
	np->counters_on = true;
	spin_unlock_irqrestore(&np->counters_lock, flags);
	return 0;
}

/* Called before a reset, which clears the counters. */
void i8255x_counters_stop(struct i8255x *np)
{
	unsigned long flags;

	spin_lock_irqsave(&np->counters_lock, flags);
	counters_now(np);
	np->counters_on = false;
	spin_unlock_irqrestore(&np->counters_lock, flags);
}

void i8255x_rx_count(struct irqmod_port *port)
{
	struct i8255x *np = to_i8255x(port);
	unsigned long flags;

	/* The holder of the lock requests a dump itself. */
	if (!spin_trylock_irqsave(&np->counters_lock, flags))
		return;
	if (np->counters_on) {
		counters_collect(np);
		counters_ask(np);
	}
	spin_unlock_irqrestore(&np->counters_lock, flags);
}

u32 i8255x_rx_arrived(struct irqmod_port *port)
{
	struct i8255x *np = to_i8255x(port);
	unsigned long flags;

	if (spin_trylock_irqsave(&np->counters_lock, flags)) {
		counters_collect(np);
		spin_unlock_irqrestore(&np->counters_lock, flags);
	}
	return READ_ONCE(np->rx_arrived);
}

void i8255x_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats)
{
	struct i8255x *np = netdev_priv(netdev);
	unsigned long flags;

	irqmod_get_stats64(netdev, stats);
	spin_lock_irqsave(&np->counters_lock, flags);
	counters_now(np);
	stats->rx_missed_errors = np->rx_missed;
	spin_unlock_irqrestore(&np->counters_lock, flags);
}

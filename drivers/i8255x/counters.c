// SPDX-License-Identifier: GPL-2.0-only
/*
 * The NIC's own counters. On command the NIC writes them to memory, resets them to
 * 0, and, some microseconds later, writes a completion mark after them. They are
 * added up here, before each reset of the chip, too.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/iopoll.h>

#include "i8255x.h"

#define DUMP_WAIT_US	20
#define DUMP_SLEEP_US	(10 * USEC_PER_MSEC)

static const char i8255x_counter_names[COUNTERS][ETH_GSTRING_LEN] = {
	[COUNT_TX_GOOD]			= "hw_tx_good",
	[COUNT_TX_MAX_COLLISIONS]	= "hw_tx_max_collisions",
	[COUNT_TX_LATE_COLLISIONS]	= "hw_tx_late_collisions",
	[COUNT_TX_UNDERRUNS]		= "hw_tx_underruns",
	[COUNT_TX_LOST_CARRIER]		= "hw_tx_lost_carrier",
	[COUNT_TX_DEFERRED]		= "hw_tx_deferred",
	[COUNT_TX_SINGLE_COLLISIONS]	= "hw_tx_single_collisions",
	[COUNT_TX_MULTIPLE_COLLISIONS]	= "hw_tx_multiple_collisions",
	[COUNT_TX_TOTAL_COLLISIONS]	= "hw_tx_total_collisions",
	[COUNT_RX_GOOD]			= "hw_rx_good",
	[COUNT_RX_CRC]			= "hw_rx_crc_errors",
	[COUNT_RX_ALIGNMENT]		= "hw_rx_alignment_errors",
	[COUNT_RX_RESOURCE]		= "hw_rx_resource_errors",
	[COUNT_RX_OVERRUN]		= "hw_rx_overrun_errors",
	[COUNT_RX_CDT]			= "hw_rx_collision_errors",
	[COUNT_RX_SHORT]		= "hw_rx_short_frames",
	[COUNT_TX_PAUSE]		= "hw_tx_pause",
	[COUNT_RX_PAUSE]		= "hw_rx_pause",
	[COUNT_RX_CONTROL]		= "hw_rx_control_unsupported",
	[COUNT_TX_TCO]			= "hw_tx_tco",
	[COUNT_RX_TCO]			= "hw_rx_tco",
};

/* QEMU's models have the standard ones. */
void i8255x_counters_init(struct i8255x *np)
{
	np->counter_words = WORDS_STANDARD;
	if (np->chip >= I82558 && !i8255x_is_qemu(np))
		np->counter_words = np->chip >= I82559 ? WORDS_TCO : WORDS_PAUSE;
	np->port.stat_names = i8255x_counter_names;
	np->port.stat_count = np->counter_words == WORDS_TCO ? COUNTERS
							     : np->counter_words;
}

/* Adds the requested dump if it is complete; true: none is in progress. */
static bool i8255x_counters_collect(struct i8255x *np)
{
	const struct i8255x_counters *c = &np->shared->counters;
	unsigned int words = np->counter_words;
	u32 arrived = np->rx_arrived;
	int i;

	if (!np->counters_asked)
		return true;
	if (READ_ONCE(c->count[words]) != cpu_to_le32(COUNTERS_DONE))
		return false;
	/* Read the mark before the counters. */
	dma_rmb();
	for (i = 0; i < min_t(unsigned int, words, WORDS_PAUSE); i++)
		np->counters[i] += le32_to_cpu(c->count[i]);
	if (words == WORDS_TCO) {
		np->counters[COUNT_TX_TCO] += le32_to_cpu(c->count[i]) & 0xffff;
		np->counters[COUNT_RX_TCO] += le32_to_cpu(c->count[i]) >> 16;
	}
	arrived += le32_to_cpu(c->count[COUNT_RX_GOOD]) +
		   le32_to_cpu(c->count[COUNT_RX_RESOURCE]) +
		   le32_to_cpu(c->count[COUNT_RX_OVERRUN]);
	WRITE_ONCE(np->rx_arrived, arrived);
	np->counters_asked = false;
	return true;
}

static void i8255x_counters_ask(struct i8255x *np)
{
	if (np->counters_asked)
		return;
	np->shared->counters.count[np->counter_words] = 0;
	/* Clear the mark before the NIC may write it. */
	dma_wmb();
	np->counters_asked = i8255x_try_command(np, CU_DUMP_RESET);
}

/* Requests a dump at the first call (*@asked); true when that dump, or a later one,
 * has been added up.
 */
static bool i8255x_counters_complete(struct i8255x *np, bool *asked)
{
	unsigned long flags;
	bool complete;

	spin_lock_irqsave(&np->counters_lock, flags);
	complete = !np->counters_on;
	if (!complete && i8255x_counters_collect(np)) {
		complete = *asked;
		if (!complete) {
			i8255x_counters_ask(np);
			*asked = np->counters_asked;
		}
	}
	spin_unlock_irqrestore(&np->counters_lock, flags);
	return complete;
}

/* All counters up to now, unless the NIC takes longer than 10 ms. Sleeps. */
static void i8255x_counters_wait(struct i8255x *np)
{
	bool complete, asked = false;

	read_poll_timeout(i8255x_counters_complete, complete, complete, 10,
			  DUMP_SLEEP_US, false, np, &asked);
}

/* Called after a reset, which clears the NIC's copy of the address, and makes the
 * format the standard one.
 */
int i8255x_counters_start(struct i8255x *np)
{
	unsigned long flags;
	int err;

	if (np->counter_words > WORDS_STANDARD) {
		i8255x_config(np, np->shared->block.cb.config);
		err = i8255x_execute(np, CB_CONFIGURE);
		if (err)
			return err;
	}
	err = i8255x_command_wait(np, CU_LOAD_DUMP,
				  i8255x_shared_dma(np, counters));
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

	i8255x_counters_wait(np);
	spin_lock_irqsave(&np->counters_lock, flags);
	np->counters_on = false;
	spin_unlock_irqrestore(&np->counters_lock, flags);
}

/* False if no dump can be requested now: an earlier one is in progress, the command
 * word is not free, or another CPU is at the counters.
 */
bool i8255x_rx_count(struct irqmod_queue *queue)
{
	struct i8255x *np = to_i8255x(queue);
	bool asked = false;
	unsigned long flags;

	if (!spin_trylock_irqsave(&np->counters_lock, flags))
		return false;
	if (np->counters_on && i8255x_counters_collect(np)) {
		i8255x_counters_ask(np);
		asked = np->counters_asked;
	}
	spin_unlock_irqrestore(&np->counters_lock, flags);
	return asked;
}

/* False if the dump that i8255x_rx_count() requested is not complete. */
bool i8255x_rx_arrived(struct irqmod_queue *queue, u32 *arrived)
{
	struct i8255x *np = to_i8255x(queue);
	unsigned long flags;
	bool complete;

	if (!spin_trylock_irqsave(&np->counters_lock, flags))
		return false;
	complete = i8255x_counters_collect(np);
	*arrived = np->rx_arrived;
	spin_unlock_irqrestore(&np->counters_lock, flags);
	return complete;
}

/* All counters. Process context. */
void i8255x_get_own_stats(struct irqmod_port *port, u64 *data)
{
	struct i8255x *np = i8255x_of(port);
	unsigned long flags;

	i8255x_counters_wait(np);
	spin_lock_irqsave(&np->counters_lock, flags);
	memcpy(data, np->counters, np->port.stat_count * sizeof(*np->counters));
	spin_unlock_irqrestore(&np->counters_lock, flags);
}

void i8255x_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats)
{
	struct i8255x *np = netdev_priv(netdev);
	bool asked = false;
	unsigned long flags;
	u64 c[COUNTERS];
	int i;

	irqmod_get_stats64(netdev, stats);
	/* Up to now, unless the NIC takes longer than it should. Interrupts stay
	 * enabled, and a dump that another reader has requested will do.
	 */
	for (i = 0; i < DUMP_WAIT_US && !i8255x_counters_complete(np, &asked); i++)
		udelay(1);
	spin_lock_irqsave(&np->counters_lock, flags);
	memcpy(c, np->counters, sizeof(c));
	spin_unlock_irqrestore(&np->counters_lock, flags);
	stats->rx_missed_errors = c[COUNT_RX_RESOURCE] + c[COUNT_RX_OVERRUN];
	stats->rx_fifo_errors = c[COUNT_RX_OVERRUN];
	stats->rx_crc_errors = c[COUNT_RX_CRC];
	stats->rx_frame_errors = c[COUNT_RX_ALIGNMENT];
	stats->rx_length_errors = c[COUNT_RX_SHORT];
	stats->rx_errors += c[COUNT_RX_CRC] + c[COUNT_RX_ALIGNMENT] +
			    c[COUNT_RX_CDT] + c[COUNT_RX_SHORT];
	stats->collisions = c[COUNT_TX_TOTAL_COLLISIONS];
	stats->tx_aborted_errors = c[COUNT_TX_MAX_COLLISIONS];
	stats->tx_window_errors = c[COUNT_TX_LATE_COLLISIONS];
	stats->tx_carrier_errors = c[COUNT_TX_LOST_CARRIER];
	stats->tx_fifo_errors = c[COUNT_TX_UNDERRUNS];
	stats->tx_errors += c[COUNT_TX_MAX_COLLISIONS] +
			    c[COUNT_TX_LATE_COLLISIONS] +
			    c[COUNT_TX_LOST_CARRIER];
}

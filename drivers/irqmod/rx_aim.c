// SPDX-License-Identifier: GPL-2.0-only
/*
 * NAPI with the chip's own moderation. The time between two interrupts follows the
 * traffic, as in e1000e's and igb's "dynamic conservative" mode: what came with the last
 * interrupt says whether the traffic is a bulk transfer (4,000 interrupts a second),
 * moderate (20,000), or waits for each frame (70,000). The time grows by a quarter of
 * its goal with each interrupt, and shrinks at once.
 */
#include "napi.h"

enum aim_class {
	AIM_LATENCY,
	AIM_MODERATE,
	AIM_BULK,
};

static const unsigned int aim_usecs[] = {
	[AIM_LATENCY] = 14,
	[AIM_MODERATE] = 50,
	[AIM_BULK] = 250,
};

/* A direction, up to the last interrupt. */
struct aim_traffic {
	enum aim_class class;
	u64 packets;
	u64 bytes;
};

struct irqmod_aim {
	struct aim_traffic rx;
	struct aim_traffic tx;
	unsigned int usecs;		/* the chip has these */
};

/* The class of the traffic of which an interrupt brought so much. */
static enum aim_class aim_classify(enum aim_class class, u64 packets, u64 bytes)
{
	bool segments = bytes > 8000 * packets;		/* merged, or to be cut */

	switch (class) {
	case AIM_LATENCY:
		if (segments)
			return AIM_BULK;
		return packets < 5 && bytes > 512 ? AIM_MODERATE : AIM_LATENCY;
	case AIM_MODERATE:
		if (bytes > 10000) {
			if (segments || packets < 10 || bytes > 1200 * packets)
				return AIM_BULK;
			return packets > 35 ? AIM_LATENCY : AIM_MODERATE;
		}
		if (bytes > 2000 * packets)
			return AIM_BULK;
		return packets <= 2 && bytes < 512 ? AIM_LATENCY : AIM_MODERATE;
	case AIM_BULK:
		if (bytes > 25000)
			return packets > 35 ? AIM_MODERATE : AIM_BULK;
		return bytes < 6000 ? AIM_MODERATE : AIM_BULK;
	}
	return class;
}

/* Whether there was any. Both totals are written in the context that polls, unless a
 * transmit scheme reclaims elsewhere: then a reclaim counts for this interrupt or the
 * next.
 */
static bool aim_look(struct aim_traffic *traffic, u64 packets, u64 bytes)
{
	u64 more = packets - traffic->packets;

	if (more)
		traffic->class = aim_classify(traffic->class, more,
					      bytes - traffic->bytes);
	traffic->packets = packets;
	traffic->bytes = bytes;
	return more;
}

static bool aim_look_rx(struct irqmod_queue *queue, struct irqmod_aim *aim)
{
	return aim_look(&aim->rx, u64_stats_read(&queue->rx_stats.packets),
			u64_stats_read(&queue->rx_stats.bytes));
}

static bool aim_look_tx(struct irqmod_queue *queue, struct irqmod_aim *aim)
{
	return aim_look(&aim->tx, u64_stats_read(&queue->tx_stats.packets),
			u64_stats_read(&queue->tx_stats.bytes));
}

/* Before RX is unmasked: what the last interrupt brought determines the time. The
 * direction that can wait longer decides. Completions without a frame wait longest:
 * nobody waits for them.
 */
static void aim_adapt(struct irqmod_queue *queue, struct irqmod_aim *aim)
{
	bool received = aim_look_rx(queue, aim), sent = aim_look_tx(queue, aim);
	enum aim_class class = max(aim->rx.class, aim->tx.class);
	unsigned int goal, usecs;

	if (!received && !sent)
		return;
	goal = aim_usecs[received ? class : AIM_BULK];
	usecs = min(goal, aim->usecs + goal / 4);
	if (usecs == aim->usecs)
		return;
	aim->usecs = usecs;
	irqmod_moderate(queue, usecs, usecs);
}

static int rx_aim_poll(struct irqmod_queue *queue, int budget)
{
	int done = irqmod_napi_pass(queue, budget);

	if (done < budget)
		aim_adapt(queue, queue->rx_state);
	return irqmod_napi_end(queue, done, budget);
}

static bool rx_aim_start(struct irqmod_queue *queue)
{
	struct irqmod_aim *aim = queue->rx_state;

	aim->usecs = aim_usecs[AIM_LATENCY];
	aim_look_rx(queue, aim);
	aim_look_tx(queue, aim);
	aim->rx.class = AIM_LATENCY;
	aim->tx.class = AIM_LATENCY;
	irqmod_moderate(queue, aim->usecs, aim->usecs);
	irqmod_napi_start(queue);
	return false;
}

/* The engine has waited for the poll. */
static void rx_aim_stop(struct irqmod_queue *queue)
{
	irqmod_moderate(queue, 0, 0);
}

IRQMOD_RX_SCHEME(aim) = {
	.base = {
		.name = "aim",
		.needs = IRQMOD_CAP_MASK | IRQMOD_CAP_MODERATION,
		.preference = 3,
		.state_size = sizeof(struct irqmod_aim),
	},
	.masks = true,
	.adaptive = true,
	.start = rx_aim_start,
	.stop = rx_aim_stop,
	.irq = irqmod_napi_schedule,
	.poll = rx_aim_poll,
};

// SPDX-License-Identifier: GPL-2.0-only
/* ethtool -C and -S, and ndo_get_stats64, common to all drivers. */
#include "device.h"
#include "scheme.h"

#define WIRE_FRAME_BITS	672	/* the shortest, with preamble and gap */

/* How long a received frame may wait: the user's setting, or the time in which
 * frames at line rate fill half the ring. The other half holds the frames that
 * arrive while the softirq runs or when a timer is late.
 */
unsigned int irqmod_rx_usecs(const struct irqmod_queue *queue)
{
	const struct irqmod_port *port = queue->port;

	return queue->rx_usecs ?:
	       clamp(port->rx_ring / 2 * WIRE_FRAME_BITS / port->wire_mbps,
		     (unsigned int)IRQMOD_USECS_MIN,
		     (unsigned int)IRQMOD_USECS_MAX);
}

/* The chip's moderation, if it has one: so long between interrupts. Completions wait no longer
 * than a full transmit ring of the shortest frames lasts: the wire must not be idle meanwhile.
 */
void irqmod_moderate(struct irqmod_queue *queue, unsigned int rx_usecs,
		     unsigned int tx_usecs)
{
	const struct irqmod_port *port = queue->port;
	unsigned int lasts = port->tx_ring * WIRE_FRAME_BITS / port->wire_mbps;

	if (irqmod_can(port, IRQMOD_CAP_MODERATION))
		queue->ops->moderate(queue, rx_usecs, min(tx_usecs, lasts));
}

/* Whether rx-usecs has an effect: the scheme has a period, or a USB chip collects frames. */
static bool rx_waits(const struct irqmod_port *port)
{
	return port->rx->period || (port->caps & IRQMOD_CAP_TRANSFERS);
}

static unsigned int shown_rx_usecs(const struct irqmod_queue *queue)
{
	return rx_waits(queue->port) ? irqmod_rx_usecs(queue) : 0;
}

static void get_coalesce(const struct irqmod_queue *queue, struct ethtool_coalesce *ec)
{
	ec->use_adaptive_rx_coalesce = queue->port->rx->adaptive;
	ec->rx_coalesce_usecs = shown_rx_usecs(queue);
	ec->tx_coalesce_usecs = queue->tx_usecs;
	ec->tx_max_coalesced_frames = irqmod_tx_frames(queue);
}

int irqmod_get_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack)
{
	get_coalesce(irqmod_port(netdev)->queues, ec);
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_get_coalesce);

static struct irqmod_queue *queue_at(struct net_device *netdev, u32 index)
{
	struct irqmod_queue *queue;

	irqmod_for_each_queue(queue, irqmod_port(netdev))
		if (queue->index == index)
			return queue;
	return NULL;
}

int irqmod_get_per_queue_coalesce(struct net_device *netdev, u32 index,
				  struct ethtool_coalesce *ec)
{
	const struct irqmod_queue *queue = queue_at(netdev, index);

	if (!queue)
		return -EINVAL;
	get_coalesce(queue, ec);
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_get_per_queue_coalesce);

/* adaptive-rx chooses a scheme that adapts its interrupts, off one that does not. */
static int set_adaptive(struct irqmod_port *port, bool adaptive,
			struct netlink_ext_ack *extack)
{
	const struct irqmod_rx_scheme *scheme;

	if (port->rx->adaptive == adaptive)
		return 0;
	scheme = irqmod_rx_preferred(port, adaptive);
	if (scheme)
		return irqmod_set_rx_scheme(port, scheme);
	NL_SET_ERR_MSG_MOD(extack, "adaptive-rx: not with this kernel or hardware");
	return -EOPNOTSUPP;
}

static bool usecs_valid(unsigned int usecs)
{
	return usecs >= IRQMOD_USECS_MIN && usecs <= IRQMOD_USECS_MAX;
}

static bool rx_usecs_asked(const struct irqmod_queue *queue,
			   const struct ethtool_coalesce *ec)
{
	return ec->rx_coalesce_usecs != shown_rx_usecs(queue);
}

/* Of the settings for a queue. */
static int check_coalesce(const struct irqmod_queue *queue,
			  const struct ethtool_coalesce *ec,
			  struct netlink_ext_ack *extack)
{
	if ((rx_usecs_asked(queue, ec) && !usecs_valid(ec->rx_coalesce_usecs)) ||
	    !usecs_valid(ec->tx_coalesce_usecs)) {
		NL_SET_ERR_MSG_MOD(extack, "rx-usecs and tx-usecs: 10 to 100000");
		return -EINVAL;
	}
	if (ec->tx_max_coalesced_frames != irqmod_tx_frames(queue) &&
	    (!ec->tx_max_coalesced_frames ||
	     ec->tx_max_coalesced_frames > queue->port->tx_ring / 2)) {
		NL_SET_ERR_MSG_MOD(extack, "tx-frames: 1 to half the TX ring");
		return -EINVAL;
	}
	return 0;
}

static void set_coalesce(struct irqmod_queue *queue, bool rx_set,
			 const struct ethtool_coalesce *ec)
{
	const struct irqmod_port *port = queue->port;

	/* An unchanged value keeps following the ring size if it did so before. */
	if (rx_set)
		queue->rx_usecs = ec->rx_coalesce_usecs;
	if (ec->tx_max_coalesced_frames != irqmod_tx_frames(queue))
		queue->tx_frames = ec->tx_max_coalesced_frames;
	queue->tx_usecs = ec->tx_coalesce_usecs;
	if (!port->up || !port->tx->changed)
		return;
	__netif_tx_lock_bh(queue->txq);
	port->tx->changed(queue);
	__netif_tx_unlock_bh(queue->txq);
}

/* Sets all queues. An error: nothing has changed. */
int irqmod_set_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack)
{
	struct irqmod_port *port = irqmod_port(netdev);
	bool rx_set = rx_usecs_asked(port->queues, ec);
	struct irqmod_queue *queue;
	int err;

	err = check_coalesce(port->queues, ec, extack) ?:
	      set_adaptive(port, ec->use_adaptive_rx_coalesce, extack);
	if (err)
		return err;
	if (rx_set && !rx_waits(port))
		NL_SET_ERR_MSG_MOD(extack, "rx-usecs: kept; this rx_scheme has no period");
	irqmod_for_each_queue(queue, port) {
		/* What the others had for themselves does not stay. */
		queue->rx_usecs = port->queues->rx_usecs;
		set_coalesce(queue, rx_set, ec);
	}
	irqmod_rx_changed(port);
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_set_coalesce);

/* adaptive-rx is a setting of the port. An error: nothing has changed. */
int irqmod_set_per_queue_coalesce(struct net_device *netdev, u32 index,
				  struct ethtool_coalesce *ec)
{
	struct irqmod_queue *queue = queue_at(netdev, index);
	int err = queue ? check_coalesce(queue, ec, NULL) : -EINVAL;

	if (err)
		return err;
	if (ec->use_adaptive_rx_coalesce != queue->port->rx->adaptive)
		return -EOPNOTSUPP;
	set_coalesce(queue, rx_usecs_asked(queue, ec), ec);
	irqmod_rx_changed(queue->port);
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_set_per_queue_coalesce);

/* Those of the port, and those that only each of several queues has: for the port the
 * kernel tells them.
 */
enum irqmod_stat {
	RX_INTERRUPTS,
	TX_INTERRUPTS,
	RX_POLLS,
	RX_POLLS_DONE,
	RX_NO_BUFFER,
	RX_BACKLOG_DROPS,
	TX_RECLAIMS_XMIT,
	TX_RECLAIMS_RX,
	TX_RECLAIMS_TIMER,
	TX_RECLAIMS_IRQ,
	PORT_STATS,
	RX_PACKETS = PORT_STATS,
	RX_BYTES,
	RX_ERRORS,
	TX_PACKETS,
	TX_BYTES,
	TX_ERRORS,
	STATS
};

static const char irqmod_stats[STATS][ETH_GSTRING_LEN] = {
	[RX_INTERRUPTS] = "rx_interrupts",
	[TX_INTERRUPTS] = "tx_interrupts",
	[RX_POLLS] = "rx_polls",
	[RX_POLLS_DONE] = "rx_polls_done",
	[RX_NO_BUFFER] = "rx_no_buffer",
	[RX_BACKLOG_DROPS] = "rx_backlog_drops",
	[TX_RECLAIMS_XMIT] = "tx_reclaims_xmit",
	[TX_RECLAIMS_RX] = "tx_reclaims_rx",
	[TX_RECLAIMS_TIMER] = "tx_reclaims_timer",
	[TX_RECLAIMS_IRQ] = "tx_reclaims_irq",
	[RX_PACKETS] = "rx_packets",
	[RX_BYTES] = "rx_bytes",
	[RX_ERRORS] = "rx_errors",
	[TX_PACKETS] = "tx_packets",
	[TX_BYTES] = "tx_bytes",
	[TX_ERRORS] = "tx_errors",
};

int irqmod_get_sset_count(struct net_device *netdev, int sset)
{
	const struct irqmod_port *port = irqmod_port(netdev);

	if (sset != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return PORT_STATS + port->stat_count +
	       (port->queue_count > 1 ? port->queue_count * STATS : 0);
}
EXPORT_SYMBOL_GPL(irqmod_get_sset_count);

void irqmod_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	const struct irqmod_port *port = irqmod_port(netdev);
	unsigned int i, q;

	if (sset != ETH_SS_STATS)
		return;
	memcpy(data, irqmod_stats, PORT_STATS * ETH_GSTRING_LEN);
	data += PORT_STATS * ETH_GSTRING_LEN;
	memcpy(data, port->stat_names, port->stat_count * ETH_GSTRING_LEN);
	data += port->stat_count * ETH_GSTRING_LEN;
	for (q = 0; port->queue_count > 1 && q < port->queue_count; q++)
		for (i = 0; i < STATS; i++)
			ethtool_sprintf(&data, "queue%u_%s", q, irqmod_stats[i]);
}
EXPORT_SYMBOL_GPL(irqmod_get_strings);

static u64 interrupts(const struct irqmod_irq_stats *stats)
{
	unsigned int start;
	u64 count;

	do {
		start = u64_stats_fetch_begin(&stats->syncp);
		count = u64_stats_read(&stats->causes);
	} while (u64_stats_fetch_retry(&stats->syncp, start));
	return count;
}

static void queue_stats(const struct irqmod_queue *queue, u64 *data)
{
	const struct irqmod_rx_stats *rx = &queue->rx_stats;
	const struct irqmod_tx_stats *tx = &queue->tx_stats;
	unsigned int start;

	data[RX_INTERRUPTS] = interrupts(&queue->rx_irq_stats);
	data[TX_INTERRUPTS] = interrupts(&queue->tx_irq_stats);
	do {
		start = u64_stats_fetch_begin(&rx->syncp);
		data[RX_PACKETS] = u64_stats_read(&rx->packets);
		data[RX_BYTES] = u64_stats_read(&rx->bytes);
		data[RX_POLLS] = u64_stats_read(&rx->polls);
		data[RX_POLLS_DONE] = u64_stats_read(&rx->polls_done);
		data[RX_NO_BUFFER] = u64_stats_read(&rx->no_buffer);
		data[RX_ERRORS] = u64_stats_read(&rx->errors);
		data[RX_BACKLOG_DROPS] = u64_stats_read(&rx->backlog_drops);
	} while (u64_stats_fetch_retry(&rx->syncp, start));
	do {
		start = u64_stats_fetch_begin(&tx->syncp);
		data[TX_PACKETS] = u64_stats_read(&tx->packets);
		data[TX_BYTES] = u64_stats_read(&tx->bytes);
		data[TX_ERRORS] = u64_stats_read(&tx->errors);
		data[TX_RECLAIMS_XMIT] = u64_stats_read(&tx->reclaims_xmit);
		data[TX_RECLAIMS_RX] = u64_stats_read(&tx->reclaims_rx);
		data[TX_RECLAIMS_TIMER] = u64_stats_read(&tx->reclaims_timer);
		data[TX_RECLAIMS_IRQ] = u64_stats_read(&tx->reclaims_irq);
	} while (u64_stats_fetch_retry(&tx->syncp, start));
}

/* The sums of all queues, the chip's own, and those of each queue if there are several. */
void irqmod_get_ethtool_stats(struct net_device *netdev,
			      struct ethtool_stats *stats, u64 *data)
{
	struct irqmod_port *port = irqmod_port(netdev);
	u64 one[STATS], *each = data + PORT_STATS + port->stat_count;
	const struct irqmod_queue *queue;
	int i;

	memset(data, 0, (PORT_STATS + port->stat_count) * sizeof(*data));
	if (port->stat_count)
		port->device->get_stats(port, data + PORT_STATS);
	irqmod_for_each_queue(queue, port) {
		queue_stats(queue, one);
		for (i = 0; i < PORT_STATS; i++)
			data[i] += one[i];
		if (port->queue_count > 1) {
			memcpy(each, one, sizeof(one));
			each += STATS;
		}
	}
}
EXPORT_SYMBOL_GPL(irqmod_get_ethtool_stats);

/* The sums of all queues; the driver may add its own. */
void irqmod_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats)
{
	const struct irqmod_port *port = irqmod_port(netdev);
	const struct irqmod_queue *queue;
	u64 one[STATS];

	irqmod_for_each_queue(queue, port) {
		queue_stats(queue, one);
		stats->rx_packets += one[RX_PACKETS];
		stats->rx_bytes += one[RX_BYTES];
		stats->rx_dropped += one[RX_NO_BUFFER];
		stats->rx_errors += one[RX_ERRORS];
		stats->tx_packets += one[TX_PACKETS];
		stats->tx_bytes += one[TX_BYTES];
		stats->tx_errors += one[TX_ERRORS];
	}
}
EXPORT_SYMBOL_GPL(irqmod_get_stats64);

static void add_rx_stats(const u64 *one, struct netdev_queue_stats_rx *stats)
{
	stats->packets += one[RX_PACKETS];
	stats->bytes += one[RX_BYTES];
	stats->alloc_fail += one[RX_NO_BUFFER];
}

static void add_tx_stats(const u64 *one, struct netdev_queue_stats_tx *stats)
{
	stats->packets += one[TX_PACKETS];
	stats->bytes += one[TX_BYTES];
}

/* Of one queue, or, with -1, of those that are not used at present. */
static void netdev_stats(struct net_device *netdev, int index,
			 struct netdev_queue_stats_rx *rx,
			 struct netdev_queue_stats_tx *tx)
{
	const struct irqmod_port *port = irqmod_port(netdev);
	const struct irqmod_queue *queue;
	u64 one[STATS];

	if (rx) {
		rx->packets = 0;
		rx->bytes = 0;
		rx->alloc_fail = 0;
	}
	if (tx) {
		tx->packets = 0;
		tx->bytes = 0;
	}
	irqmod_for_each_queue(queue, port) {
		if (index < 0 ? queue->index < port->queues_used
			      : queue->index != index)
			continue;
		queue_stats(queue, one);
		if (rx)
			add_rx_stats(one, rx);
		if (tx)
			add_tx_stats(one, tx);
	}
}

static void netdev_rx_stats(struct net_device *netdev, int index,
			    struct netdev_queue_stats_rx *stats)
{
	netdev_stats(netdev, index, stats, NULL);
}

static void netdev_tx_stats(struct net_device *netdev, int index,
			    struct netdev_queue_stats_tx *stats)
{
	netdev_stats(netdev, index, NULL, stats);
}

static void netdev_base_stats(struct net_device *netdev,
			      struct netdev_queue_stats_rx *rx,
			      struct netdev_queue_stats_tx *tx)
{
	netdev_stats(netdev, -1, rx, tx);
}

/* What the kernel tells of each queue over netlink (netdev, qstats-get). */
const struct netdev_stat_ops irqmod_stat_ops = {
	.get_queue_stats_rx = netdev_rx_stats,
	.get_queue_stats_tx = netdev_tx_stats,
	.get_base_stats = netdev_base_stats,
};

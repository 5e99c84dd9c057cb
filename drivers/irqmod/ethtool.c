// SPDX-License-Identifier: GPL-2.0-only
/* ethtool -C and -S, and ndo_get_stats64, common to all drivers. */
#include "scheme.h"

#define WIRE_FRAME_BITS	672	/* the shortest, with preamble and gap */

/* How long a received frame may wait: the user's setting, or the time in which
 * frames at line rate fill half the ring. The other half holds the frames that
 * arrive while the softirq runs or when a timer is late.
 */
unsigned int irqmod_rx_usecs(const struct irqmod_port *port)
{
	return port->rx_usecs ?:
	       clamp(port->rx_ring / 2 * WIRE_FRAME_BITS / port->wire_mbps,
		     (unsigned int)IRQMOD_USECS_MIN,
		     (unsigned int)IRQMOD_USECS_MAX);
}

int irqmod_get_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack)
{
	struct irqmod_port *port = irqmod_port(netdev);

	ec->rx_coalesce_usecs = irqmod_rx_usecs(port);
	ec->tx_coalesce_usecs = port->tx_usecs;
	ec->tx_max_coalesced_frames = port->tx_frames;
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_get_coalesce);

int irqmod_set_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack)
{
	struct irqmod_port *port = irqmod_port(netdev);

	if (ec->rx_coalesce_usecs < IRQMOD_USECS_MIN ||
	    ec->rx_coalesce_usecs > IRQMOD_USECS_MAX ||
	    ec->tx_coalesce_usecs < IRQMOD_USECS_MIN ||
	    ec->tx_coalesce_usecs > IRQMOD_USECS_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "rx-usecs and tx-usecs: 10 to 100000");
		return -EINVAL;
	}
	if (!ec->tx_max_coalesced_frames ||
	    ec->tx_max_coalesced_frames > port->tx_ring / 2) {
		NL_SET_ERR_MSG_MOD(extack, "tx-frames: 1 to half the TX ring");
		return -EINVAL;
	}
	/* An unchanged value keeps following the ring size if it did so before. */
	if (ec->rx_coalesce_usecs != irqmod_rx_usecs(port))
		port->rx_usecs = ec->rx_coalesce_usecs;
	irqmod_rx_changed(port);
	port->tx_usecs = ec->tx_coalesce_usecs;
	netif_tx_lock_bh(netdev);
	port->tx_frames = ec->tx_max_coalesced_frames;
	if (port->up && port->tx->changed)
		port->tx->changed(port);
	netif_tx_unlock_bh(netdev);
	return 0;
}
EXPORT_SYMBOL_GPL(irqmod_set_coalesce);

static const char irqmod_stats[][ETH_GSTRING_LEN] = {
	"rx_interrupts", "tx_interrupts", "rx_switches",
	"rx_packets", "rx_bytes", "rx_polls", "rx_polls_done",
	"rx_no_buffer", "rx_errors", "rx_backlog_drops",
	"tx_packets", "tx_bytes", "tx_errors", "tx_reclaims_xmit",
	"tx_reclaims_rx", "tx_reclaims_timer", "tx_reclaims_irq",
};

int irqmod_get_sset_count(struct net_device *netdev, int sset)
{
	return sset == ETH_SS_STATS ? ARRAY_SIZE(irqmod_stats) : -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(irqmod_get_sset_count);

void irqmod_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	if (sset == ETH_SS_STATS)
		memcpy(data, irqmod_stats, sizeof(irqmod_stats));
}
EXPORT_SYMBOL_GPL(irqmod_get_strings);

void irqmod_get_ethtool_stats(struct net_device *netdev,
			      struct ethtool_stats *stats, u64 *data)
{
	struct irqmod_port *port = irqmod_port(netdev);
	const struct irqmod_irq_stats *irq = &port->irq_stats;
	const struct irqmod_rx_stats *rx = &port->rx_stats;
	const struct irqmod_tx_stats *tx = &port->tx_stats;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&irq->syncp);
		data[0] = u64_stats_read(&irq->rx);
		data[1] = u64_stats_read(&irq->tx);
	} while (u64_stats_fetch_retry(&irq->syncp, start));
	data[2] = READ_ONCE(port->rx_switches);
	do {
		start = u64_stats_fetch_begin(&rx->syncp);
		data[3] = u64_stats_read(&rx->packets);
		data[4] = u64_stats_read(&rx->bytes);
		data[5] = u64_stats_read(&rx->polls);
		data[6] = u64_stats_read(&rx->polls_done);
		data[7] = u64_stats_read(&rx->no_buffer);
		data[8] = u64_stats_read(&rx->errors);
		data[9] = u64_stats_read(&rx->backlog_drops);
	} while (u64_stats_fetch_retry(&rx->syncp, start));
	do {
		start = u64_stats_fetch_begin(&tx->syncp);
		data[10] = u64_stats_read(&tx->packets);
		data[11] = u64_stats_read(&tx->bytes);
		data[12] = u64_stats_read(&tx->errors);
		data[13] = u64_stats_read(&tx->reclaims_xmit);
		data[14] = u64_stats_read(&tx->reclaims_rx);
		data[15] = u64_stats_read(&tx->reclaims_timer);
		data[16] = u64_stats_read(&tx->reclaims_irq);
	} while (u64_stats_fetch_retry(&tx->syncp, start));
}
EXPORT_SYMBOL_GPL(irqmod_get_ethtool_stats);

void irqmod_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats)
{
	struct irqmod_port *port = irqmod_port(netdev);
	const struct irqmod_rx_stats *rx = &port->rx_stats;
	const struct irqmod_tx_stats *tx = &port->tx_stats;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&rx->syncp);
		stats->rx_packets = u64_stats_read(&rx->packets);
		stats->rx_bytes = u64_stats_read(&rx->bytes);
		stats->rx_dropped = u64_stats_read(&rx->no_buffer);
		stats->rx_errors = u64_stats_read(&rx->errors);
	} while (u64_stats_fetch_retry(&rx->syncp, start));
	do {
		start = u64_stats_fetch_begin(&tx->syncp);
		stats->tx_packets = u64_stats_read(&tx->packets);
		stats->tx_bytes = u64_stats_read(&tx->bytes);
		stats->tx_errors = u64_stats_read(&tx->errors);
	} while (u64_stats_fetch_retry(&tx->syncp, start));
}
EXPORT_SYMBOL_GPL(irqmod_get_stats64);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chip's counters. They wrap at 20 or 32 bits and are read often enough to
 * detect that. The driver's own counters are in irqmod.
 */
#include <linux/ethtool.h>

#include "lan78xx.h"

/* At 1 Gbit/s 2^20 of the shortest frames take 0.7 s. */
#define PERIOD		(HZ / 2)

/* Indices of lan78xx_counter_names[]. */
enum {
	RX_FCS_ERRORS		= 0,
	RX_ALIGNMENT_ERRORS	= 1,
	RX_FRAGMENTS		= 2,
	RX_JABBERS		= 3,
	RX_UNDERSIZE_ERRORS	= 4,
	RX_OVERSIZE_ERRORS	= 5,
	RX_DROPPED		= 6,
	RX_UNICAST		= 10,
	RX_BROADCAST		= 11,
	RX_MULTICAST		= 12,
	RX_PAUSE		= 13,
	RX_SIZES		= 14,
	TX_EXCESS_DEFERRALS	= 24,
	TX_CARRIER_ERRORS	= 25,
	TX_SINGLE_COLLISIONS	= 27,
	TX_MULTIPLE_COLLISIONS	= 28,
	TX_EXCESSIVE_COLLISIONS	= 29,
	TX_LATE_COLLISIONS	= 30,
	TX_UNICAST		= 34,
	TX_BROADCAST		= 35,
	TX_MULTICAST		= 36,
	TX_PAUSE		= 37,
	TX_SIZES		= 38,
	SIZES			= 7,
};

const char lan78xx_counter_names[LAN78XX_COUNTERS][ETH_GSTRING_LEN] = {
	"hw_rx_fcs_errors", "hw_rx_alignment_errors", "hw_rx_fragment_errors",
	"hw_rx_jabber_errors", "hw_rx_undersize_errors",
	"hw_rx_oversize_errors", "hw_rx_dropped", "hw_rx_unicast_bytes",
	"hw_rx_broadcast_bytes", "hw_rx_multicast_bytes",
	"hw_rx_unicast_frames", "hw_rx_broadcast_frames",
	"hw_rx_multicast_frames", "hw_rx_pause_frames", "hw_rx_64_bytes",
	"hw_rx_65_127_bytes", "hw_rx_128_255_bytes", "hw_rx_256_511_bytes",
	"hw_rx_512_1023_bytes", "hw_rx_1024_1518_bytes",
	"hw_rx_1519_max_bytes", "hw_rx_lpi_transitions", "hw_rx_lpi_time",
	"hw_tx_fcs_errors", "hw_tx_excess_deferrals", "hw_tx_carrier_errors",
	"hw_tx_bad_bytes", "hw_tx_single_collisions",
	"hw_tx_multiple_collisions", "hw_tx_excessive_collisions",
	"hw_tx_late_collisions", "hw_tx_unicast_bytes",
	"hw_tx_broadcast_bytes", "hw_tx_multicast_bytes",
	"hw_tx_unicast_frames", "hw_tx_broadcast_frames",
	"hw_tx_multicast_frames", "hw_tx_pause_frames", "hw_tx_64_bytes",
	"hw_tx_65_127_bytes", "hw_tx_128_255_bytes", "hw_tx_256_511_bytes",
	"hw_tx_512_1023_bytes", "hw_tx_1024_1518_bytes",
	"hw_tx_1519_max_bytes", "hw_tx_lpi_transitions", "hw_tx_lpi_time",
};

/* Bytes and low-power counters have 32 bits, all others 20. */
static u32 lan78xx_counter_width(unsigned int n)
{
	switch (n) {
	case 7 ... 9:
	case 21 ... 22:
	case 31 ... 33:
	case 45 ... 46:
		return U32_MAX;
	default:
		return GENMASK(19, 0);
	}
}

/* Reads the counters. @add: adds the increase; not after a reset. The chip's counters
 * are 0 then, which is assumed if they cannot be read.
 */
static void lan78xx_read_counters(struct lan78xx *np, bool add)
{
	__le32 now[LAN78XX_COUNTERS];
	unsigned long flags;
	unsigned int i;

	mutex_lock(&np->stats_lock);
	if (lan78xx_read_stats(np, now)) {
		if (!add)
			memset(np->raw, 0, sizeof(np->raw));
		goto unlock;
	}
	flags = u64_stats_update_begin_irqsave(&np->counters_sync);
	for (i = 0; i < LAN78XX_COUNTERS; i++) {
		u32 value = le32_to_cpu(now[i]);

		if (add)
			u64_stats_add(&np->counters[i],
				      (value - np->raw[i]) &
					      lan78xx_counter_width(i));
		np->raw[i] = value;
	}
	u64_stats_update_end_irqrestore(&np->counters_sync, flags);
unlock:
	mutex_unlock(&np->stats_lock);
}

static void lan78xx_stats_work(struct work_struct *work)
{
	struct lan78xx *np = container_of(work, struct lan78xx,
					  stats_work.work);

	lan78xx_read_counters(np, true);
	schedule_delayed_work(&np->stats_work, PERIOD);
}

void lan78xx_stats_init(struct lan78xx *np)
{
	mutex_init(&np->stats_lock);
	u64_stats_init(&np->counters_sync);
	INIT_DELAYED_WORK(&np->stats_work, lan78xx_stats_work);
}

/* Called after a chip reset. */
void lan78xx_stats_reset(struct lan78xx *np)
{
	lan78xx_read_counters(np, false);
}

void lan78xx_stats_start(struct lan78xx *np)
{
	schedule_delayed_work(&np->stats_work, PERIOD);
}

void lan78xx_stats_stop(struct lan78xx *np)
{
	cancel_delayed_work_sync(&np->stats_work);
	lan78xx_read_counters(np, true);
}

void lan78xx_get_stats64(struct net_device *netdev,
			 struct rtnl_link_stats64 *stats)
{
	struct lan78xx *np = netdev_priv(netdev);
	u64 crc, length, missed, carrier;
	unsigned int start;

	irqmod_get_stats64(netdev, stats);
	do {
		start = u64_stats_fetch_begin(&np->counters_sync);
		crc = u64_stats_read(&np->counters[RX_FCS_ERRORS]);
		length = u64_stats_read(&np->counters[RX_UNDERSIZE_ERRORS]) +
			 u64_stats_read(&np->counters[RX_OVERSIZE_ERRORS]);
		missed = u64_stats_read(&np->counters[RX_DROPPED]);
		carrier = u64_stats_read(&np->counters[TX_CARRIER_ERRORS]);
	} while (u64_stats_fetch_retry(&np->counters_sync, start));
	stats->rx_crc_errors = crc;
	stats->rx_length_errors = length;
	stats->rx_errors += crc + length;
	stats->rx_missed_errors = missed;
	stats->tx_carrier_errors = carrier;
	stats->tx_errors += carrier;
}

/* The counters up to now. RTNL. */
void lan78xx_get_own_stats(struct irqmod_port *port, u64 *data)
{
	struct lan78xx *np = netdev_priv(port->netdev);
	unsigned int start;
	int i;

	if (READ_ONCE(np->started))
		lan78xx_read_counters(np, true);
	do {
		start = u64_stats_fetch_begin(&np->counters_sync);
		for (i = 0; i < LAN78XX_COUNTERS; i++)
			data[i] = u64_stats_read(&np->counters[i]);
	} while (u64_stats_fetch_retry(&np->counters_sync, start));
}

void lan78xx_get_pause_stats(struct net_device *netdev,
			     struct ethtool_pause_stats *stats)
{
	u64 c[LAN78XX_COUNTERS];

	lan78xx_get_own_stats(irqmod_port(netdev), c);
	stats->tx_pause_frames = c[TX_PAUSE];
	stats->rx_pause_frames = c[RX_PAUSE];
}

void lan78xx_get_eth_mac_stats(struct net_device *netdev,
			       struct ethtool_eth_mac_stats *stats)
{
	u64 c[LAN78XX_COUNTERS];

	lan78xx_get_own_stats(irqmod_port(netdev), c);
	stats->FramesTransmittedOK = c[TX_UNICAST] + c[TX_BROADCAST] +
				     c[TX_MULTICAST];
	stats->SingleCollisionFrames = c[TX_SINGLE_COLLISIONS];
	stats->MultipleCollisionFrames = c[TX_MULTIPLE_COLLISIONS];
	stats->FramesReceivedOK = c[RX_UNICAST] + c[RX_BROADCAST] +
				  c[RX_MULTICAST];
	stats->FrameCheckSequenceErrors = c[RX_FCS_ERRORS];
	stats->AlignmentErrors = c[RX_ALIGNMENT_ERRORS];
	stats->LateCollisions = c[TX_LATE_COLLISIONS];
	stats->FramesAbortedDueToXSColls = c[TX_EXCESSIVE_COLLISIONS];
	stats->CarrierSenseErrors = c[TX_CARRIER_ERRORS];
	stats->FramesLostDueToIntMACRcvError = c[RX_DROPPED];
	stats->MulticastFramesXmittedOK = c[TX_MULTICAST];
	stats->BroadcastFramesXmittedOK = c[TX_BROADCAST];
	stats->FramesWithExcessiveDeferral = c[TX_EXCESS_DEFERRALS];
	stats->MulticastFramesReceivedOK = c[RX_MULTICAST];
	stats->BroadcastFramesReceivedOK = c[RX_BROADCAST];
	stats->FrameTooLongErrors = c[RX_OVERSIZE_ERRORS];
}

void lan78xx_get_rmon_stats(struct net_device *netdev,
			    struct ethtool_rmon_stats *stats,
			    const struct ethtool_rmon_hist_range **ranges)
{
	static const struct ethtool_rmon_hist_range sizes[SIZES + 1] = {
		{ 0, 64 }, { 65, 127 }, { 128, 255 }, { 256, 511 },
		{ 512, 1023 }, { 1024, 1518 }, { 1519, MTU_MAX }, { }
	};
	u64 c[LAN78XX_COUNTERS];
	int i;

	lan78xx_get_own_stats(irqmod_port(netdev), c);
	stats->undersize_pkts = c[RX_UNDERSIZE_ERRORS];
	stats->oversize_pkts = c[RX_OVERSIZE_ERRORS];
	stats->fragments = c[RX_FRAGMENTS];
	stats->jabbers = c[RX_JABBERS];
	for (i = 0; i < SIZES; i++) {
		stats->hist[i] = c[RX_SIZES + i];
		stats->hist_tx[i] = c[TX_SIZES + i];
	}
	*ranges = sizes;
}

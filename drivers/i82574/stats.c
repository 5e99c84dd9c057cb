// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chip's counters (10.2.7). A read clears them: they are added up here, before
 * each reset, too.
 */
#include <linux/io.h>

#include "i82574.h"

enum counter {
	CRC, ALIGNMENT, RX_ERROR, MISSED, SINGLE, EXCESSIVE, MULTIPLE, LATE, COLLISIONS,
	DEFERRED, NO_CARRIER, CARRIER_EXTENSION, RX_LENGTH, RX_XON, TX_XON, RX_XOFF,
	TX_XOFF, RX_CONTROL, RX_64, RX_127, RX_255, RX_511, RX_1023, RX_MAX, RX_GOOD,
	RX_BROADCAST, RX_MULTICAST, TX_GOOD, RX_GOOD_BYTES, TX_GOOD_BYTES,
	RX_NO_DESCRIPTOR, RX_UNDERSIZE, RX_FRAGMENT, RX_OVERSIZE, RX_JABBER,
	RX_BYTES, TX_BYTES, RX_ALL, TX_ALL, TX_64, TX_127, TX_255, TX_511, TX_1023,
	TX_MAX, TX_MULTICAST, TX_BROADCAST, TX_SEGMENTED, INTERRUPTS,
	COUNTERS
};

static_assert(COUNTERS <= I82574_COUNTERS);

static const struct {
	char name[ETH_GSTRING_LEN];
	u16 reg;
	bool wide;			/* 64 bits */
} counters[COUNTERS] = {
	[CRC] = { "hw_rx_crc_errors", 0x4000 },
	[ALIGNMENT] = { "hw_rx_alignment_errors", 0x4004 },
	[RX_ERROR] = { "hw_rx_errors", 0x400c },
	[MISSED] = { "hw_rx_missed", 0x4010 },
	[SINGLE] = { "hw_tx_single_collision", 0x4014 },
	[EXCESSIVE] = { "hw_tx_excessive_collisions", 0x4018 },
	[MULTIPLE] = { "hw_tx_multiple_collisions", 0x401c },
	[LATE] = { "hw_tx_late_collisions", 0x4020 },
	[COLLISIONS] = { "hw_collisions", 0x4028 },
	[DEFERRED] = { "hw_tx_deferred", 0x4030 },
	[NO_CARRIER] = { "hw_tx_no_carrier", 0x4034 },
	[CARRIER_EXTENSION] = { "hw_rx_carrier_extension_errors", 0x403c },
	[RX_LENGTH] = { "hw_rx_length_errors", 0x4040 },
	[RX_XON] = { "hw_rx_xon", 0x4048 },
	[TX_XON] = { "hw_tx_xon", 0x404c },
	[RX_XOFF] = { "hw_rx_xoff", 0x4050 },
	[TX_XOFF] = { "hw_tx_xoff", 0x4054 },
	[RX_CONTROL] = { "hw_rx_unsupported_control", 0x4058 },
	[RX_64] = { "hw_rx_64", 0x405c },
	[RX_127] = { "hw_rx_65_to_127", 0x4060 },
	[RX_255] = { "hw_rx_128_to_255", 0x4064 },
	[RX_511] = { "hw_rx_256_to_511", 0x4068 },
	[RX_1023] = { "hw_rx_512_to_1023", 0x406c },
	[RX_MAX] = { "hw_rx_1024_to_max", 0x4070 },
	[RX_GOOD] = { "hw_rx_good", 0x4074 },
	[RX_BROADCAST] = { "hw_rx_broadcast", 0x4078 },
	[RX_MULTICAST] = { "hw_rx_multicast", 0x407c },
	[TX_GOOD] = { "hw_tx_good", 0x4080 },
	[RX_GOOD_BYTES] = { "hw_rx_good_bytes", 0x4088, true },
	[TX_GOOD_BYTES] = { "hw_tx_good_bytes", 0x4090, true },
	[RX_NO_DESCRIPTOR] = { "hw_rx_no_descriptor", 0x40a0 },
	[RX_UNDERSIZE] = { "hw_rx_undersize", 0x40a4 },
	[RX_FRAGMENT] = { "hw_rx_fragment", 0x40a8 },
	[RX_OVERSIZE] = { "hw_rx_oversize", 0x40ac },
	[RX_JABBER] = { "hw_rx_jabber", 0x40b0 },
	[RX_BYTES] = { "hw_rx_bytes", 0x40c0, true },
	[TX_BYTES] = { "hw_tx_bytes", 0x40c8, true },
	[RX_ALL] = { "hw_rx_all", 0x40d0 },
	[TX_ALL] = { "hw_tx_all", 0x40d4 },
	[TX_64] = { "hw_tx_64", 0x40d8 },
	[TX_127] = { "hw_tx_65_to_127", 0x40dc },
	[TX_255] = { "hw_tx_128_to_255", 0x40e0 },
	[TX_511] = { "hw_tx_256_to_511", 0x40e4 },
	[TX_1023] = { "hw_tx_512_to_1023", 0x40e8 },
	[TX_MAX] = { "hw_tx_1024_to_max", 0x40ec },
	[TX_MULTICAST] = { "hw_tx_multicast", 0x40f0 },
	[TX_BROADCAST] = { "hw_tx_broadcast", 0x40f4 },
	[TX_SEGMENTED] = { "hw_tx_segmented", 0x40f8 },
	[INTERRUPTS] = { "hw_interrupts", 0x4100 },
};

/* Frames dropped because the FIFO was full, a running total. Any context: each reader of
 * the register adds what its read has cleared.
 */
static u32 missed(struct i82574 *nic)
{
	return atomic_add_return(i82574_read(nic, counters[MISSED].reg), &nic->missed);
}

static u64 counter_read(struct i82574 *nic, enum counter c)
{
	u32 before = nic->missed_told;
	u64 value;

	if (c == MISSED) {
		nic->missed_told = missed(nic);
		return nic->missed_told - before;
	}
	value = i82574_read(nic, counters[c].reg);
	/* The upper half second: to read it clears both. */
	if (counters[c].wide)
		value |= (u64)i82574_read(nic, counters[c].reg + 4) << 32;
	return value;
}

/* The chip does not tell for which queue a frame was that it dropped: each queue has a share
 * of them like that of the frames taken since it asked last.
 */
bool i82574_rx_arrived(struct irqmod_queue *queue, u32 *arrived)
{
	struct i82574_queue *q = to_i82574(queue);
	struct i82574_rx_seen now = { .missed = missed(q->nic) }, *seen = &q->seen;
	u32 mine = READ_ONCE(queue->rx_frames) - seen->frames;
	const struct irqmod_queue *each;

	irqmod_for_each_queue(each, queue->port)
		now.all += READ_ONCE(each->rx_frames);
	now.frames = seen->frames + mine;
	/* One more each: there may be drops and no frames. */
	now.arrived = seen->arrived + mine +
		      div_u64((u64)(now.missed - seen->missed) * (mine + 1),
			      now.all - seen->all + queue->port->queues_used);
	*seen = now;
	*arrived = now.arrived;
	return true;
}

/* After a reset, whose counts are nobody's. */
void i82574_counters_clear(struct i82574 *nic)
{
	int i;

	for (i = 0; i < COUNTERS; i++)
		counter_read(nic, i);
}

/* While the chip runs, or before a reset. */
void i82574_counters_add(struct i82574 *nic)
{
	int i;

	spin_lock_bh(&nic->counters_lock);
	for (i = 0; READ_ONCE(nic->running) && i < COUNTERS; i++)
		nic->counters[i] += counter_read(nic, i);
	spin_unlock_bh(&nic->counters_lock);
}

void i82574_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats)
{
	struct i82574 *nic = i82574_of(netdev);
	static const enum counter needed[] = {
		CRC, ALIGNMENT, RX_ERROR, MISSED, EXCESSIVE, LATE, COLLISIONS, NO_CARRIER,
		CARRIER_EXTENSION, RX_UNDERSIZE, RX_OVERSIZE, RX_MULTICAST,
	};
	u64 *c = nic->counters;
	unsigned long flags;
	int i;

	irqmod_get_stats64(netdev, stats);
	spin_lock_irqsave(&nic->counters_lock, flags);
	for (i = 0; READ_ONCE(nic->running) && i < ARRAY_SIZE(needed); i++)
		c[needed[i]] += counter_read(nic, needed[i]);
	stats->multicast = c[RX_MULTICAST];
	stats->rx_missed_errors = c[MISSED];
	stats->rx_crc_errors = c[CRC];
	stats->rx_frame_errors = c[ALIGNMENT];
	/* RX_LENGTH counts both, too. */
	stats->rx_length_errors = c[RX_UNDERSIZE] + c[RX_OVERSIZE];
	stats->rx_errors += c[CRC] + c[ALIGNMENT] + c[RX_ERROR] +
			    c[CARRIER_EXTENSION] + stats->rx_length_errors;
	stats->collisions = c[COLLISIONS];
	stats->tx_aborted_errors = c[EXCESSIVE];
	stats->tx_window_errors = c[LATE];
	stats->tx_carrier_errors = c[NO_CARRIER];
	stats->tx_errors += c[EXCESSIVE] + c[LATE] + c[NO_CARRIER];
	spin_unlock_irqrestore(&nic->counters_lock, flags);
}

int i82574_get_sset_count(struct net_device *netdev, int sset)
{
	int count = irqmod_get_sset_count(netdev, sset);

	if (sset == ETH_SS_TEST)
		return I82574_TESTS;
	return sset == ETH_SS_STATS && count >= 0 ? count + COUNTERS : count;
}

void i82574_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	int i;

	if (sset == ETH_SS_TEST)
		memcpy(data, i82574_test_names, sizeof(i82574_test_names));
	irqmod_get_strings(netdev, sset, data);
	if (sset != ETH_SS_STATS)
		return;
	data += irqmod_get_sset_count(netdev, sset) * ETH_GSTRING_LEN;
	for (i = 0; i < COUNTERS; i++, data += ETH_GSTRING_LEN)
		memcpy(data, counters[i].name, ETH_GSTRING_LEN);
}

void i82574_get_ethtool_stats(struct net_device *netdev,
			      struct ethtool_stats *stats, u64 *data)
{
	struct i82574 *nic = i82574_of(netdev);

	irqmod_get_ethtool_stats(netdev, stats, data);
	i82574_counters_add(nic);
	memcpy(data + irqmod_get_sset_count(netdev, ETH_SS_STATS), nic->counters,
	       COUNTERS * sizeof(*data));
}

void i82574_get_pause_stats(struct net_device *netdev,
			    struct ethtool_pause_stats *stats)
{
	struct i82574 *nic = i82574_of(netdev);

	i82574_counters_add(nic);
	stats->tx_pause_frames = nic->counters[TX_XON] + nic->counters[TX_XOFF];
	stats->rx_pause_frames = nic->counters[RX_XON] + nic->counters[RX_XOFF];
}

void i82574_get_eth_mac_stats(struct net_device *netdev,
			      struct ethtool_eth_mac_stats *stats)
{
	struct i82574 *nic = i82574_of(netdev);
	const u64 *c = nic->counters;

	i82574_counters_add(nic);
	stats->FramesTransmittedOK = c[TX_GOOD];
	stats->SingleCollisionFrames = c[SINGLE];
	stats->MultipleCollisionFrames = c[MULTIPLE];
	stats->FramesReceivedOK = c[RX_GOOD];
	stats->FrameCheckSequenceErrors = c[CRC];
	stats->AlignmentErrors = c[ALIGNMENT];
	stats->OctetsTransmittedOK = c[TX_GOOD_BYTES];
	stats->FramesWithDeferredXmissions = c[DEFERRED];
	stats->LateCollisions = c[LATE];
	stats->FramesAbortedDueToXSColls = c[EXCESSIVE];
	stats->CarrierSenseErrors = c[NO_CARRIER];
	stats->OctetsReceivedOK = c[RX_GOOD_BYTES];
	stats->FramesLostDueToIntMACRcvError = c[MISSED];
	stats->MulticastFramesXmittedOK = c[TX_MULTICAST];
	stats->BroadcastFramesXmittedOK = c[TX_BROADCAST];
	stats->MulticastFramesReceivedOK = c[RX_MULTICAST];
	stats->BroadcastFramesReceivedOK = c[RX_BROADCAST];
	stats->InRangeLengthErrors = c[RX_LENGTH];
	stats->FrameTooLongErrors = c[RX_OVERSIZE];
}

static const struct ethtool_rmon_hist_range rmon_ranges[] = {
	{ 64, 64 }, { 65, 127 }, { 128, 255 }, { 256, 511 }, { 512, 1023 },
	{ 1024, MTU_MAX + FRAME_OVERHEAD }, { }
};

void i82574_get_rmon_stats(struct net_device *netdev,
			   struct ethtool_rmon_stats *stats,
			   const struct ethtool_rmon_hist_range **ranges)
{
	struct i82574 *nic = i82574_of(netdev);
	const u64 *c = nic->counters;
	int i;

	i82574_counters_add(nic);
	stats->undersize_pkts = c[RX_UNDERSIZE];
	stats->oversize_pkts = c[RX_OVERSIZE];
	stats->fragments = c[RX_FRAGMENT];
	stats->jabbers = c[RX_JABBER];
	for (i = 0; i <= RX_MAX - RX_64; i++) {
		stats->hist[i] = c[RX_64 + i];
		stats->hist_tx[i] = c[TX_64 + i];
	}
	*ranges = rmon_ranges;
}

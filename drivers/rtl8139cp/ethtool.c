// SPDX-License-Identifier: GPL-2.0-only
/* RTL8139C+: ethtool. */
#include <linux/ethtool.h>

#include "rtl8139cp.h"

static int cp_get_regs_len(struct net_device *netdev)
{
	return CP_REGS_SIZE;
}

static void cp_get_regs(struct net_device *netdev, struct ethtool_regs *regs,
			void *data)
{
	regs->version = 1;
	memcpy_fromio(data, cp_of(netdev)->regs, CP_REGS_SIZE);
}

static int cp_set_ringparam(struct net_device *netdev,
			    struct ethtool_ringparam *ring,
			    struct kernel_ethtool_ringparam *kernel_ring,
			    struct netlink_ext_ack *extack)
{
	if (ring->tx_pending < CP_TSO_RING_MIN &&
	    netdev->features & NETIF_F_TSO) {
		NL_SET_ERR_MSG_MOD(extack, "tx: too few for TSO (ethtool -K tso off)");
		return -EINVAL;
	}
	return irqmod_set_ringparam(netdev, ring, kernel_ring, extack);
}

static int cp_get_tunable(struct net_device *netdev,
			  const struct ethtool_tunable *tunable, void *data)
{
	if (tunable->id != ETHTOOL_RX_COPYBREAK)
		return -EOPNOTSUPP;
	*(u32 *)data = cp_of(netdev)->rx_copybreak;
	return 0;
}

static int cp_set_tunable(struct net_device *netdev,
			  const struct ethtool_tunable *tunable,
			  const void *data)
{
	u32 value = *(const u32 *)data;

	if (tunable->id != ETHTOOL_RX_COPYBREAK)
		return -EOPNOTSUPP;
	if (value > CP_RX_BUF_SIZE)
		return -EINVAL;
	WRITE_ONCE(cp_of(netdev)->rx_copybreak, value);
	return 0;
}

static int cp_get_link_ksettings(struct net_device *netdev,
				 struct ethtool_link_ksettings *cmd)
{
	struct cp *cp = cp_of(netdev);
	unsigned long flags;

	spin_lock_irqsave(&cp->mii_lock, flags);
	mii_ethtool_get_link_ksettings(&cp->mii, cmd);
	spin_unlock_irqrestore(&cp->mii_lock, flags);
	return 0;
}

static int cp_set_link_ksettings(struct net_device *netdev,
				 const struct ethtool_link_ksettings *cmd)
{
	struct cp *cp = cp_of(netdev);
	unsigned long flags;
	int err;

	spin_lock_irqsave(&cp->mii_lock, flags);
	err = mii_ethtool_set_link_ksettings(&cp->mii, cmd);
	if (!err)
		irqmod_mii_save(&cp->mii, &cp->mii_kept);
	spin_unlock_irqrestore(&cp->mii_lock, flags);
	return err;
}

static int cp_nway_reset(struct net_device *netdev)
{
	struct cp *cp = cp_of(netdev);
	unsigned long flags;
	int err;

	spin_lock_irqsave(&cp->mii_lock, flags);
	err = mii_nway_restart(&cp->mii);
	spin_unlock_irqrestore(&cp->mii_lock, flags);
	return err;
}

/* The chip's tally counters since its last start. */
const char cp_tally_names[CP_TALLIES][ETH_GSTRING_LEN] = {
	"hw_tx_ok", "hw_rx_ok", "hw_tx_err", "hw_rx_err", "hw_miss_pkt",
	"hw_fae", "hw_tx_1col", "hw_tx_mcol", "hw_rx_ok_phy", "hw_rx_ok_brd",
	"hw_rx_ok_mul", "hw_tx_abt", "hw_tx_undrn",
};

void cp_get_tallies(struct irqmod_port *port, u64 *data)
{
	struct cp *cp = cp_of_port(port);
	const struct cp_tally *tally = cp->tally;

	if (!cp->running || cp_hw_dump_tally(cp))
		return;
	*data++ = le64_to_cpu(tally->tx_ok);
	*data++ = le64_to_cpu(tally->rx_ok);
	*data++ = le64_to_cpu(tally->tx_err);
	*data++ = le32_to_cpu(tally->rx_err);
	*data++ = le16_to_cpu(tally->miss_pkt);
	*data++ = le16_to_cpu(tally->fae);
	*data++ = le32_to_cpu(tally->tx_1col);
	*data++ = le32_to_cpu(tally->tx_mcol);
	*data++ = le64_to_cpu(tally->rx_ok_phy);
	*data++ = le64_to_cpu(tally->rx_ok_brd);
	*data++ = le32_to_cpu(tally->rx_ok_mul);
	*data++ = le16_to_cpu(tally->tx_abt);
	*data = le16_to_cpu(tally->tx_undrn);
}

static void cp_get_eth_mac_stats(struct net_device *netdev,
				 struct ethtool_eth_mac_stats *stats)
{
	struct cp *cp = cp_of(netdev);
	const struct cp_tally *tally = cp->tally;

	if (!cp->running || cp_hw_dump_tally(cp))
		return;
	stats->FramesTransmittedOK = le64_to_cpu(tally->tx_ok);
	stats->SingleCollisionFrames = le32_to_cpu(tally->tx_1col);
	stats->MultipleCollisionFrames = le32_to_cpu(tally->tx_mcol);
	stats->FramesReceivedOK = le64_to_cpu(tally->rx_ok);
	stats->AlignmentErrors = le16_to_cpu(tally->fae);
	stats->FramesAbortedDueToXSColls = le16_to_cpu(tally->tx_abt);
	stats->FramesLostDueToIntMACXmitError = le16_to_cpu(tally->tx_undrn);
	stats->FramesLostDueToIntMACRcvError = le16_to_cpu(tally->miss_pkt);
	stats->MulticastFramesReceivedOK = le32_to_cpu(tally->rx_ok_mul);
	stats->BroadcastFramesReceivedOK = le64_to_cpu(tally->rx_ok_brd);
}

const struct ethtool_ops cp_ethtool_ops = {
	.supported_coalesce_params = IRQMOD_COALESCE_PARAMS,
	.get_regs_len		= cp_get_regs_len,
	.get_regs		= cp_get_regs,
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= cp_get_link_ksettings,
	.set_link_ksettings	= cp_set_link_ksettings,
	.nway_reset		= cp_nway_reset,
	.get_ringparam		= irqmod_get_ringparam,
	.set_ringparam		= cp_set_ringparam,
	.get_coalesce		= irqmod_get_coalesce,
	.set_coalesce		= irqmod_set_coalesce,
	.get_tunable		= cp_get_tunable,
	.set_tunable		= cp_set_tunable,
	.get_sset_count		= irqmod_get_sset_count,
	.get_strings		= irqmod_get_strings,
	.get_ethtool_stats	= irqmod_get_ethtool_stats,
	.get_eth_mac_stats	= cp_get_eth_mac_stats,
	.get_msglevel		= irqmod_get_msglevel,
	.set_msglevel		= irqmod_set_msglevel,
	.get_eeprom_len		= cp_get_eeprom_len,
	.get_eeprom		= cp_get_eeprom,
	.set_eeprom		= cp_set_eeprom,
	.get_wol		= irqmod_get_wol,
	.set_wol		= irqmod_set_wol,
	.get_ts_info		= ethtool_op_get_ts_info,
};

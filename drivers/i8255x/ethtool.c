// SPDX-License-Identifier: GPL-2.0-only
#include <linux/io.h>
#include <linux/rtnetlink.h>

#include "i8255x.h"

static void i8255x_get_drvinfo(struct net_device *netdev,
			       struct ethtool_drvinfo *info)
{
	struct i8255x *np = netdev_priv(netdev);

	if (np->microcode && np->cpusaver)
		strscpy(info->fw_version, "CPUSaver", sizeof(info->fw_version));
}

/* The layout of e100: the SCB, the PHY's registers from the last to the first, and
 * what the chip dumps.
 */
#define REGS_PHY	0x1d
#define REGS_BYTES	((1 + REGS_PHY) * sizeof(u32) + DUMP_BYTES)

static int i8255x_get_regs_len(struct net_device *netdev)
{
	return REGS_BYTES;
}

static void i8255x_get_regs(struct net_device *netdev,
			    struct ethtool_regs *regs, void *data)
{
	struct i8255x *np = netdev_priv(netdev);
	u32 *words = data;
	int i, err;

	regs->version = 1 << 24 | np->pdev->revision;
	words[0] = readl(np->regs + SCB_STATUS);
	for (i = 0; i < REGS_PHY; i++)
		words[1 + i] = i8255x_mdio_read(netdev, np->mii.phy_id,
						REGS_PHY - 1 - i);
	memset(np->shared->dump, 0, DUMP_BYTES);
	if (netif_running(netdev)) {
		err = i8255x_tx_dump(np);
	} else {
		np->shared->block.dump.buffer =
			cpu_to_le32(i8255x_shared_dma(np, dump));
		err = i8255x_execute(np, CB_DUMP);
	}
	if (err)
		netif_dbg(&np->port, hw, netdev, "no dump of registers: %pe\n",
			  ERR_PTR(err));
	memcpy(words + 1 + REGS_PHY, np->shared->dump, DUMP_BYTES);
}

#define LED_REGISTER	0x1b	/* of the PHY */

/* Both LEDs of the PHY, by software. */
static int i8255x_set_phys_id(struct net_device *netdev,
			      enum ethtool_phys_id_state state)
{
	struct i8255x *np = netdev_priv(netdev);
	u16 leds = 0;			/* by the PHY */

	switch (state) {
	case ETHTOOL_ID_ACTIVE:
		return 2;		/* blinks a second */
	case ETHTOOL_ID_ON:
		leds = np->chip >= I82559 ? 0x05 : 0x07;
		break;
	case ETHTOOL_ID_OFF:
		leds = 0x04;
		break;
	case ETHTOOL_ID_INACTIVE:
		break;
	}
	i8255x_mdio_write(netdev, np->mii.phy_id, LED_REGISTER, leds);
	return 0;
}

static int i8255x_get_sset_count(struct net_device *netdev, int sset)
{
	return sset == ETH_SS_TEST ? I8255X_TESTS : irqmod_get_sset_count(netdev, sset);
}

static void i8255x_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	if (sset == ETH_SS_TEST)
		memcpy(data, i8255x_test_names, I8255X_TESTS * ETH_GSTRING_LEN);
	else
		irqmod_get_strings(netdev, sset, data);
}

static void i8255x_get_pause_stats(struct net_device *netdev,
				   struct ethtool_pause_stats *stats)
{
	struct i8255x *np = netdev_priv(netdev);
	u64 c[COUNTERS];

	if (np->counter_words == WORDS_STANDARD)
		return;
	i8255x_get_own_stats(&np->port, c);
	stats->tx_pause_frames = c[COUNT_TX_PAUSE];
	stats->rx_pause_frames = c[COUNT_RX_PAUSE];
}

static void i8255x_get_eth_mac_stats(struct net_device *netdev,
				     struct ethtool_eth_mac_stats *stats)
{
	u64 c[COUNTERS];

	i8255x_get_own_stats(irqmod_port(netdev), c);
	stats->FramesTransmittedOK = c[COUNT_TX_GOOD];
	stats->SingleCollisionFrames = c[COUNT_TX_SINGLE_COLLISIONS];
	stats->MultipleCollisionFrames = c[COUNT_TX_MULTIPLE_COLLISIONS];
	stats->FramesReceivedOK = c[COUNT_RX_GOOD];
	stats->FrameCheckSequenceErrors = c[COUNT_RX_CRC];
	stats->AlignmentErrors = c[COUNT_RX_ALIGNMENT];
	stats->FramesWithDeferredXmissions = c[COUNT_TX_DEFERRED];
	stats->LateCollisions = c[COUNT_TX_LATE_COLLISIONS];
	stats->FramesAbortedDueToXSColls = c[COUNT_TX_MAX_COLLISIONS];
	stats->FramesLostDueToIntMACXmitError = c[COUNT_TX_UNDERRUNS];
	stats->CarrierSenseErrors = c[COUNT_TX_LOST_CARRIER];
	stats->FramesLostDueToIntMACRcvError = c[COUNT_RX_OVERRUN];
}

static int i8255x_get_link_ksettings(struct net_device *netdev,
				     struct ethtool_link_ksettings *settings)
{
	struct i8255x *np = netdev_priv(netdev);

	mii_ethtool_get_link_ksettings(&np->mii, settings);
	return 0;
}

static int i8255x_set_link_ksettings(struct net_device *netdev,
				     const struct ethtool_link_ksettings *settings)
{
	struct i8255x *np = netdev_priv(netdev);
	int err;

	i8255x_link_pause(np);
	err = mii_ethtool_set_link_ksettings(&np->mii, settings);
	if (!err) {
		irqmod_mii_save(&np->mii, &np->mii_kept);
		i8255x_phy_mdix(np);
		netif_carrier_off(netdev);
		/* A forced duplex is part of the configuration. */
		i8255x_apply(np);
	}
	i8255x_link_resume(np);
	return err;
}

static int i8255x_nway_reset(struct net_device *netdev)
{
	struct i8255x *np = netdev_priv(netdev);
	int err;

	i8255x_link_pause(np);
	err = mii_nway_restart(&np->mii);
	if (!err)
		netif_carrier_off(netdev);
	i8255x_link_resume(np);
	return err;
}

const struct ethtool_ops i8255x_ethtool_ops = {
	.supported_coalesce_params = IRQMOD_COALESCE_PARAMS,
	.get_drvinfo = i8255x_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.nway_reset = i8255x_nway_reset,
	.get_link_ksettings = i8255x_get_link_ksettings,
	.set_link_ksettings = i8255x_set_link_ksettings,
	.get_pauseparam = i8255x_get_pauseparam,
	.set_pauseparam = i8255x_set_pauseparam,
	.get_pause_stats = i8255x_get_pause_stats,
	.get_eth_mac_stats = i8255x_get_eth_mac_stats,
	.get_ringparam = irqmod_get_ringparam,
	.set_ringparam = irqmod_set_ringparam,
	.get_coalesce = irqmod_get_coalesce,
	.set_coalesce = irqmod_set_coalesce,
	.get_sset_count = i8255x_get_sset_count,
	.get_strings = i8255x_get_strings,
	.get_ethtool_stats = irqmod_get_ethtool_stats,
	.get_regs_len = i8255x_get_regs_len,
	.get_regs = i8255x_get_regs,
	.get_eeprom_len = i8255x_get_eeprom_len,
	.get_eeprom = i8255x_get_eeprom,
	.set_eeprom = i8255x_set_eeprom,
	.get_msglevel = irqmod_get_msglevel,
	.set_msglevel = irqmod_set_msglevel,
	.get_wol = irqmod_get_wol,
	.set_wol = irqmod_set_wol,
	.self_test = i8255x_self_test,
	.set_phys_id = i8255x_set_phys_id,
	.get_ts_info = ethtool_op_get_ts_info,
};

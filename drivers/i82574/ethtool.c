// SPDX-License-Identifier: GPL-2.0-only
/* ethtool. */
#include <linux/io.h>
#include <linux/rtnetlink.h>

#include "i82574.h"

/* Registers that may be read at any time: no counter, and no cause. */
static const u16 dumped[] = {
	CTRL, STATUS, EEC, CTRL_EXT, FCAL, FCAH, FCT, VET, FCTTV, LEDCTL, EXTCNF_CTRL,
	PBA, GCR, ITR, IMS, EIAC, IVAR, EITR(0), EITR(1), EITR(2), EITR(3), EITR(4),
	RCTL, FCRTL, FCRTH, RDTR, RADV, RXCSUM, RFCTL, MRQC, TCTL, TIDV, TADV,
	RDBAL(0), RDBAH(0), RDLEN(0), RDH(0), RDT(0), RXDCTL(0),
	RDBAL(1), RDBAH(1), RDLEN(1), RDH(1), RDT(1), RXDCTL(1),
	TDBAL(0), TDBAH(0), TDLEN(0), TDH(0), TDT(0), TXDCTL(0), TARC(0),
	TDBAL(1), TDBAH(1), TDLEN(1), TDH(1), TDT(1), TXDCTL(1), TARC(1),
	RAL(0), RAH(0), WUC, WUFC, WUS,
};

static int i82574_get_regs_len(struct net_device *netdev)
{
	return ARRAY_SIZE(dumped) * 2 * sizeof(u32);
}

/* Pairs: a register's offset, and its value. */
static void i82574_get_regs(struct net_device *netdev,
			    struct ethtool_regs *regs, void *data)
{
	struct i82574 *nic = i82574_of(netdev);
	u32 *word = data;
	int i;

	regs->version = 1;
	for (i = 0; i < ARRAY_SIZE(dumped); i++) {
		*word++ = dumped[i];
		*word++ = i82574_read(nic, dumped[i]);
	}
}

static int i82574_set_ringparam(struct net_device *netdev,
				struct ethtool_ringparam *ring,
				struct kernel_ethtool_ringparam *kring,
				struct netlink_ext_ack *extack)
{
	struct i82574 *nic = i82574_of(netdev);
	unsigned int rx = ring->rx_pending, tx = ring->tx_pending;

	/* The ethtool core has checked the maxima. */
	if (rx < RING_MIN || tx < RING_MIN || rx % RING_UNIT || tx % RING_UNIT) {
		NL_SET_ERR_MSG_MOD(extack, "rx and tx: 64 to 4096, multiples of 8");
		return -EINVAL;
	}
	return i82574_change_rings(nic, rx, tx, rtnl_dereference(nic->xdp_prog),
				   netdev->mtu);
}

static int i82574_get_tunable(struct net_device *netdev,
			      const struct ethtool_tunable *tunable, void *data)
{
	if (tunable->id != ETHTOOL_RX_COPYBREAK)
		return -EOPNOTSUPP;
	*(u32 *)data = i82574_of(netdev)->rx_copybreak;
	return 0;
}

static int i82574_set_tunable(struct net_device *netdev,
			      const struct ethtool_tunable *tunable,
			      const void *data)
{
	u32 value = *(const u32 *)data;

	if (tunable->id != ETHTOOL_RX_COPYBREAK)
		return -EOPNOTSUPP;
	if (value > RX_COPY_MAX)
		return -EINVAL;
	WRITE_ONCE(i82574_of(netdev)->rx_copybreak, value);
	return 0;
}

static int i82574_get_link_ksettings(struct net_device *netdev,
				     struct ethtool_link_ksettings *settings)
{
	mii_ethtool_get_link_ksettings(&i82574_of(netdev)->mii, settings);
	return 0;
}

static int i82574_set_link_ksettings(struct net_device *netdev,
				     const struct ethtool_link_ksettings *settings)
{
	struct i82574 *nic = i82574_of(netdev);
	int err;

	/* The chip sends at half duplex to 100 Mbit/s, and at 1 Gbit/s negotiates. */
	if (settings->base.autoneg == AUTONEG_DISABLE &&
	    settings->base.speed == SPEED_1000)
		return -EINVAL;
	cancel_delayed_work_sync(&nic->link_work);
	err = mii_ethtool_set_link_ksettings(&nic->mii, settings);
	if (!err) {
		i82574_phy_save(nic);
		netif_carrier_off(netdev);
	}
	if (nic->running)
		i82574_link_now(nic);
	return err;
}

static int i82574_nway_reset(struct net_device *netdev)
{
	return mii_nway_restart(&i82574_of(netdev)->mii);
}

/* All three LEDs. */
static int i82574_set_phys_id(struct net_device *netdev,
			      enum ethtool_phys_id_state state)
{
	struct i82574 *nic = i82574_of(netdev);

	switch (state) {
	case ETHTOOL_ID_ACTIVE:
		nic->ledctl = i82574_read(nic, LEDCTL);
		return 2;
	case ETHTOOL_ID_ON:
		i82574_write(nic, LEDCTL, LEDCTL_ON * 0x010101);
		return 0;
	case ETHTOOL_ID_OFF:
		i82574_write(nic, LEDCTL, LEDCTL_OFF * 0x010101);
		return 0;
	case ETHTOOL_ID_INACTIVE:
		i82574_write(nic, LEDCTL, nic->ledctl);
		return 0;
	}
	return -EINVAL;
}

static u32 i82574_rings(struct net_device *netdev)
{
	return i82574_of(netdev)->port.queues_used;
}

IRQMOD_RXFH(i82574_get_rxfh, i82574_set_rxfh)
IRQMOD_RXNFC(i82574_rings, i82574_get_rxfh_fields)

const struct ethtool_ops i82574_ethtool_ops = {
	.supported_coalesce_params = IRQMOD_COALESCE_PARAMS,
	.get_regs_len = i82574_get_regs_len,
	.get_regs = i82574_get_regs,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = i82574_get_link_ksettings,
	.set_link_ksettings = i82574_set_link_ksettings,
	.nway_reset = i82574_nway_reset,
	.get_ringparam = irqmod_get_ringparam,
	.set_ringparam = i82574_set_ringparam,
	.get_coalesce = irqmod_get_coalesce,
	.set_coalesce = irqmod_set_coalesce,
	.get_per_queue_coalesce = irqmod_get_per_queue_coalesce,
	.set_per_queue_coalesce = irqmod_set_per_queue_coalesce,
	.get_tunable = i82574_get_tunable,
	.set_tunable = i82574_set_tunable,
	.get_channels = i82574_get_channels,
	.set_channels = i82574_set_channels,
	.get_rxfh_key_size = i82574_get_rxfh_key_size,
	.get_rxfh_indir_size = i82574_get_rxfh_indir_size,
	IRQMOD_RXFH_OPS(i82574_get_rxfh, i82574_set_rxfh),
	IRQMOD_RXNFC_OPS(i82574_rings, i82574_get_rxfh_fields)
	.get_sset_count = i82574_get_sset_count,
	.get_strings = i82574_get_strings,
	.get_ethtool_stats = i82574_get_ethtool_stats,
	.get_pause_stats = i82574_get_pause_stats,
	.get_eth_mac_stats = i82574_get_eth_mac_stats,
	.get_rmon_stats = i82574_get_rmon_stats,
	.get_pauseparam = i82574_get_pauseparam,
	.set_pauseparam = i82574_set_pauseparam,
	.get_msglevel = irqmod_get_msglevel,
	.set_msglevel = irqmod_set_msglevel,
	.get_eeprom_len = i82574_get_eeprom_len,
	.get_eeprom = i82574_get_eeprom,
	.self_test = i82574_self_test,
	.set_phys_id = i82574_set_phys_id,
	.get_wol = irqmod_get_wol,
	.set_wol = irqmod_set_wol,
	.get_ts_info = ethtool_op_get_ts_info,
};

// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: link and pause (phylib), bulk-in delay, Wake-on-LAN, EEPROM. */
#include <linux/ethtool.h>

#include "lan78xx.h"

#define RX_USECS_MIN	10
#define RX_USECS_MAX	(U16_MAX / 60)	/* BULK_IN_DLY: 16 bits, 1/60 us */

static void lan78xx_get_drvinfo(struct net_device *netdev,
				struct ethtool_drvinfo *info)
{
	struct lan78xx *np = netdev_priv(netdev);

	strscpy(info->driver, KBUILD_MODNAME, sizeof(info->driver));
	usb_make_path(np->udev, info->bus_info, sizeof(info->bus_info));
}

/* Only what can be set: ioctl's SCOALESCE has the values of GCOALESCE, and the core
 * refuses a parameter that is not supported.
 */
static int lan78xx_get_coalesce(struct net_device *netdev,
				struct ethtool_coalesce *ec,
				struct kernel_ethtool_coalesce *kec,
				struct netlink_ext_ack *extack)
{
	irqmod_get_coalesce(netdev, ec, kec, extack);
	ec->tx_coalesce_usecs = 0;
	ec->tx_max_coalesced_frames = 0;
	return 0;
}

/* rx-usecs is the chip's bulk-in delay: how long it waits for more frames. For a
 * scheme that polls with a timer, it is also the period.
 */
static int lan78xx_set_coalesce(struct net_device *netdev,
				struct ethtool_coalesce *ec,
				struct kernel_ethtool_coalesce *kec,
				struct netlink_ext_ack *extack)
{
	struct lan78xx *np = netdev_priv(netdev);
	int err;

	if (ec->rx_coalesce_usecs < RX_USECS_MIN ||
	    ec->rx_coalesce_usecs > RX_USECS_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "rx-usecs: 10 to 1092");
		return -EINVAL;
	}
	ec->tx_coalesce_usecs = np->queue.tx_usecs;
	ec->tx_max_coalesced_frames = min(np->queue.tx_frames,
					  np->port.tx_ring / 2);
	if (np->started) {
		err = lan78xx_set_delay(np, ec->rx_coalesce_usecs);
		if (err)
			return err;
	}
	return irqmod_set_coalesce(netdev, ec, kec, extack);
}

/* How the PHY of a LAN7801 reports link changes is not known here. */
void lan78xx_wake_init(struct lan78xx *np)
{
	if (!device_can_wakeup(&np->udev->dev))
		return;
	np->port.wol_supported = WAKE_UCAST | WAKE_BCAST | WAKE_MAGIC;
	if (np->chip != CHIP_LAN7801)
		np->port.wol_supported |= WAKE_PHY;
}

/* It is the USB device that wakes the machine, not the interface. */
void lan78xx_wake_changed(struct irqmod_port *port)
{
	struct lan78xx *np = netdev_priv(port->netdev);

	device_set_wakeup_enable(&np->udev->dev, port->wol);
}

/* What is asked for, not what has been negotiated (see linkmode_set_pause()). */
static void lan78xx_get_pauseparam(struct net_device *netdev,
				   struct ethtool_pauseparam *pause)
{
	struct phy_device *phydev = netdev->phydev;
	bool rx = linkmode_test_bit(ETHTOOL_LINK_MODE_Pause_BIT,
				    phydev->advertising);
	bool asym = linkmode_test_bit(ETHTOOL_LINK_MODE_Asym_Pause_BIT,
				      phydev->advertising);

	pause->autoneg = phydev->autoneg;
	if (!phydev->autoneg)
		return;		/* the link has none */
	pause->rx_pause = rx;
	pause->tx_pause = rx != asym;
}

static int lan78xx_set_pauseparam(struct net_device *netdev,
				  struct ethtool_pauseparam *pause)
{
	struct phy_device *phydev = netdev->phydev;

	if (!pause->autoneg || !phy_validate_pause(phydev, pause))
		return -EINVAL;	/* only by autonegotiation */
	phy_set_asym_pause(phydev, pause->rx_pause, pause->tx_pause);
	return 0;
}

static int lan78xx_get_eeprom_len(struct net_device *netdev)
{
	return EEPROM_BYTES;
}

static int lan78xx_get_eeprom(struct net_device *netdev,
			      struct ethtool_eeprom *eeprom, u8 *data)
{
	eeprom->magic = EEPROM_MARK;
	return lan78xx_read_eeprom(netdev_priv(netdev), eeprom->offset,
				   eeprom->len, data);
}

const struct ethtool_ops lan78xx_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS,
	.get_drvinfo = lan78xx_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = phy_ethtool_get_link_ksettings,
	.set_link_ksettings = phy_ethtool_set_link_ksettings,
	.nway_reset = phy_ethtool_nway_reset,
	.get_coalesce = lan78xx_get_coalesce,
	.set_coalesce = lan78xx_set_coalesce,
	.get_pauseparam = lan78xx_get_pauseparam,
	.set_pauseparam = lan78xx_set_pauseparam,
	.get_wol = irqmod_get_wol,
	.set_wol = irqmod_set_wol,
	.get_eeprom_len = lan78xx_get_eeprom_len,
	.get_eeprom = lan78xx_get_eeprom,
	.get_sset_count = irqmod_get_sset_count,
	.get_strings = irqmod_get_strings,
	.get_ethtool_stats = irqmod_get_ethtool_stats,
	.get_pause_stats = lan78xx_get_pause_stats,
	.get_eth_mac_stats = lan78xx_get_eth_mac_stats,
	.get_rmon_stats = lan78xx_get_rmon_stats,
	.get_ts_info = ethtool_op_get_ts_info,
};

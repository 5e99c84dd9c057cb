// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PHY, through phylib. The LAN7800 and LAN7850 have an internal PHY; the
 * LAN7801 has an external one on RGMII, or a fixed link without a PHY.
 *
 * The internal PHY reports link changes through the interrupt endpoint, unless
 * its driver wants it to be polled. A failed access returns ENODEV, because
 * phylib warns about any other error; phylib is told to check again later.
 */
#include <linux/microchipphy.h>
#include <linux/of_mdio.h>
#include <linux/phy_fixed.h>

#include "lan78xx.h"
#include "../compat.h"

#define INTERNAL_PHY	1

static void lan78xx_look_later(struct lan78xx *np)
{
	if (READ_ONCE(np->started))
		lan78xx_event_later(np, EVENT_PHY);
}

static int lan78xx_mii_access(struct lan78xx *np, int phy, int reg, u32 flags,
			      u32 *data)
{
	int err;

	mutex_lock(&np->mii_lock);
	err = lan78xx_wait(np, MII_ACC, MII_ACC_BUSY, 0);
	if (!err && (flags & MII_ACC_WRITE))
		err = lan78xx_write(np, MII_DATA, *data);
	if (!err)
		err = lan78xx_write(np, MII_ACC, phy << MII_ACC_PHY_SHIFT |
				    reg << MII_ACC_REG_SHIFT | flags |
				    MII_ACC_BUSY);
	if (!err)
		err = lan78xx_wait(np, MII_ACC, MII_ACC_BUSY, 0);
	if (!err && !(flags & MII_ACC_WRITE))
		err = lan78xx_read(np, MII_DATA, data);
	mutex_unlock(&np->mii_lock);
	if (!err)
		return 0;
	if (err != -ENODEV)
		lan78xx_look_later(np);
	return -ENODEV;
}

static int lan78xx_mdio_read(struct mii_bus *bus, int phy, int reg)
{
	struct lan78xx *np = bus->priv;
	u32 value;
	int err;

	err = lan78xx_mii_access(np, phy, reg, 0, &value);
	if (err)
		return err;
	/* The two ends could not agree on the clock master (IEEE 802.3,
	 * 40.5.2). They retry by themselves, without a link until then. But
	 * phylib's generic code returns an error (ENOLINK), after which its
	 * state machine warns and stops permanently.
	 */
	if (reg == MII_STAT1000 && value & LPA_1000MSFAIL) {
		netdev_dbg(np->netdev, "master/slave fault\n");
		lan78xx_look_later(np);
		return -ENODEV;
	}
	return value & 0xffff;
}

static int lan78xx_mdio_write(struct mii_bus *bus, int phy, int reg, u16 value)
{
	u32 word = value;

	return lan78xx_mii_access(bus->priv, phy, reg, MII_ACC_WRITE, &word);
}

/* Writes what has been negotiated. With the PHY's lock; the link is up. */
static void lan78xx_apply_link(struct lan78xx *np, struct phy_device *phydev)
{
	bool tx_pause = false, rx_pause = false;
	u32 flow = 0, power;
	int err;

	phy_get_pause(phydev, &tx_pause, &rx_pause);
	if (tx_pause)
		flow |= FLOW_TX_FCEN | FLOW_TIME;
	if (rx_pause)
		flow |= FLOW_RX_FCEN;
	err = lan78xx_write(np, LAN78XX_FLOW, flow);
	/* Leaving U2 takes too long at 1 Gbit/s. */
	if (!err && np->udev->speed >= USB_SPEED_SUPER) {
		power = USB_CFG1_U1_INIT_EN;
		if (phydev->speed < SPEED_1000)
			power |= USB_CFG1_U2_INIT_EN;
		err = lan78xx_update(np, USB_CFG1, USB_CFG1_U1_INIT_EN |
				     USB_CFG1_U2_INIT_EN, power);
	}
	if (err)
		netdev_dbg(np->netdev, "link: %d\n", err);
}

/* Called by phylib when the link has changed. */
static void lan78xx_link_changed(struct net_device *netdev)
{
	struct phy_device *phydev = netdev->phydev;

	phy_print_status(phydev);
	if (phydev->link)
		lan78xx_apply_link(netdev_priv(netdev), phydev);
}

/* After a reset of the chip, which the PHY does not see. */
void lan78xx_link_restore(struct lan78xx *np)
{
	struct phy_device *phydev = np->netdev->phydev;

	mutex_lock(&phydev->lock);
	if (phydev->link)
		lan78xx_apply_link(np, phydev);
	mutex_unlock(&phydev->lock);
}

/* Clears what the internal PHY has reported, and lets it report link changes, which also
 * wakes the host (WAKE_PHY). Its driver accesses other pages of registers, holding the PHY's lock.
 */
int lan78xx_phy_unmask(struct lan78xx *np)
{
	struct phy_device *phydev = np->netdev->phydev;
	int phy = phydev->mdio.addr, err;

	mutex_lock(&phydev->lock);
	err = mdiobus_read(np->mdio, phy, LAN88XX_INT_STS);
	if (err >= 0)
		err = mdiobus_write(np->mdio, phy, LAN88XX_INT_MASK,
				    LAN88XX_INT_MASK_MDINTPIN_EN_ |
				    LAN88XX_INT_MASK_LINK_CHANGE_);
	mutex_unlock(&phydev->lock);
	return err;
}

/* Handles the PHY's interrupt, its start, a reset of it, or a previously failed
 * access: the PHY may have lost its mask. The mask stays set while the interface is
 * down; its interrupts are ignored then.
 */
void lan78xx_phy_event(struct lan78xx *np)
{
	if (np->phy_interrupts) {
		/* Clear the PHY's causes first, then ours. */
		if (lan78xx_phy_unmask(np) < 0)
			return;
		lan78xx_write(np, INT_STS, INT_PHY);
	}
	phy_mac_interrupt(np->netdev->phydev);
}

void lan78xx_phy_start(struct lan78xx *np)
{
	phy_start(np->netdev->phydev);
	if (np->phy_interrupts)
		lan78xx_event(np, EVENT_PHY);
}

/* A PHY that is reset with BMCR loses its interrupt mask. */
int lan78xx_ioctl(struct net_device *netdev, struct ifreq *ifr, int command)
{
	struct lan78xx *np = netdev_priv(netdev);
	int err = phy_do_ioctl_running(netdev, ifr, command);

	if (!err && command == SIOCSMIIREG && np->started)
		lan78xx_event(np, EVENT_PHY);
	return err;
}

static int lan78xx_mdio_register(struct lan78xx *np)
{
	struct device_node *node;
	int err;

	np->mdio = mdiobus_alloc();
	if (!np->mdio)
		return -ENOMEM;
	np->mdio->priv = np;
	np->mdio->name = KBUILD_MODNAME;
	np->mdio->read = lan78xx_mdio_read;
	np->mdio->write = lan78xx_mdio_write;
	np->mdio->parent = &np->intf->dev;
	snprintf(np->mdio->id, MII_BUS_ID_SIZE, "usb-%03d:%03d",
		 np->udev->bus->busnum, np->udev->devnum);
	if (np->chip != CHIP_LAN7801)
		np->mdio->phy_mask = ~(u32)BIT(INTERNAL_PHY);
	node = of_get_child_by_name(np->udev->dev.of_node, "mdio");
	err = of_mdiobus_register(np->mdio, node);
	of_node_put(node);
	if (err)
		mdiobus_free(np->mdio);
	return err;
}

/* A LAN7801 connected to a switch or another MAC. */
static struct phy_device *lan78xx_fixed_link(struct lan78xx *np)
{
	struct fixed_phy_status status = {
		.link = 1,
		.speed = SPEED_1000,
		.duplex = DUPLEX_FULL,
	};
	struct phy_device *phydev;

	phydev = fixed_phy_register(&status, NULL);
	np->phy_fixed = !IS_ERR(phydev);
	return phydev;
}

/* From Linux 6.18 on, and in updates of older kernels, fixed_phy_unregister() also
 * frees the PHY. No version tells which: one more reference does.
 */
static void lan78xx_fixed_link_end(struct lan78xx *np,
				   struct phy_device *phydev)
{
	struct device *dev = &phydev->mdio.dev;

	if (!np->phy_fixed)
		return;
	get_device(dev);
	fixed_phy_unregister(phydev);
	if (kref_read(&dev->kobj.kref) > 1)
		phy_device_free(phydev);
	put_device(dev);
}

/* From Linux 6.16 on, and in 6.12's updates, the PHY's driver does without
 * interrupts, and resets the PHY with its interrupt mask when the link goes down.
 */
static bool lan78xx_polled(const struct phy_device *phydev)
{
	return phydev->drv && !phydev->drv->config_intr;
}

/* The PHY's driver sets their modes; the chip must let them out. */
static void lan78xx_find_leds(struct lan78xx *np,
			      const struct phy_device *phydev)
{
	static const u32 leds[] = {
		HW_CFG_LED0_EN, HW_CFG_LED1_EN, HW_CFG_LED2_EN, HW_CFG_LED3_EN,
	};
	int i, count;

	count = of_property_count_u32_elems(phydev->mdio.dev.of_node,
					    "microchip,led-modes");
	if (count < 0)
		return;
	for (i = 0; i < ARRAY_SIZE(leds); i++) {
		np->led_mask |= leds[i];
		if (i < count)
			np->leds |= leds[i];
	}
}

int lan78xx_phy_attach(struct lan78xx *np)
{
	struct net_device *netdev = np->netdev;
	struct phy_device *phydev;
	int err;

	err = lan78xx_mdio_register(np);
	if (err)
		return err;
	phydev = phy_find_first(np->mdio);
	if (np->chip == CHIP_LAN7801) {
		np->interface = PHY_INTERFACE_MODE_RGMII_ID;
		if (!phydev)
			phydev = lan78xx_fixed_link(np);
	} else {
		np->interface = PHY_INTERFACE_MODE_GMII;
		if (phydev) {
			phydev->is_internal = true;
			np->phy_interrupts = !lan78xx_polled(phydev);
		}
	}
	if (IS_ERR_OR_NULL(phydev)) {
		err = phydev ? PTR_ERR(phydev) : -ENODEV;
		goto unregister;
	}
	phydev->irq = np->phy_interrupts ? PHY_MAC_INTERRUPT : PHY_POLL;
	phydev->mac_managed_pm = true;
	phydev->mdix_ctrl = ETH_TP_MDI_AUTO;
	err = phy_connect_direct(netdev, phydev, lan78xx_link_changed,
				 np->interface);
	if (err) {
		lan78xx_fixed_link_end(np, phydev);
		goto unregister;
	}
	phy_remove_link_mode(phydev, ETHTOOL_LINK_MODE_1000baseT_Half_BIT);
	phy_support_asym_pause(phydev);
	lan78xx_find_leds(np, phydev);
	return 0;

unregister:
	mdiobus_unregister(np->mdio);
	mdiobus_free(np->mdio);
	return err;
}

void lan78xx_phy_detach(struct lan78xx *np)
{
	struct phy_device *phydev = np->netdev->phydev;

	phy_disconnect(phydev);
	lan78xx_fixed_link_end(np, phydev);
	mdiobus_unregister(np->mdio);
	mdiobus_free(np->mdio);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The PHY, through MDIC (10.2.2.7), and what the link decides: pause frames (6.3). */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/rtnetlink.h>

#include "i82574.h"

#define PHY_ADDRESS	1
#define MDIC_WAIT_US	2000
#define PAUSE_MAC_LOW	0x00c28001	/* 01:80:c2:00:00:01 */
#define PAUSE_MAC_HIGH	0x00000100
#define PAUSE_TYPE	0x8808
#define PAUSE_QUANTA	0xffff

static int mdic(struct i82574 *nic, u32 command, int reg)
{
	u32 value;

	i82574_write(nic, MDIC, command | reg << MDIC_REG_SHIFT |
		     PHY_ADDRESS << MDIC_PHY_SHIFT);
	if (read_poll_timeout(i82574_read, value, value & MDIC_READY, 20,
			      MDIC_WAIT_US, true, nic, MDIC) ||
	    value & MDIC_ERROR)
		return -EIO;
	return value & 0xffff;
}

/* Process context. 0xffff: the PHY does not answer, as if there were none. */
int i82574_mdio_read(struct net_device *netdev, int phy, int reg)
{
	struct i82574 *nic = i82574_of(netdev);
	int value = -EIO;

	mutex_lock(&nic->mdio_lock);
	if (phy == PHY_ADDRESS)
		value = mdic(nic, MDIC_READ, reg);
	mutex_unlock(&nic->mdio_lock);
	return value < 0 ? 0xffff : value;
}

void i82574_mdio_write(struct net_device *netdev, int phy, int reg, int value)
{
	struct i82574 *nic = i82574_of(netdev);

	mutex_lock(&nic->mdio_lock);
	if (phy == PHY_ADDRESS)
		mdic(nic, MDIC_WRITE | (value & 0xffff), reg);
	mutex_unlock(&nic->mdio_lock);
}

int i82574_phy_init(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;

	nic->mii = (struct mii_if_info) {
		.phy_id = PHY_ADDRESS,
		.phy_id_mask = 0x1f,
		.reg_num_mask = 0x1f,
		.dev = netdev,
		.mdio_read = i82574_mdio_read,
		.mdio_write = i82574_mdio_write,
	};
	if (i82574_mdio_read(netdev, PHY_ADDRESS, MII_PHYSID1) == 0xffff)
		return -ENODEV;
	nic->mii.supports_gmii = mii_check_gmii_support(&nic->mii);
	return 0;
}

/* The settings outlive a reset and a sleep. */
void i82574_phy_save(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;

	nic->phy_bmcr = i82574_mdio_read(netdev, PHY_ADDRESS, MII_BMCR);
	nic->phy_bmcr &= ~(BMCR_ANRESTART | BMCR_RESET | BMCR_PDOWN);
	nic->phy_advertise = i82574_mdio_read(netdev, PHY_ADDRESS, MII_ADVERTISE);
	nic->phy_ctrl1000 = i82574_mdio_read(netdev, PHY_ADDRESS, MII_CTRL1000);
	nic->phy_saved = true;
}

void i82574_phy_restore(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;
	u16 restart = nic->phy_bmcr & BMCR_ANENABLE ? BMCR_ANRESTART : 0;

	if (!nic->phy_saved)
		return;
	i82574_mdio_write(netdev, PHY_ADDRESS, MII_ADVERTISE, nic->phy_advertise);
	i82574_mdio_write(netdev, PHY_ADDRESS, MII_CTRL1000, nic->phy_ctrl1000);
	i82574_mdio_write(netdev, PHY_ADDRESS, MII_BMCR, nic->phy_bmcr | restart);
}

/* Pause frames are sent when the FIFO is this full, for as long as it takes to be this
 * empty again. What is on its way when one is sent still fits.
 */
static void flow_write(struct i82574 *nic, bool rx, bool tx)
{
	u32 fifo = (i82574_read(nic, PBA) & 0x3f) * SZ_1K;
	u32 frame = nic->port.netdev->mtu + FRAME_OVERHEAD;
	u32 high = rounddown(fifo - 2 * min(frame, fifo / 4), 8);

	i82574_write(nic, FCAL, PAUSE_MAC_LOW);
	i82574_write(nic, FCAH, PAUSE_MAC_HIGH);
	i82574_write(nic, FCT, PAUSE_TYPE);
	i82574_write(nic, FCTTV, PAUSE_QUANTA);
	i82574_write(nic, FCRTH, tx ? high : 0);
	i82574_write(nic, FCRTL, tx ? FCRTL_XON | rounddown(high / 2, 8) : 0);
	i82574_change(nic, CTRL, CTRL_RFCE | CTRL_TFCE,
		      (rx ? CTRL_RFCE : 0) | (tx ? CTRL_TFCE : 0));
}

/* What was negotiated, or is set. RTNL, or the link work. */
void i82574_flow_link(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;
	u8 found = (nic->flow_rx ? FLOW_CTRL_RX : 0) |
		   (nic->flow_tx ? FLOW_CTRL_TX : 0);

	if (nic->flow_auto && !nic->mii.force_media)
		found = mii_resolve_flowctrl_fdx(nic->mii.advertising,
						 i82574_mdio_read(netdev, PHY_ADDRESS,
								  MII_LPA));
	flow_write(nic, found & FLOW_CTRL_RX, found & FLOW_CTRL_TX);
}

static void flow_advertise(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;
	u8 wanted = (nic->flow_rx ? FLOW_CTRL_RX : 0) |
		    (nic->flow_tx ? FLOW_CTRL_TX : 0);
	u16 value = i82574_mdio_read(netdev, PHY_ADDRESS, MII_ADVERTISE);

	value &= ~(ADVERTISE_PAUSE_CAP | ADVERTISE_PAUSE_ASYM);
	value |= mii_advertise_flowctrl(wanted);
	nic->mii.advertising = value;
	i82574_mdio_write(netdev, PHY_ADDRESS, MII_ADVERTISE, value);
}

/* At the probe: both directions, as negotiated. */
void i82574_flow_init(struct i82574 *nic)
{
	nic->flow_auto = true;
	nic->flow_rx = true;
	nic->flow_tx = true;
	flow_advertise(nic);
	mii_nway_restart(&nic->mii);
}

void i82574_get_pauseparam(struct net_device *netdev,
			   struct ethtool_pauseparam *pause)
{
	const struct i82574 *nic = i82574_of(netdev);

	pause->autoneg = nic->flow_auto;
	pause->rx_pause = nic->flow_rx;
	pause->tx_pause = nic->flow_tx;
}

int i82574_set_pauseparam(struct net_device *netdev,
			  struct ethtool_pauseparam *pause)
{
	struct i82574 *nic = i82574_of(netdev);

	nic->flow_auto = pause->autoneg;
	nic->flow_rx = pause->rx_pause;
	nic->flow_tx = pause->tx_pause;
	if (nic->flow_auto && !nic->mii.force_media) {
		flow_advertise(nic);
		i82574_phy_save(nic);
		mii_nway_restart(&nic->mii);
	} else if (nic->running) {
		i82574_flow_link(nic);
	}
	return 0;
}

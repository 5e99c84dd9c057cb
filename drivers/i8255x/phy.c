// SPDX-License-Identifier: GPL-2.0-only
/* The PHY: where it is, and what it needs besides the registers of IEEE 802.3. */
#include "i8255x.h"

/* The PHY is usually at address 1 (EEPROM word 6); otherwise search for it. */
int i8255x_find_phy(struct i8255x *np)
{
	int i;

	for (i = 0; i < 32; i++) {
		int phy = (i + 1) % 32;
		int status = i8255x_mdio_read(np->netdev, phy, MII_BMSR);

		if (status && status != 0xffff)
			return phy;
	}
	return -ENODEV;
}

u32 i8255x_phy_id(struct i8255x *np, int phy)
{
	return i8255x_mdio_read(np->netdev, phy, MII_PHYSID1) << 16 |
	       i8255x_mdio_read(np->netdev, phy, MII_PHYSID2);
}

#define NSC_CONGESTION	0x17		/* register of congestion control */
#define NSC_ENABLE	BIT(8)
#define NSC_TXREADY	BIT(10)
#define MDIX_REGISTER	0x1c
#define MDIX_AUTO	BIT(7)
#define MDIX_PRESENT	BIT(15)		/* of MII_TPISTATUS */

/* The PHY finds out which pair of wires receives, unless the speed is forced. RTNL,
 * or at the probe.
 */
void i8255x_phy_mdix(struct i8255x *np)
{
	struct net_device *netdev = np->netdev;
	int phy = np->mii.phy_id;

	if (np->chip >= I82550 ||
	    (np->ich &&
	     i8255x_mdio_read(netdev, phy, MII_TPISTATUS) & MDIX_PRESENT &&
	     irqmod_eeprom_word(&np->eeprom, EEPROM_COMPAT) &
		     EEPROM_COMPAT_MDIX))
		i8255x_mdio_write(netdev, phy, MDIX_REGISTER,
				  np->mii.force_media ? 0 : MDIX_AUTO);
}

/* Only one PHY drives the MII. What some of them need besides, as in e100. */
void i8255x_init_phy(struct i8255x *np, int phy)
{
	struct net_device *netdev = np->netdev;
	int bmcr, other;
	u16 value;

	bmcr = i8255x_mdio_read(netdev, phy, MII_BMCR);
	for (other = 0; other < 32; other++)
		if (other != phy)
			i8255x_mdio_write(netdev, other, MII_BMCR, BMCR_ISOLATE);
	/* All ones: the PHY did not answer. */
	if (bmcr != 0xffff && bmcr & BMCR_ISOLATE)
		i8255x_mdio_write(netdev, phy, MII_BMCR, bmcr & ~BMCR_ISOLATE);

	if ((i8255x_phy_id(np, phy) & PHY_NSC_MASK) == PHY_NSC) {
		value = i8255x_mdio_read(netdev, phy, NSC_CONGESTION);
		i8255x_mdio_write(netdev, phy, NSC_CONGESTION,
				  (value | NSC_TXREADY) & ~NSC_ENABLE);
	}
	i8255x_phy_mdix(np);
}

/* Commands to the chip may hang it on a slow link. While there is no link it may
 * come up slow, so this is called before the carrier is on, too.
 */
void i8255x_link_speed(struct i8255x *np)
{
	struct ethtool_link_ksettings link = { };
	bool slow = true;

	if (mii_link_ok(&np->mii)) {
		mii_ethtool_get_link_ksettings(&np->mii, &link);
		slow = link.base.speed != SPEED_100;
	}
	WRITE_ONCE(np->slow_link, slow);
}

/* Whether full duplex is forced: what was set, since the PHY may not answer. */
bool i8255x_phy_forces_full(const struct i8255x *np)
{
	return np->mii_kept.saved && !(np->mii_kept.bmcr & BMCR_ANENABLE) &&
	       np->mii_kept.bmcr & BMCR_FULLDPLX;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings of a PHY that mii.c knows. It forgets them with its power, and after an
 * error of the bus it cannot be asked. Inline: only drivers of such chips need mii.c.
 * Under RTNL, with what protects the PHY.
 */
#ifndef IRQMOD_MII_H
#define IRQMOD_MII_H

#include <linux/mii.h>
#include <linux/netdevice.h>

struct irqmod_mii {
	bool saved;
	u16 bmcr;
	u16 advertise;
};

static inline u16 irqmod_mii_read(struct mii_if_info *mii, int reg)
{
	return mii->mdio_read(mii->dev, mii->phy_id, reg);
}

/* While the PHY negotiates, speed and duplex may be what it has negotiated. */
static inline u16 irqmod_mii_settings(u16 bmcr)
{
	return bmcr & BMCR_ANENABLE ?: bmcr & (BMCR_SPEED100 | BMCR_FULLDPLX);
}

/* Keeps what ethtool or an ioctl has just set. */
static inline void irqmod_mii_save(struct mii_if_info *mii, struct irqmod_mii *kept)
{
	u16 bmcr = irqmod_mii_read(mii, MII_BMCR);

	if (bmcr == 0xffff)		/* the PHY does not answer */
		return;
	/* Until a reset of the PHY ends, its settings are the old ones. */
	kept->saved = !(bmcr & BMCR_RESET);
	kept->bmcr = irqmod_mii_settings(bmcr);
	kept->advertise = irqmod_mii_read(mii, MII_ADVERTISE);
}

/* Sets it again if it differs: the link need not go down. */
static inline void irqmod_mii_restore(struct mii_if_info *mii, const struct irqmod_mii *kept)
{
	u16 bmcr = kept->bmcr;

	if (!kept->saved || (irqmod_mii_settings(irqmod_mii_read(mii, MII_BMCR)) == bmcr &&
			     irqmod_mii_read(mii, MII_ADVERTISE) == kept->advertise))
		return;
	mii->mdio_write(mii->dev, mii->phy_id, MII_ADVERTISE, kept->advertise);
	if (bmcr & BMCR_ANENABLE)
		bmcr |= BMCR_ANRESTART;
	mii->mdio_write(mii->dev, mii->phy_id, MII_BMCR, bmcr);
	netif_carrier_off(mii->dev);
}

#endif /* IRQMOD_MII_H */

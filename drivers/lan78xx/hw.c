// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reset and configuration of the chip, and starting and stopping its data paths.
 * The driver configures the chip completely at every open and every resume, and
 * does not rely on state that it may have lost.
 */
#include "lan78xx.h"

#define DELAY_PER_USEC	60	/* BULK_IN_DLY counts 1/60 us */

int lan78xx_hw_reset(struct lan78xx *np)
{
	u32 id;
	int err;

	err = lan78xx_update(np, HW_CFG, HW_CFG_LRST, HW_CFG_LRST);
	if (err)
		return err;
	err = lan78xx_wait(np, HW_CFG, HW_CFG_LRST, 0);
	if (err)
		return err;
	err = lan78xx_read(np, ID_REV, &id);
	if (err)
		return err;
	np->chip = id >> ID_REV_CHIP_SHIFT;
	switch (np->chip) {
	case CHIP_LAN7800:
	case CHIP_LAN7801:
	case CHIP_LAN7850:
		return 0;
	default:
		return -ENODEV;
	}
}

int lan78xx_phy_reset(struct lan78xx *np)
{
	int err;

	err = lan78xx_update(np, PMT_CTL, PMT_PHY_RST, PMT_PHY_RST);
	if (err)
		return err;
	return lan78xx_wait(np, PMT_CTL, PMT_PHY_RST | PMT_READY, PMT_READY);
}

/* For pause frames and wake-up; receive uses the filter. */
int lan78xx_set_address(struct lan78xx *np)
{
	const u8 *mac = np->netdev->dev_addr;
	u32 low = mac[0] | mac[1] << 8 | mac[2] << 16 | (u32)mac[3] << 24;
	u32 high = mac[4] | mac[5] << 8;
	int err;

	err = lan78xx_write(np, RX_ADDRL, low);
	if (!err)
		err = lan78xx_write(np, RX_ADDRH, high);
	return err;
}

/* The receiver must be disabled during the change. */
int lan78xx_set_frame_size(struct lan78xx *np, unsigned int mtu)
{
	u32 size = mtu + ETH_HLEN + VLAN_HLEN + ETH_FCS_LEN;
	u32 value, was;
	int err;

	err = lan78xx_read(np, MAC_RX, &was);
	if (err)
		return err;
	err = lan78xx_write(np, MAC_RX, was & ~MAC_RX_RXEN);
	if (err)
		return err;
	value = (was & ~MAC_RX_MAX_SIZE) | size << MAC_RX_MAX_SIZE_SHIFT;
	err = lan78xx_write(np, MAC_RX, value & ~MAC_RX_RXEN);
	if (!err && (was & MAC_RX_RXEN))
		err = lan78xx_write(np, MAC_RX, value);
	/* The size stays as it was. Try to enable the receiver again. */
	if (err)
		lan78xx_write(np, MAC_RX, was);
	return err;
}

/* How long the chip waits for more frames. */
int lan78xx_set_delay(struct lan78xx *np, u32 usecs)
{
	return lan78xx_write(np, BULK_IN_DLY, usecs * DELAY_PER_USEC);
}

/* Limits a transfer, in packets of the bus; a longer frame is sent alone. A
 * failure is not retried: the next change writes the register again.
 *
 * Also written while transfers are under way, which the data sheet neither allows
 * nor forbids. It is one write of one register, and neither the old value nor the
 * new one exceeds a URB: whenever the chip reads it, the transfer ends within the
 * URB. That it reads it at any time is an assumption; without adaptive_burst the
 * value does not change.
 */
int lan78xx_set_burst(struct lan78xx *np)
{
	unsigned int most = np->sizes.rx_bytes / np->maxpacket;

	return lan78xx_write(np, BURST_CAP, lan78xx_has(np, adaptive_burst) ?
			     min(READ_ONCE(np->rx.burst), most) : most);
}

/* Without a PHY, nobody else delays the clock of the LAN7801's RGMII. */
static int lan78xx_set_rgmii(struct lan78xx *np)
{
	int err = lan78xx_write(np, MAC_RGMII_ID, MAC_RGMII_ID_TXC_DELAY);

	if (!err)
		err = lan78xx_write(np, RGMII_TX_BYP_DLL, RGMII_TX_DLL_TUNE);
	return err;
}

int lan78xx_hw_init(struct lan78xx *np)
{
	const struct {
		u32 reg, mask, value;
	} settings[] = {
		{ USB_CFG0, USB_CFG0_BIR | USB_CFG0_BCE,
		  USB_CFG0_BIR | USB_CFG0_BCE },
		{ HW_CFG, HW_CFG_MEF | HW_CFG_CLK125_EN | HW_CFG_REFCLK25_EN |
		  np->led_mask,
		  HW_CFG_MEF | HW_CFG_CLK125_EN | HW_CFG_REFCLK25_EN |
		  np->leds },
		{ FCT_RX_FIFO_END, ~0, FIFO_BYTES / FIFO_UNIT - 1 },
		{ FCT_TX_FIFO_END, ~0, FIFO_BYTES / FIFO_UNIT - 1 },
		{ INT_STS, ~0, ~0 },
		{ LAN78XX_FLOW, ~0, 0 },
		{ FCT_FLOW, ~0,
		  np->speed->pause_on / FIFO_UNIT << FCT_FLOW_ON_SHIFT |
		  np->speed->pause_off / FIFO_UNIT << FCT_FLOW_OFF_SHIFT },
		/* The MAC follows the PHY, whatever an EEPROM says. The
		 * kernel's driver left these bits as an EEPROM has them; since
		 * it uses phylink (2025), it sets what the PHY negotiated, also
		 * regardless of the EEPROM. The LAN7801 only has RGMII.
		 */
		{ MAC_CR, MAC_CR_AUTO_SPEED | MAC_CR_AUTO_DUPLEX |
		  (np->chip == CHIP_LAN7801 ? MAC_CR_GMII_EN : 0),
		  MAC_CR_AUTO_SPEED | MAC_CR_AUTO_DUPLEX },
		{ INT_EP_CTL, ~0, np->phy_interrupts ? INT_PHY : 0 },
	};
	int i, err;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		if (settings[i].mask == ~0)
			err = lan78xx_write(np, settings[i].reg,
					    settings[i].value);
		else
			err = lan78xx_update(np, settings[i].reg,
					     settings[i].mask,
					     settings[i].value);
		if (err)
			return err;
	}
	err = lan78xx_init_ltm(np);
	if (!err && np->phy_fixed)
		err = lan78xx_set_rgmii(np);
	if (!err)
		err = lan78xx_set_delay(np, np->queue.rx_usecs);
	if (!err)
		err = lan78xx_set_burst(np);
	if (!err)
		err = lan78xx_set_address(np);
	if (!err)
		err = lan78xx_set_frame_size(np, np->netdev->mtu);
	lan78xx_forget_filter(np);
	if (!err)
		err = lan78xx_apply_filter(np);
	return err;
}

/* Resets the FIFOs, then enables transmitter and receiver. */
int lan78xx_hw_start(struct lan78xx *np)
{
	static const struct {
		u32 reg, bits;
	} steps[] = {
		{ FCT_RX_CTL, FCT_RST }, { FCT_TX_CTL, FCT_RST },
		{ MAC_TX, MAC_TX_TXEN }, { FCT_TX_CTL, FCT_EN },
		{ FCT_RX_CTL, FCT_EN }, { MAC_RX, MAC_RX_RXEN },
	};
	int i, err;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		err = lan78xx_update(np, steps[i].reg, steps[i].bits,
				     steps[i].bits);
		if (err)
			return err;
	}
	return 0;
}

/* Gives up when the device no longer responds. */
void lan78xx_hw_stop(struct lan78xx *np)
{
	static const struct {
		u32 reg, enabled, disabled;
	} steps[] = {
		{ MAC_RX, MAC_RX_RXEN, MAC_RX_RXD },
		{ FCT_RX_CTL, FCT_EN, FCT_DIS },
		{ FCT_TX_CTL, FCT_EN, FCT_DIS },
		{ MAC_TX, MAC_TX_TXEN, MAC_TX_TXD },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		if (lan78xx_update(np, steps[i].reg, steps[i].enabled, 0))
			return;
		lan78xx_wait(np, steps[i].reg, steps[i].disabled,
			     steps[i].disabled);
	}
}

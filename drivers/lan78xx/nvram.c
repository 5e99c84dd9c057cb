// SPDX-License-Identifier: GPL-2.0-only
/*
 * EEPROM and OTP memory, and what they hold: the MAC address and the values of
 * the latency tolerance. Sources of the address, in this order: the device tree,
 * which overrides the memories (its binding, microchip,lan78xx.txt), the register
 * that the chip loads from them after a reset, the EEPROM, the OTP memory, a random
 * address.
 */
#include <linux/etherdevice.h>

#include "lan78xx.h"

static int lan78xx_read_eeprom_bytes(struct lan78xx *np, u32 at, u32 bytes,
				     u8 *data)
{
	u32 i, value;
	int err;

	for (i = 0; i < bytes; i++) {
		err = lan78xx_wait(np, E2P_CMD, E2P_CMD_BUSY, 0);
		if (err)
			return err;
		err = lan78xx_write(np, E2P_CMD, E2P_CMD_BUSY | E2P_CMD_READ |
				    ((at + i) & E2P_CMD_ADDR));
		if (err)
			return err;
		err = lan78xx_wait(np, E2P_CMD, E2P_CMD_BUSY, 0);
		if (err)
			return err;
		err = lan78xx_read(np, E2P_CMD, &value);
		if (err)
			return err;
		if (value & E2P_CMD_TIMEOUT)
			return -EIO;	/* no EEPROM */
		err = lan78xx_read(np, E2P_DATA, &value);
		if (err)
			return err;
		data[i] = value;
	}
	return 0;
}

/* On the LAN7800 the EEPROM shares pins with two LEDs. */
int lan78xx_read_eeprom(struct lan78xx *np, u32 at, u32 bytes, u8 *data)
{
	const u32 leds = HW_CFG_LED0_EN | HW_CFG_LED1_EN;
	u32 before = 0;
	int err = 0;

	mutex_lock(&np->nvram_lock);
	if (np->chip == CHIP_LAN7800) {
		err = lan78xx_read(np, HW_CFG, &before);
		if (!err)
			err = lan78xx_write(np, HW_CFG, before & ~leds);
	}
	if (!err) {
		err = lan78xx_read_eeprom_bytes(np, at, bytes, data);
		if (np->chip == CHIP_LAN7800)
			lan78xx_write(np, HW_CFG, before);
	}
	mutex_unlock(&np->nvram_lock);
	return err;
}

static int lan78xx_read_otp(struct lan78xx *np, u32 at, u32 bytes, u8 *data)
{
	u32 i, value;
	int err;

	err = lan78xx_write(np, OTP_PWR_DN, 0);
	if (!err)
		err = lan78xx_wait(np, OTP_PWR_DN, OTP_PWR_DN_PWRDN, 0);
	for (i = 0; !err && i < bytes; i++) {
		err = lan78xx_set(np, { OTP_ADDR1, ~0, (at + i) >> 8 & OTP_ADDR1_MASK },
				  { OTP_ADDR2, ~0, (at + i) & OTP_ADDR2_MASK },
				  { OTP_FUNC_CMD, ~0, OTP_FUNC_READ },
				  { OTP_CMD_GO, ~0, OTP_GO });
		if (!err)
			err = lan78xx_wait(np, OTP_STATUS, OTP_BUSY, 0);
		if (!err)
			err = lan78xx_read(np, OTP_RD_DATA, &value);
		if (!err)
			data[i] = value;
	}
	return err;
}

static bool lan78xx_from_registers(struct lan78xx *np, u8 *mac)
{
	u32 low, high;

	if (lan78xx_read(np, RX_ADDRL, &low) ||
	    lan78xx_read(np, RX_ADDRH, &high))
		return false;
	mac[0] = low;
	mac[1] = low >> 8;
	mac[2] = low >> 16;
	mac[3] = low >> 24;
	mac[4] = high;
	mac[5] = high >> 8;
	return is_valid_ether_addr(mac);
}

/* Both memories have the same contents. Fails if this one has none. */
static int lan78xx_from_eeprom(struct lan78xx *np, u32 at, u32 bytes, u8 *data)
{
	u8 mark;
	int err;

	err = lan78xx_read_eeprom(np, 0, 1, &mark);
	if (err)
		return err;
	if (mark != EEPROM_MARK)
		return -ENODATA;
	return lan78xx_read_eeprom(np, at, bytes, data);
}

static int lan78xx_from_otp(struct lan78xx *np, u32 at, u32 bytes, u8 *data)
{
	u8 mark;
	int err;

	err = lan78xx_read_otp(np, 0, 1, &mark);
	if (err)
		return err;
	if (mark == OTP_MARK_2)
		at += OTP_SECOND;
	else if (mark != OTP_MARK_1)
		return -ENODATA;
	return lan78xx_read_otp(np, at, bytes, data);
}

void lan78xx_find_address(struct lan78xx *np)
{
	u8 mac[ETH_ALEN];

	if (!eth_platform_get_mac_address(&np->udev->dev, mac) ||
	    lan78xx_from_registers(np, mac) ||
	    (!lan78xx_from_eeprom(np, NVRAM_MAC, ETH_ALEN, mac) &&
	     is_valid_ether_addr(mac)) ||
	    (!lan78xx_from_otp(np, NVRAM_MAC, ETH_ALEN, mac) &&
	     is_valid_ether_addr(mac))) {
		eth_hw_addr_set(np->netdev, mac);
		return;
	}
	eth_hw_addr_random(np->netdev);
	netdev_info(np->netdev, "no MAC address found, taking a random one\n");
}

/* @values stay 0 if the memory's owner has set none. */
static void lan78xx_find_ltm(struct lan78xx *np, __le32 values[LTM_REGISTERS])
{
	int (*from)(struct lan78xx *np, u32 at, u32 bytes, u8 *data) = lan78xx_from_eeprom;
	const u32 bytes = LTM_REGISTERS * sizeof(*values);
	__le32 found[LTM_REGISTERS];
	u8 block[2];

	if (from(np, NVRAM_LTM, sizeof(block), block)) {
		from = lan78xx_from_otp;
		if (from(np, NVRAM_LTM, sizeof(block), block))
			return;
	}
	if (block[0] == bytes && !from(np, 2 * block[1], bytes, (u8 *)found))
		memcpy(values, found, bytes);
}

/* What the chip tells a USB 3 host of the latency that it tolerates, as in the
 * in-tree driver. The LAN7850 has USB 2 only.
 */
int lan78xx_init_ltm(struct lan78xx *np)
{
	__le32 values[LTM_REGISTERS] = {};
	u32 config;
	int i, err;

	if (np->chip == CHIP_LAN7850)
		return 0;
	err = lan78xx_read(np, USB_CFG1, &config);
	if (!err && config & USB_CFG1_LTM_EN)
		lan78xx_find_ltm(np, values);
	for (i = 0; !err && i < LTM_REGISTERS; i++)
		err = lan78xx_write(np, LTM_BELT_IDLE0 + 4 * i,
				    le32_to_cpu(values[i]));
	return err;
}

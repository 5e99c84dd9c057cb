// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTL8139C+: the EEPROM, a 93C46 or 93C66 behind CP_9346CR. While its pins are driven,
 * the chip neither receives nor sends. All under RTNL, as all users of CP_9346CR.
 */
#include "rtl8139cp.h"

#define CP_EEPROM_ID	0x8129	/* word 0 */

static void cp_eeprom_write_pins(struct eeprom_93cx6 *eeprom)
{
	struct cp *cp = container_of(eeprom, struct cp, eeprom);

	writeb(CP_9346CR_PROGRAM |
	       (eeprom->reg_chip_select ? CP_9346CR_EECS : 0) |
	       (eeprom->reg_data_clock ? CP_9346CR_EESK : 0) |
	       (eeprom->reg_data_in ? CP_9346CR_EEDI : 0),
	       cp->regs + CP_9346CR);
	readb(cp->regs + CP_9346CR);
}

static void cp_eeprom_read_pins(struct eeprom_93cx6 *eeprom)
{
	struct cp *cp = container_of(eeprom, struct cp, eeprom);

	eeprom->reg_data_out = !!(readb(cp->regs + CP_9346CR) & CP_9346CR_EEDO);
}

/* At the probe. A smaller EEPROM answers a long address with something else. */
void cp_eeprom_init(struct cp *cp)
{
	struct eeprom_93cx6 *eeprom = &cp->eeprom;

	eeprom->register_read = cp_eeprom_read_pins;
	eeprom->register_write = cp_eeprom_write_pins;
	eeprom->width = PCI_EEPROM_WIDTH_93C66;
	if (irqmod_eeprom_word(eeprom, 0) != CP_EEPROM_ID)
		eeprom->width = PCI_EEPROM_WIDTH_93C46;
	cp_hw_lock(cp);
}

int cp_get_eeprom_len(struct net_device *netdev)
{
	return irqmod_eeprom_bytes(&cp_of(netdev)->eeprom);
}

/* That of 8139cp. */
#define CP_EEPROM_MAGIC	PCI_DEVICE_ID_REALTEK_8139

int cp_get_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom, u8 *bytes)
{
	struct cp *cp = cp_of(netdev);

	eeprom->magic = CP_EEPROM_MAGIC;
	irqmod_eeprom_get(&cp->eeprom, eeprom->offset, eeprom->len, bytes);
	cp_hw_lock(cp);
	return 0;
}

int cp_set_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom, u8 *bytes)
{
	struct cp *cp = cp_of(netdev);
	int err;

	if (eeprom->magic != CP_EEPROM_MAGIC)
		return -EINVAL;
	err = irqmod_eeprom_put(&cp->eeprom, eeprom->offset, eeprom->len, bytes);
	cp_hw_lock(cp);
	return err;
}

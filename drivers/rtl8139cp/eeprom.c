// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTL8139C+: the EEPROM, a 93C46 or 93C66 behind CP_9346CR. While its pins are driven,
 * the chip neither receives nor sends. All under RTNL, as all users of CP_9346CR.
 */
#include "rtl8139cp.h"

#define CP_EEPROM_ID	0x8129	/* word 0 */

static void cp_eeprom_pins(struct irqmod_microwire *mw, unsigned int pins)
{
	struct cp *cp = container_of(mw, struct cp, eeprom);

	writeb(CP_9346CR_PROGRAM |
	       (pins & IRQMOD_MW_CS ? CP_9346CR_EECS : 0) |
	       (pins & IRQMOD_MW_SK ? CP_9346CR_EESK : 0) |
	       (pins & IRQMOD_MW_DI ? CP_9346CR_EEDI : 0),
	       cp->regs + CP_9346CR);
	readb(cp->regs + CP_9346CR);
}

static bool cp_eeprom_out(struct irqmod_microwire *mw)
{
	struct cp *cp = container_of(mw, struct cp, eeprom);

	return readb(cp->regs + CP_9346CR) & CP_9346CR_EEDO;
}

/* At the probe. A smaller EEPROM answers a long address with something else. */
void cp_eeprom_init(struct cp *cp)
{
	cp->eeprom.set = cp_eeprom_pins;
	cp->eeprom.get = cp_eeprom_out;
	cp->eeprom.address_bits = 8;
	if (irqmod_microwire_read(&cp->eeprom, 0) != CP_EEPROM_ID)
		cp->eeprom.address_bits = 6;
	cp_hw_lock(cp);
}

void cp_eeprom_get(struct cp *cp, unsigned int offset, unsigned int len,
		   u8 *bytes)
{
	irqmod_microwire_get(&cp->eeprom, offset, len, bytes);
	cp_hw_lock(cp);
}

int cp_eeprom_put(struct cp *cp, unsigned int offset, unsigned int len,
		  const u8 *bytes)
{
	int err;

	err = irqmod_microwire_put(&cp->eeprom, offset, len, bytes);
	cp_hw_lock(cp);
	return err;
}

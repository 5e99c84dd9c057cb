// SPDX-License-Identifier: GPL-2.0-only
/* The EEPROM (5, 6.3.4): a 93C46 or 93C66 with the address and a checksum. RTNL. */
#include <linux/io.h>
#include <linux/slab.h>

#include "i8255x.h"

static void eeprom_set(struct irqmod_microwire *mw, unsigned int pins)
{
	struct i8255x *np = container_of(mw, struct i8255x, eeprom);

	writew((pins & IRQMOD_MW_CS ? EE_CS : 0) |
	       (pins & IRQMOD_MW_SK ? EE_SK : 0) |
	       (pins & IRQMOD_MW_DI ? EE_DI : 0), np->regs + EEPROM);
	readw(np->regs + EEPROM);
}

static bool eeprom_get(struct irqmod_microwire *mw)
{
	struct i8255x *np = container_of(mw, struct i8255x, eeprom);

	return readw(np->regs + EEPROM) & EE_DO;
}

int i8255x_eeprom_init(struct i8255x *np)
{
	np->eeprom.set = eeprom_set;
	np->eeprom.get = eeprom_get;
	irqmod_microwire_size(&np->eeprom);
	return np->eeprom.address_bits < 6 ? -ENODEV : 0;
}

/* The sum of all words but the last: that one makes it EEPROM_SUM. */
static u16 eeprom_sum(struct i8255x *np, unsigned int last)
{
	unsigned int i;
	u16 sum = 0;

	for (i = 0; i < last; i++) {
		sum += irqmod_microwire_read(&np->eeprom, i);
		cond_resched();
	}
	return sum;
}

/* The sum of all words. */
u16 i8255x_eeprom_sum(struct i8255x *np)
{
	return eeprom_sum(np, 1 << np->eeprom.address_bits);
}

/* Writes bytes, and whatever checksum they need. */
int i8255x_eeprom_put(struct i8255x *np, unsigned int offset,
		      unsigned int len, const u8 *bytes)
{
	unsigned int last = (1 << np->eeprom.address_bits) - 1;
	u8 checksum[2];
	u16 word;
	int err;

	err = irqmod_microwire_put(&np->eeprom, offset, len, bytes);
	if (err)
		return err;
	word = EEPROM_SUM - eeprom_sum(np, last);
	checksum[0] = word & 0xff;
	checksum[1] = word >> 8;
	return irqmod_microwire_put(&np->eeprom, 2 * last, sizeof(checksum),
				    checksum);
}

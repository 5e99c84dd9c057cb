// SPDX-License-Identifier: GPL-2.0-only
/* The EEPROM (5, 6.3.4): a 93C46 or 93C66 with the address and a checksum. RTNL. */
#include <linux/io.h>
#include <linux/slab.h>

#include "i8255x.h"

static void i8255x_eeprom_set(struct irqmod_microwire *mw, unsigned int pins)
{
	struct i8255x *np = container_of(mw, struct i8255x, eeprom);

	writew((pins & IRQMOD_MW_CS ? EE_CS : 0) |
	       (pins & IRQMOD_MW_SK ? EE_SK : 0) |
	       (pins & IRQMOD_MW_DI ? EE_DI : 0), np->regs + I8255X_EEPROM);
	readw(np->regs + I8255X_EEPROM);
}

static bool i8255x_eeprom_get(struct irqmod_microwire *mw)
{
	struct i8255x *np = container_of(mw, struct i8255x, eeprom);

	return readw(np->regs + I8255X_EEPROM) & EE_DO;
}

int i8255x_eeprom_init(struct i8255x *np)
{
	np->eeprom.set = i8255x_eeprom_set;
	np->eeprom.get = i8255x_eeprom_get;
	irqmod_microwire_size(&np->eeprom);
	return np->eeprom.address_bits == 6 || np->eeprom.address_bits == 8 ?
	       0 : -ENODEV;
}

/* The sum of all words but the last: that one makes it EEPROM_SUM. */
static u16 i8255x_eeprom_sum_to(struct i8255x *np, unsigned int last)
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
	return i8255x_eeprom_sum_to(np, 1 << np->eeprom.address_bits);
}

/* Writes bytes, and whatever checksum they need. */
int i8255x_eeprom_put(struct i8255x *np, unsigned int offset,
		      unsigned int len, const u8 *bytes)
{
	unsigned int last = (1 << np->eeprom.address_bits) - 1;
	u8 checksum[2];
	int err, failed;
	u16 word;

	failed = irqmod_microwire_put(&np->eeprom, offset, len, bytes);
	/* Some words may have been written: without it, no probe succeeds. */
	word = EEPROM_SUM - i8255x_eeprom_sum_to(np, last);
	checksum[0] = word & 0xff;
	checksum[1] = word >> 8;
	err = irqmod_microwire_put(&np->eeprom, 2 * last, sizeof(checksum),
				   checksum);
	return failed ?: err;
}

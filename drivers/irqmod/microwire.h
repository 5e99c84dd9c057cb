/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Serial EEPROMs of the 93C46 family, behind pins that a chip's register drives.
 * Embed a struct irqmod_microwire, and serialize its users (RTNL).
 */
#ifndef IRQMOD_MICROWIRE_H
#define IRQMOD_MICROWIRE_H

#include <linux/bits.h>
#include <linux/types.h>

/* The pins that the host drives. */
#define IRQMOD_MW_CS	BIT(0)	/* chip select */
#define IRQMOD_MW_SK	BIT(1)	/* clock */
#define IRQMOD_MW_DI	BIT(2)	/* data in */

/**
 * struct irqmod_microwire - an EEPROM of 16-bit words
 * @set: drives the pins; the write has reached the chip when it returns
 * @get: reads the data output
 * @address_bits: 6 (93C46) or 8 (93C56, 93C66)
 */
struct irqmod_microwire {
	void (*set)(struct irqmod_microwire *mw, unsigned int pins);
	bool (*get)(struct irqmod_microwire *mw);
	unsigned int address_bits;
};

static inline unsigned int irqmod_microwire_bytes(const struct irqmod_microwire *mw)
{
	return 2 << mw->address_bits;
}

void irqmod_microwire_size(struct irqmod_microwire *mw);
u16 irqmod_microwire_read(struct irqmod_microwire *mw, unsigned int address);
void irqmod_microwire_get(struct irqmod_microwire *mw, unsigned int offset,
			  unsigned int len, u8 *bytes);
int irqmod_microwire_put(struct irqmod_microwire *mw, unsigned int offset,
			 unsigned int len, const u8 *bytes);

#endif /* IRQMOD_MICROWIRE_H */

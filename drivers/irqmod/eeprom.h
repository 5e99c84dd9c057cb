/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Serial EEPROMs of the 93C46 family, byte by byte, as ethtool wants them, with the
 * kernel's eeprom_93cx6. Inline: only drivers of chips that have one need that module.
 * Words are little-endian. Process context; callers hold RTNL, and have checked that the
 * bytes exist.
 */
#ifndef IRQMOD_EEPROM_H
#define IRQMOD_EEPROM_H

#include <linux/eeprom_93cx6.h>
#include <linux/sched.h>

static inline unsigned int irqmod_eeprom_bytes(const struct eeprom_93cx6 *eeprom)
{
	return 2 << eeprom->width;
}

static inline u16 irqmod_eeprom_word(struct eeprom_93cx6 *eeprom, unsigned int at)
{
	u16 word;

	eeprom_93cx6_read(eeprom, at, &word);
	cond_resched();
	return word;
}

static inline void irqmod_eeprom_get(struct eeprom_93cx6 *eeprom, unsigned int offset,
				     unsigned int len, u8 *bytes)
{
	unsigned int i;
	u16 word = 0;

	for (i = offset; i < offset + len; i++) {
		if (i == offset || !(i & 1))
			word = irqmod_eeprom_word(eeprom, i / 2);
		*bytes++ = i & 1 ? word >> 8 : word & 0xff;
	}
}

/* Words that have their value already are not written. -EIO: a word is not what was
 * written.
 */
static inline int irqmod_eeprom_put(struct eeprom_93cx6 *eeprom, unsigned int offset,
				    unsigned int len, const u8 *bytes)
{
	unsigned int at, end = offset + len;
	int err = 0;

	eeprom_93cx6_wren(eeprom, true);
	for (at = offset / 2; at * 2 < end && !err; at++) {
		u16 old = irqmod_eeprom_word(eeprom, at), word = old;

		if (at * 2 >= offset)
			word = (word & 0xff00) | bytes[at * 2 - offset];
		if (at * 2 + 1 < end)
			word = (word & 0xff) | bytes[at * 2 + 1 - offset] << 8;
		if (word == old)
			continue;
		eeprom_93cx6_write(eeprom, at, word);
		if (irqmod_eeprom_word(eeprom, at) != word)
			err = -EIO;
	}
	eeprom_93cx6_wren(eeprom, false);
	return err;
}

#endif /* IRQMOD_EEPROM_H */

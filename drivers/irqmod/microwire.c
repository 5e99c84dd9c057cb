// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serial EEPROMs of the 93C46 family (National Semiconductor, "NM93C46 1024-Bit
 * Serial EEPROM"): a start bit, two bits of opcode, an address, 16 bits of data.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/sched.h>

#include "microwire.h"

#define MW_HALF_US	4	/* half a clock */
#define MW_WRITE_TRIES	20	/* waits of a millisecond for a write */

/* The start bit and the opcode. */
enum {
	MW_OTHER	= 4,	/* the address says which: MW_ENABLE, MW_DISABLE */
	MW_WRITE	= 5,
	MW_READ		= 6,
	MW_ERASE	= 7,
	MW_COMMAND_BITS	= 3,

	/* The two highest bits of the address. */
	MW_DISABLE	= 0,
	MW_ENABLE	= 3,
};

static void microwire_set(struct irqmod_microwire *mw, unsigned int pins)
{
	mw->set(mw, pins);
	udelay(MW_HALF_US);
}

static bool microwire_clock(struct irqmod_microwire *mw, bool bit)
{
	unsigned int data = bit ? IRQMOD_MW_DI : 0;

	microwire_set(mw, IRQMOD_MW_CS | data);
	microwire_set(mw, IRQMOD_MW_CS | IRQMOD_MW_SK | data);
	return mw->get(mw);
}

static void microwire_out(struct irqmod_microwire *mw, u32 value, int bits)
{
	while (bits--)
		microwire_clock(mw, value & BIT(bits));
}

static void microwire_begin(struct irqmod_microwire *mw, u32 command,
			    unsigned int address)
{
	microwire_set(mw, IRQMOD_MW_CS | IRQMOD_MW_SK);
	microwire_out(mw, command, MW_COMMAND_BITS);
	microwire_out(mw, address, mw->address_bits);
}

static void microwire_end(struct irqmod_microwire *mw)
{
	microwire_set(mw, 0);
}

/**
 * irqmod_microwire_size() - finds out how many bits an address has
 * @mw: the EEPROM; gets its @address_bits
 *
 * The EEPROM answers the last bit of an address with a 0 on its output. For chips
 * on which the output is high before.
 *
 * Context: process.
 */
void irqmod_microwire_size(struct irqmod_microwire *mw)
{
	mw->address_bits = 0;
	microwire_begin(mw, MW_READ, 0);
	do
		mw->address_bits++;
	while (microwire_clock(mw, false) && mw->address_bits < 8);
	microwire_end(mw);
}
EXPORT_SYMBOL_GPL(irqmod_microwire_size);

/**
 * irqmod_microwire_read() - reads a word
 * @mw: the EEPROM
 * @address: of the word
 *
 * Context: process.
 * Return: the word.
 */
u16 irqmod_microwire_read(struct irqmod_microwire *mw, unsigned int address)
{
	u16 value = 0;
	int bit;

	microwire_begin(mw, MW_READ, address);
	for (bit = 0; bit < 16; bit++)
		value = value << 1 | microwire_clock(mw, false);
	microwire_end(mw);
	return value;
}
EXPORT_SYMBOL_GPL(irqmod_microwire_read);

/* Selects the EEPROM again: its output is low until the word is written. Some do
 * not tell; reading the word will.
 */
static void microwire_finish(struct irqmod_microwire *mw)
{
	int tries = MW_WRITE_TRIES;
	bool ready;

	microwire_end(mw);
	do {
		usleep_range(1000, 2000);
		microwire_set(mw, IRQMOD_MW_CS);
		ready = mw->get(mw);
		microwire_end(mw);
	} while (!ready && --tries);
}

static bool microwire_write(struct irqmod_microwire *mw, unsigned int address,
			    u16 value)
{
	microwire_begin(mw, MW_WRITE, address);
	microwire_out(mw, value, 16);
	microwire_finish(mw);
	return irqmod_microwire_read(mw, address) == value;
}

/* Most EEPROMs erase a word when it is written; for the others it is erased. */
static int microwire_replace(struct irqmod_microwire *mw, unsigned int address,
			     u16 value)
{
	if (microwire_write(mw, address, value))
		return 0;
	microwire_begin(mw, MW_ERASE, address);
	microwire_finish(mw);
	return microwire_write(mw, address, value) ? 0 : -EIO;
}

/**
 * irqmod_microwire_get() - reads bytes
 * @mw: the EEPROM
 * @offset: of the first byte; words are little-endian
 * @len: number of bytes; the caller has checked that they exist
 * @bytes: gets them
 *
 * Context: process.
 */
void irqmod_microwire_get(struct irqmod_microwire *mw, unsigned int offset,
			  unsigned int len, u8 *bytes)
{
	unsigned int i;
	u16 word = 0;

	for (i = offset; i < offset + len; i++) {
		if (i == offset || !(i & 1)) {
			word = irqmod_microwire_read(mw, i / 2);
			cond_resched();
		}
		*bytes++ = i & 1 ? word >> 8 : word & 0xff;
	}
}
EXPORT_SYMBOL_GPL(irqmod_microwire_get);

/**
 * irqmod_microwire_put() - writes bytes
 * @mw: the EEPROM
 * @offset: of the first byte; words are little-endian
 * @len: number of bytes; the caller has checked that they exist
 * @bytes: the bytes
 *
 * Words that have their value already are not written.
 *
 * Context: process. Sleeps.
 * Return: 0, or -EIO if a word is not what was written.
 */
int irqmod_microwire_put(struct irqmod_microwire *mw, unsigned int offset,
			 unsigned int len, const u8 *bytes)
{
	unsigned int end = offset + len, other = mw->address_bits - 2;
	unsigned int at;
	int err = 0;

	microwire_begin(mw, MW_OTHER, MW_ENABLE << other);
	microwire_end(mw);
	for (at = offset / 2; at * 2 < end && !err; at++) {
		u16 old = irqmod_microwire_read(mw, at), word = old;

		if (at * 2 >= offset)
			word = (word & 0xff00) | bytes[at * 2 - offset];
		if (at * 2 + 1 < end)
			word = (word & 0xff) | bytes[at * 2 + 1 - offset] << 8;
		if (word != old)
			err = microwire_replace(mw, at, word);
	}
	microwire_begin(mw, MW_OTHER, MW_DISABLE << other);
	microwire_end(mw);
	return err;
}
EXPORT_SYMBOL_GPL(irqmod_microwire_put);

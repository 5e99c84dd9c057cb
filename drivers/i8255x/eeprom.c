// SPDX-License-Identifier: GPL-2.0-only
/* The EEPROM (5, 6.3.4): a 93C46 or 93C66 with the address and a checksum. RTNL. */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/slab.h>

#include "i8255x.h"

static void i8255x_eeprom_pins(struct i8255x *np, u16 pins)
{
	writew(pins, np->regs + I8255X_EEPROM);
	readw(np->regs + I8255X_EEPROM);
}

static void i8255x_eeprom_write_pins(struct eeprom_93cx6 *eeprom)
{
	i8255x_eeprom_pins(container_of(eeprom, struct i8255x, eeprom),
			   (eeprom->reg_chip_select ? EE_CS : 0) |
			   (eeprom->reg_data_clock ? EE_SK : 0) |
			   (eeprom->reg_data_in ? EE_DI : 0));
}

static void i8255x_eeprom_read_pins(struct eeprom_93cx6 *eeprom)
{
	struct i8255x *np = container_of(eeprom, struct i8255x, eeprom);

	eeprom->reg_data_out = !!(readw(np->regs + I8255X_EEPROM) & EE_DO);
}

/* Returns what the EEPROM answers. */
static bool i8255x_eeprom_clock(struct i8255x *np, bool bit)
{
	u16 data = bit ? EE_DI : 0;

	i8255x_eeprom_pins(np, EE_CS | data);
	udelay(1);
	i8255x_eeprom_pins(np, EE_CS | EE_SK | data);
	udelay(1);
	return readw(np->regs + I8255X_EEPROM) & EE_DO;
}

/* The EEPROM answers the last bit of an address with a 0. Before, its output is high. */
int i8255x_eeprom_init(struct i8255x *np)
{
	int bit, width = 0;

	for (bit = PCI_EEPROM_WIDTH_OPCODE; bit--;)
		i8255x_eeprom_clock(np, PCI_EEPROM_READ_OPCODE & BIT(bit));
	do
		width++;
	while (i8255x_eeprom_clock(np, false) && width < PCI_EEPROM_WIDTH_93C66);
	i8255x_eeprom_pins(np, 0);
	np->eeprom.register_read = i8255x_eeprom_read_pins;
	np->eeprom.register_write = i8255x_eeprom_write_pins;
	np->eeprom.width = width;
	return width == PCI_EEPROM_WIDTH_93C46 || width == PCI_EEPROM_WIDTH_93C66 ?
	       0 : -ENODEV;
}

/* The sum of all words but the last: that one makes it EEPROM_SUM. */
static u16 i8255x_eeprom_sum_to(struct i8255x *np, unsigned int last)
{
	unsigned int i;
	u16 sum = 0;

	for (i = 0; i < last; i++)
		sum += irqmod_eeprom_word(&np->eeprom, i);
	return sum;
}

/* The sum of all words. */
u16 i8255x_eeprom_sum(struct i8255x *np)
{
	return i8255x_eeprom_sum_to(np, 1 << np->eeprom.width);
}

int i8255x_get_eeprom_len(struct net_device *netdev)
{
	struct i8255x *np = netdev_priv(netdev);

	return irqmod_eeprom_bytes(&np->eeprom);
}

#define EEPROM_MAGIC	0x1234	/* that of e100 */

int i8255x_get_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom, u8 *bytes)
{
	struct i8255x *np = netdev_priv(netdev);

	eeprom->magic = EEPROM_MAGIC;
	irqmod_eeprom_get(&np->eeprom, eeprom->offset, eeprom->len, bytes);
	return 0;
}

/* And whatever checksum the bytes need. */
int i8255x_set_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom, u8 *bytes)
{
	struct i8255x *np = netdev_priv(netdev);
	unsigned int last = (1 << np->eeprom.width) - 1;
	u8 checksum[2];
	int err, failed;
	u16 word;

	if (eeprom->magic != EEPROM_MAGIC)
		return -EINVAL;
	failed = irqmod_eeprom_put(&np->eeprom, eeprom->offset, eeprom->len, bytes);
	/* Some words may have been written: without it, no probe succeeds. */
	word = EEPROM_SUM - i8255x_eeprom_sum_to(np, last);
	checksum[0] = word & 0xff;
	checksum[1] = word >> 8;
	err = irqmod_eeprom_put(&np->eeprom, 2 * last, sizeof(checksum), checksum);
	return failed ?: err;
}

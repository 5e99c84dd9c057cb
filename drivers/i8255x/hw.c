// SPDX-License-Identifier: GPL-2.0-only
/* Everything but the rings: reset, commands, interrupt causes, EEPROM, PHY. */
#include <linux/delay.h>
#include <linux/io.h>

#include "i8255x.h"

#define COMMAND_SPINS	100	/* then with a delay: at most 100 us in all */
#define COMMAND_WAITS	100

/* Waits until the previous command is accepted: SCB_COMMAND is 0 (6.3.2.2). */
int i8255x_command(struct i8255x *np, u8 command, u32 pointer)
{
	unsigned long flags;
	int i, err = 0;

	spin_lock_irqsave(&np->command_lock, flags);
	for (i = 0; readb(np->regs + SCB_COMMAND); i++) {
		if (i > COMMAND_SPINS + COMMAND_WAITS) {
			err = -EBUSY;
			goto out;
		}
		if (i > COMMAND_SPINS)
			udelay(1);
	}
	if (command != CU_RESUME)
		writel(pointer, np->regs + SCB_POINTER);
	writeb(command, np->regs + SCB_COMMAND);
out:
	spin_unlock_irqrestore(&np->command_lock, flags);
	return err;
}

/* Issues a command without argument if the NIC accepts it at once. Hard IRQ. */
bool i8255x_try_command(struct i8255x *np, u8 command)
{
	unsigned long flags;
	bool free;

	if (!spin_trylock_irqsave(&np->command_lock, flags))
		return false;
	free = !readb(np->regs + SCB_COMMAND);
	if (free)
		writeb(command, np->regs + SCB_COMMAND);
	spin_unlock_irqrestore(&np->command_lock, flags);
	return free;
}

/* A selective reset first, which ends bus activity (6.3.3.3). Afterwards all
 * causes are masked. The bases of both lists are 0: links are absolute.
 */
int i8255x_hw_reset(struct i8255x *np)
{
	int err;

	writel(PORT_SELECTIVE_RESET, np->regs + PORT);
	readb(np->regs + SCB_STATUS);
	udelay(20);
	writel(PORT_RESET, np->regs + PORT);
	readb(np->regs + SCB_STATUS);
	udelay(20);

	np->mask = MASK_INITIAL;
	writeb(np->mask, np->regs + SCB_MASK);
	err = i8255x_command(np, CU_LOAD_BASE, 0);
	if (err)
		return err;
	return i8255x_command(np, RU_LOAD_BASE, 0);
}

static u8 causes_of(u32 groups)
{
	return (groups & IRQMOD_RX ? CAUSES_RX : 0) |
	       (groups & IRQMOD_TX ? CAUSES_TX : 0);
}

void i8255x_mask(struct irqmod_port *port, u32 groups)
{
	struct i8255x *np = to_i8255x(port);
	unsigned long flags;

	spin_lock_irqsave(&np->mask_lock, flags);
	np->mask |= causes_of(groups);
	writeb(np->mask, np->regs + SCB_MASK);
	spin_unlock_irqrestore(&np->mask_lock, flags);
}

void i8255x_unmask(struct irqmod_port *port, u32 groups)
{
	struct i8255x *np = to_i8255x(port);
	unsigned long flags;

	spin_lock_irqsave(&np->mask_lock, flags);
	np->mask &= ~causes_of(groups);
	writeb(np->mask, np->regs + SCB_MASK);
	spin_unlock_irqrestore(&np->mask_lock, flags);
}

/* Do not acknowledge RNR: a stopped receiver must interrupt. */
void i8255x_rx_ack(struct irqmod_port *port)
{
	writeb(CAUSE_FR, to_i8255x(port)->regs + SCB_ACK);
}

irqreturn_t i8255x_isr(int irq, void *data)
{
	struct i8255x *np = data;
	u8 causes = readb(np->regs + SCB_ACK);
	u8 ours = causes & ~(READ_ONCE(np->mask) & CAUSES_MASKABLE);
	u32 groups = 0;

	if (causes == CAUSE_GONE || !causes)
		return IRQ_NONE;

	/* Leave masked causes latched: if they were acknowledged here, the
	 * poll that is about to unmask them would miss them.
	 */
	writeb(ours, np->regs + SCB_ACK);
	if (unlikely(causes != ours)) {
		/* QEMU's model deasserts the line only when no cause is left
		 * or when the mask is written; real chips do not need this.
		 */
		spin_lock(&np->mask_lock);
		writeb(np->mask, np->regs + SCB_MASK);
		spin_unlock(&np->mask_lock);
	}
	if (ours & CAUSES_RX)
		groups |= IRQMOD_RX;
	if (ours & CAUSES_TX)
		groups |= IRQMOD_TX;
	if (ours & CAUSE_RNR)
		WRITE_ONCE(np->ru_check, true);
	if (groups)
		irqmod_interrupt(&np->port, groups);
	return IRQ_RETVAL(ours);
}

/* One clock of the EEPROM, 93C46 or 93C66 (6.3.4) */
static u16 eeprom_clock(struct i8255x *np, u16 bits)
{
	writew(EE_CS | bits, np->regs + EEPROM);
	readw(np->regs + EEPROM);
	udelay(4);
	writew(EE_CS | EE_SK | bits, np->regs + EEPROM);
	readw(np->regs + EEPROM);
	udelay(4);
	return readw(np->regs + EEPROM) & EE_DO;
}

/* Reads a word. *address_bits is 8 for the first read. The device answers the
 * last address bit with a 0 on its data line; this gives the number of bits.
 */
static u16 eeprom_word(struct i8255x *np, int *address_bits, u16 address)
{
	u32 command = (EE_READ << *address_bits) | address;
	int bit, bits = *address_bits;
	u16 value = 0;

	writew(EE_CS | EE_SK, np->regs + EEPROM);
	readw(np->regs + EEPROM);
	udelay(4);
	for (bit = bits + 2; bit >= 0; bit--) {
		u16 out = eeprom_clock(np, command & BIT(bit) ? EE_DI : 0);

		if (!out && bit < bits) {
			*address_bits -= bit;
			break;
		}
	}
	for (bit = 0; bit < 16; bit++)
		value = value << 1 | (eeprom_clock(np, 0) ? 1 : 0);
	writew(0, np->regs + EEPROM);
	readw(np->regs + EEPROM);
	udelay(4);
	return value;
}

/* Reads the MAC address, and checks that causes can be masked individually. */
int i8255x_hw_probe(struct i8255x *np, u8 *mac)
{
	int bits = 8, i;

	writeb(MASK_INITIAL | MASK_ALL, np->regs + SCB_MASK);
	if ((readb(np->regs + SCB_MASK) & CAUSES_MASKABLE) != CAUSES_MASKABLE) {
		dev_err(&np->pdev->dev,
			"an 82557 cannot mask individual causes; use e100\n");
		return -ENODEV;
	}

	eeprom_word(np, &bits, 0);
	for (i = 0; i < ETH_ALEN / 2; i++) {
		u16 word = eeprom_word(np, &bits, i);

		mac[2 * i] = word & 0xff;
		mac[2 * i + 1] = word >> 8;
	}
	return 0;
}

/* The link work and ethtool use the PHY at the same time. */
static int mdio(struct i8255x *np, u32 command)
{
	int i, err = -ETIMEDOUT;
	u32 value;

	mutex_lock(&np->mdio_lock);
	writel(command, np->regs + MDI);
	for (i = 0; i < 100; i++) {
		value = readl(np->regs + MDI);
		if (value & MDI_READY) {
			err = value & 0xffff;
			break;
		}
		udelay(20);
	}
	mutex_unlock(&np->mdio_lock);
	return err;
}

int i8255x_mdio_read(struct net_device *netdev, int phy, int reg)
{
	int value = mdio(netdev_priv(netdev), MDI_READ | phy << MDI_PHY_SHIFT |
					      reg << MDI_REG_SHIFT);

	return value < 0 ? 0xffff : value;
}

void i8255x_mdio_write(struct net_device *netdev, int phy, int reg, int value)
{
	mdio(netdev_priv(netdev), MDI_WRITE | phy << MDI_PHY_SHIFT |
				  reg << MDI_REG_SHIFT | (value & 0xffff));
}

/* The bytes of a configure command (6.4.2.3); those without a comment are the
 * values recommended by the manual.
 */
void i8255x_config(const struct net_device *netdev, u8 *c)
{
	static const u8 recommended[CONFIG_BYTES] = {
		CONFIG_BYTES, 0x08, 0, 0, 0, 0,
		0x32,	/* 6: standard TCBs and counters, direct DMA */
		0x07,	/* 7: discard short frames, retry underruns */
		0x01,	/* 8: MII */
		0,
		0x2e,	/* 10: 7 bytes of preamble, source address from us */
		0, 0x60, 0, 0xf2,
		0x48,	/* 15 */
		0, 0x40,
		0xfa,	/* 18: pad short frames, receive long (VLAN) ones */
		0x86,	/* 19: duplex from the PHY, no pause, no wake-up */
		0x3f,
		0x05,	/* 21 */
	};

	memcpy(c, recommended, CONFIG_BYTES);
	if (netdev->flags & IFF_PROMISC)
		c[15] |= 0x01;
	if (netdev->flags & IFF_ALLMULTI ||
	    netdev_mc_count(netdev) > CB_MULTICAST_MAX)
		c[21] |= 0x08;
}

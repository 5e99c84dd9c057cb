// SPDX-License-Identifier: GPL-2.0-only
/* Everything but the rings: reset, commands, interrupt causes, PHY. */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/iopoll.h>

#include "i8255x.h"

#define COMMAND_SPINS	100	/* reads without a delay, then with one of 1 us */
#define COMMAND_WAITS	100
#define COMMAND_US	(100 * USEC_PER_MSEC)
#define EXECUTE_US	(100 * USEC_PER_MSEC)
#define MDI_US		2000
#define RETRY		msecs_to_jiffies(10)

/* Waits until the previous command is accepted: SCB_COMMAND is 0 (6.3.2.2). */
int i8255x_wait_accepted(struct i8255x *np)
{
	int i;

	for (i = 0; readb(np->regs + SCB_COMMAND); i++) {
		if (i > COMMAND_SPINS + COMMAND_WAITS)
			return -EBUSY;
		if (i > COMMAND_SPINS)
			udelay(1);
	}
	return 0;
}

/* Any context, so it gives up after some 0.2 ms, where e100 waits for 100 ms with
 * interrupts disabled. The caller tries again: a doorbell, a change of the receive
 * mode and a start of the receiver after 10 ms (i8255x_retry_later()), a dump of
 * counters when they are next wanted, and set-up at once (i8255x_command_wait()).
 */
int i8255x_command(struct i8255x *np, u8 command, u32 pointer)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&np->command_lock, flags);
	err = i8255x_wait_accepted(np);
	if (err)
		goto out;
	if (command != CU_RESUME) {
		writel(pointer, np->regs + SCB_POINTER);
	} else if (unlikely(READ_ONCE(np->slow_link))) {
		/* At 10 Mbit/s some chips hang at a resume without this. */
		writeb(CU_NOP, np->regs + SCB_COMMAND);
		udelay(1);
	}
	writeb(command, np->regs + SCB_COMMAND);
out:
	spin_unlock_irqrestore(&np->command_lock, flags);
	return err;
}

/* The same for set-up, in process context: it has 100 ms. */
int i8255x_command_wait(struct i8255x *np, u8 command, u32 pointer)
{
	int err;

	return read_poll_timeout(i8255x_command, err, !err, 100, COMMAND_US,
				 false, np, command, pointer);
}

/* A command was not accepted. Any context. A sender whose doorbells are not accepted,
 * either, does not put off what is due.
 */
void i8255x_retry_later(struct i8255x *np)
{
	timer_reduce(&np->retry, jiffies + RETRY);
}

/* Asks for an interrupt, as e100 does every two seconds: a pass then looks after
 * the receiver, in the context of the scheme.
 */
static void i8255x_ask_for_pass(struct i8255x *np)
{
	unsigned long flags;

	spin_lock_irqsave(&np->mask_lock, flags);
	writeb(np->mask | MASK_SI, np->regs + SCB_MASK);
	spin_unlock_irqrestore(&np->mask_lock, flags);
}

void i8255x_retry(struct timer_list *timer)
{
	struct i8255x *np = container_of(timer, struct i8255x, retry);

	i8255x_tx_retry(np);
	if (READ_ONCE(np->rx_mode_pending))
		i8255x_apply(np);
	if (!READ_ONCE(np->ru_stopped) && !READ_ONCE(np->ru_check))
		return;
	/* While RX is masked no pass follows: ask until one has looked. */
	i8255x_retry_later(np);
	i8255x_ask_for_pass(np);
}

/* Executes the command block of the shared area, while the command unit is idle
 * and all causes are masked. Process context.
 */
int i8255x_execute(struct i8255x *np, u16 command)
{
	dma_addr_t dma = i8255x_shared_dma(np, block);
	struct i8255x_cb *cb = &np->shared->block.cb;
	__le16 status;
	int err;

	cb->status = 0;
	cb->command = cpu_to_le16(command | CB_EL);
	cb->link = cpu_to_le32(dma);
	/* Complete the block before the chip reads it. */
	dma_wmb();
	err = i8255x_command_wait(np, CU_START, dma);
	if (err)
		return err;
	err = read_poll_timeout(READ_ONCE, status, status & cpu_to_le16(CB_C),
				100, EXECUTE_US, false, cb->status);
	/* Read the status before what the chip has written. */
	dma_rmb();
	if (!err && !(status & cpu_to_le16(CB_OK)))
		err = -EIO;
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

	writel(PORT_SELECTIVE_RESET, np->regs + I8255X_PORT);
	readb(np->regs + SCB_STATUS);
	usleep_range(20, 40);
	writel(PORT_RESET, np->regs + I8255X_PORT);
	readb(np->regs + SCB_STATUS);
	usleep_range(20, 40);

	np->mask = MASK_INITIAL;
	writeb(np->mask, np->regs + SCB_MASK);
	err = i8255x_command_wait(np, CU_LOAD_BASE, 0);
	if (err)
		return err;
	return i8255x_command_wait(np, RU_LOAD_BASE, 0);
}

/* Whether causes can be masked one by one. Masks everything. */
bool i8255x_has_masks(struct i8255x *np)
{
	writeb(MASK_INITIAL | MASK_ALL, np->regs + SCB_MASK);
	return (readb(np->regs + SCB_MASK) & CAUSES_MASKABLE) ==
	       CAUSES_MASKABLE;
}

static u8 i8255x_causes_of(u32 groups)
{
	return (groups & IRQMOD_RX ? CAUSES_RX : 0) |
	       (groups & IRQMOD_TX ? CAUSES_TX : 0);
}

void i8255x_mask(struct irqmod_queue *queue, u32 groups)
{
	struct i8255x *np = to_i8255x(queue);
	unsigned long flags;

	spin_lock_irqsave(&np->mask_lock, flags);
	np->mask |= i8255x_causes_of(groups);
	writeb(np->mask, np->regs + SCB_MASK);
	spin_unlock_irqrestore(&np->mask_lock, flags);
}

void i8255x_unmask(struct irqmod_queue *queue, u32 groups)
{
	struct i8255x *np = to_i8255x(queue);
	unsigned long flags;

	spin_lock_irqsave(&np->mask_lock, flags);
	np->mask &= ~i8255x_causes_of(groups);
	writeb(np->mask, np->regs + SCB_MASK);
	spin_unlock_irqrestore(&np->mask_lock, flags);
}

/* The read flushes the write. It also guarantees that whoever looks at the rings
 * then sees what belongs to every cause that the write has cleared, because a
 * PCI read pushes earlier DMA writes ahead of it.
 */
static void i8255x_ack_flush(struct i8255x *np, u8 causes)
{
	writeb(causes, np->regs + SCB_ACK);
	readb(np->regs + SCB_ACK);
}

/* Do not acknowledge RNR: a stopped receiver must interrupt. */
void i8255x_rx_ack(struct irqmod_queue *queue)
{
	i8255x_ack_flush(to_i8255x(queue), CAUSE_FR);
}

irqreturn_t i8255x_isr(int irq, void *data)
{
	struct i8255x *np = i8255x_of(data);
	u8 causes = readb(np->regs + SCB_ACK);
	u8 ours = causes & ~(READ_ONCE(np->mask) & CAUSES_MASKABLE);
	u32 groups = 0;

	if (causes == CAUSE_GONE || !causes)
		return IRQ_NONE;

	/* SWI cannot be masked. While RX is masked, its owner looks after the receiver. */
	if (ours & CAUSES_RX ||
	    (ours & CAUSE_SWI && !(READ_ONCE(np->mask) & CAUSE_FR)))
		groups |= IRQMOD_RX;
	if (ours & CAUSES_TX)
		groups |= IRQMOD_TX;

	/* Leave masked causes latched: if they were acknowledged here, the
	 * poll that is about to unmask them would miss them. CNA is always
	 * masked, and nobody waits for it.
	 */
	if (irqmod_must_flush_ack(&np->queue, groups))
		i8255x_ack_flush(np, ours | CAUSE_CNA);
	else
		writeb(ours | CAUSE_CNA, np->regs + SCB_ACK);
	if (unlikely(causes & ~(ours | CAUSE_CNA))) {
		/* QEMU's model deasserts the line only when no cause is left
		 * or when the mask is written; real chips do not need this.
		 */
		spin_lock(&np->mask_lock);
		writeb(np->mask, np->regs + SCB_MASK);
		spin_unlock(&np->mask_lock);
	}
	if (ours & CAUSE_RNR)
		WRITE_ONCE(np->ru_check, true);
	if (groups)
		irqmod_interrupt(&np->queue, groups);
	return IRQ_RETVAL(ours);
}

/* The link work and ethtool use the PHY at the same time. */
static int i8255x_mdio(struct i8255x *np, u32 command)
{
	u32 value;
	int err;

	mutex_lock(&np->mdio_lock);
	/* After a timeout below, an access may be under way. */
	err = readl_poll_timeout(np->regs + I8255X_MDI, value,
				 value & MDI_READY, 20, MDI_US);
	if (err)
		goto out;
	writel(command, np->regs + I8255X_MDI);
	err = readl_poll_timeout(np->regs + I8255X_MDI, value,
				 value & MDI_READY, 20, MDI_US);
	if (!err)
		err = value & 0xffff;
out:
	mutex_unlock(&np->mdio_lock);
	return err;
}

int i8255x_mdio_read(struct net_device *netdev, int phy, int reg)
{
	int value = i8255x_mdio(netdev_priv(netdev),
				MDI_READ | phy << MDI_PHY_SHIFT |
				reg << MDI_REG_SHIFT);

	return value < 0 ? 0xffff : value;
}

void i8255x_mdio_write(struct net_device *netdev, int phy, int reg, int value)
{
	i8255x_mdio(netdev_priv(netdev),
		    MDI_WRITE | phy << MDI_PHY_SHIFT | reg << MDI_REG_SHIFT |
		    (value & 0xffff));
}

/* The bytes of a configure command (6.4.2.3); those without a comment are the
 * values recommended by the manual. The chip is up: it does not wake the host.
 */
void i8255x_config(const struct i8255x *np, u8 *c)
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
	const struct net_device *netdev = np->netdev;

	memcpy(c, recommended, CONFIG_BYTES);
	if (np->counter_words > WORDS_STANDARD)
		c[6] &= ~CONFIG6_STANDARD;
	if (np->counter_words == WORDS_TCO)
		c[6] |= CONFIG6_TCO;
	if (netdev->flags & IFF_PROMISC)
		c[15] |= CONFIG15_PROMISC;
	if (netdev->flags & IFF_ALLMULTI ||
	    netdev_mc_count(netdev) > CB_MULTICAST_MAX)
		c[21] |= CONFIG21_ALLMULTI;
	if (netdev->features & NETIF_F_RXFCS)
		c[18] |= CONFIG18_KEEP_FCS;
	if (netdev->features & NETIF_F_RXALL) {
		c[6] |= CONFIG6_KEEP_BAD | CONFIG6_KEEP_OVERRUNS;
		c[7] &= ~CONFIG7_DROP_SHORT;
	}
	if (i8255x_phy_forces_full(np))
		c[19] |= CONFIG19_FULL_DUPLEX;
	if (np->flow) {
		c[19] &= ~CONFIG19_NO_FLOW;
		c[19] |= CONFIG19_FLOW_STOPS | CONFIG19_FLOW_RESTARTS |
			 CONFIG19_FLOW_FILTER;
	}
}

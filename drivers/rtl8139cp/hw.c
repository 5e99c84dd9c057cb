// SPDX-License-Identifier: GPL-2.0-only
/* RTL8139C+: the chip's registers, except for the transmit doorbell. */
#include <linux/crc32.h>
#include <linux/iopoll.h>

#include "rtl8139cp.h"

#define CP_RESET_US	100000
#define CP_TALLY_US	10000
#define CP_LOAD_US	20000	/* data sheet: about 2 ms */

/* CR.RST. A removed chip reads as all ones, and the poll times out. */
int cp_hw_reset(struct cp *cp)
{
	u8 cr;

	writeb(CP_CR_RST, cp->regs + CP_CR);
	return readb_poll_timeout(cp->regs + CP_CR, cr, !(cr & CP_CR_RST), 10,
				  CP_RESET_US);
}

void cp_hw_unlock(struct cp *cp)
{
	writeb(CP_9346CR_UNLOCK, cp->regs + CP_9346CR);
}

void cp_hw_lock(struct cp *cp)
{
	writeb(CP_9346CR_LOCK, cp->regs + CP_9346CR);
	readb(cp->regs + CP_9346CR);
}

static void cp_hw_write64(struct cp *cp, enum cp_reg reg, u64 value)
{
	writel(lower_32_bits(value), cp->regs + reg);
	writel(upper_32_bits(value), cp->regs + reg + 4);
}

/* As at power-on: our address and the CONFIG registers are the EEPROM's, and all
 * other registers are reset.
 */
int cp_hw_load_eeprom(struct cp *cp)
{
	u8 mode;

	writeb(CP_9346CR_LOAD, cp->regs + CP_9346CR);
	return readb_poll_timeout(cp->regs + CP_9346CR, mode,
				  !(mode & CP_9346CR_LOAD), 100, CP_LOAD_US);
}

void cp_hw_read_mac(struct cp *cp, u8 *addr)
{
	memcpy_fromio(addr, cp->regs + CP_IDR0, ETH_ALEN);
}

void cp_hw_write_mac(struct cp *cp, const u8 *addr)
{
	u8 padded[8] = { };

	memcpy(padded, addr, ETH_ALEN);
	cp_hw_unlock(cp);
	cp_hw_write64(cp, CP_IDR0, get_unaligned_le64(padded));
	cp_hw_lock(cp);
}

/* ndo_set_rx_mode, or with the address lock held. */
void cp_hw_rx_mode(struct net_device *netdev)
{
	struct cp *cp = cp_of(netdev);
	u32 rcr = CP_RCR_RXFTH | CP_RCR_MXDMA | CP_RCR_AB | CP_RCR_APM;
	struct netdev_hw_addr *ha;
	u64 hash = 0;

	if (netdev->flags & IFF_PROMISC)
		rcr |= CP_RCR_AAP;
	if (netdev->flags & (IFF_PROMISC | IFF_ALLMULTI))
		hash = ~0ULL;
	else
		netdev_for_each_mc_addr(ha, netdev)
			hash |= BIT_ULL(ether_crc(ETH_ALEN, ha->addr) >> 26);
	if (hash)
		rcr |= CP_RCR_AM;

	cp_hw_write64(cp, CP_MAR0, hash);
	writel(rcr, cp->regs + CP_RCR);
}

/* For wake-up: the chip looks at frames to us, broadcasts and multicasts. */
void cp_hw_accept(struct cp *cp)
{
	cp_hw_write_mac(cp, cp->port.netdev->dev_addr);
	cp_hw_write64(cp, CP_MAR0, ~0ULL);
	writel(CP_RCR_AB | CP_RCR_AM | CP_RCR_APM, cp->regs + CP_RCR);
}

/* The frames dropped because the ring was full. CP_MPC counts them modulo 2^24 (113 s
 * at line rate). It is not cleared: a frame dropped between the read and the write
 * would not be counted. A removed chip reads as all ones.
 */
u64 cp_hw_missed(struct cp *cp)
{
	unsigned long flags;
	u64 missed;
	u32 mpc;

	spin_lock_irqsave(&cp->missed_lock, flags);
	mpc = cp->counting ? readl(cp->regs + CP_MPC) : U32_MAX;
	if (mpc != U32_MAX) {
		cp->rx_missed += (mpc - cp->mpc) & CP_MPC_MASK;
		cp->mpc = mpc;
	}
	missed = cp->rx_missed;
	spin_unlock_irqrestore(&cp->missed_lock, flags);
	return missed;
}

/* Adds up what was counted, and starts or ends counting: after and before a reset of
 * the chip, which clears CP_MPC.
 */
static void cp_hw_count_missed(struct cp *cp, bool counting)
{
	unsigned long flags;

	cp_hw_missed(cp);
	spin_lock_irqsave(&cp->missed_lock, flags);
	cp->mpc = readl(cp->regs + CP_MPC);
	cp->counting = counting;
	spin_unlock_irqrestore(&cp->missed_lock, flags);
}

/* Called with the rings ready. Afterwards frames arrive, without interrupts. */
int cp_hw_start(struct cp *cp)
{
	struct net_device *netdev = cp->port.netdev;
	int err;

	pci_set_master(cp->pdev);
	err = cp_hw_reset(cp);
	if (err) {
		pci_clear_master(cp->pdev);
		return err;
	}
	cp_hw_count_missed(cp, true);

	cp_hw_write_mac(cp, netdev->dev_addr);

	/* "C+CR: C+ Command": write this register before the others. On some
	 * chips a ring address written earlier is corrupted.
	 */
	writew(cp->cpcr, cp->regs + CP_CPCR);
	cp_hw_write64(cp, CP_THPDS, 0);
	cp_hw_write64(cp, CP_RDSAR, cp->rx.dma);
	cp_hw_write64(cp, CP_TNPDS, cp->tx.dma);
	writeb(CP_CR_RE | CP_CR_TE, cp->regs + CP_CR);

	/* Writable only while the transmitter is enabled. */
	writel(CP_TCR_IFG96 | CP_TCR_MXDMA, cp->regs + CP_TCR);
	writeb(CP_ETTHR_192, cp->regs + CP_ETTHR);
	writew(0, cp->regs + CP_MULINT);

	cp_hw_unlock(cp);
	writeb(readb(cp->regs + CP_CONFIG1) | CP_CONFIG1_DVRLOAD |
	       CP_CONFIG1_PMEN, cp->regs + CP_CONFIG1);
	cp_hw_lock(cp);
	cp_wake_write(&cp->port);

	netif_addr_lock_bh(netdev);
	cp_hw_rx_mode(netdev);
	netif_addr_unlock_bh(netdev);
	return 0;
}

/* Stops all activity of the chip, including DMA. */
void cp_hw_stop(struct cp *cp)
{
	cp_hw_set_imr(cp, U16_MAX, 0);
	writeb(0, cp->regs + CP_CR);
	cp_hw_count_missed(cp, false);
	if (cp_hw_reset(cp))
		netdev_warn(cp->port.netdev, "the chip does not stop\n");
	pci_clear_master(cp->pdev);
}

/* Frames still on the ring, at most 64, are not counted. */
bool cp_rx_arrived(struct irqmod_queue *queue, u32 *arrived)
{
	struct cp *cp = cp_of_queue(queue);

	*arrived = READ_ONCE(queue->rx_frames) + (u32)cp_hw_missed(cp);
	return true;
}

/* Dumps the counters to cp->tally; under RTNL. */
int cp_hw_dump_tally(struct cp *cp)
{
	u32 low = lower_32_bits(cp->tally_dma) | CP_DTCCR_CMD;

	writel(upper_32_bits(cp->tally_dma), cp->regs + CP_DTCCR + 4);
	writel(low, cp->regs + CP_DTCCR);
	return readl_poll_timeout(cp->regs + CP_DTCCR, low,
				  !(low & CP_DTCCR_CMD), 10, CP_TALLY_US);
}

/* The shadow avoids a read of CP_IMR. Several contexts may mask and unmask
 * concurrently.
 */
void cp_hw_set_imr(struct cp *cp, u16 clear, u16 set)
{
	unsigned long flags;
	u16 imr;

	spin_lock_irqsave(&cp->imr_lock, flags);
	imr = (cp->imr & ~clear) | set;
	if (imr != cp->imr) {
		WRITE_ONCE(cp->imr, imr);
		writew(imr, cp->regs + CP_IMR);
	}
	spin_unlock_irqrestore(&cp->imr_lock, flags);
}

u16 cp_causes(u32 groups)
{
	return (groups & IRQMOD_RX ? CP_INT_RX : 0) |
	       (groups & IRQMOD_TX ? CP_INT_TX : 0);
}

/* The write may not have reached the chip when this returns: cp_interrupt()
 * ignores causes that are masked in the shadow.
 */
void cp_mask(struct irqmod_queue *queue, u32 groups)
{
	cp_hw_set_imr(cp_of_queue(queue), cp_causes(groups), 0);
}

void cp_unmask(struct irqmod_queue *queue, u32 groups)
{
	cp_hw_set_imr(cp_of_queue(queue), 0, cp_causes(groups));
}

/* The read flushes the write. It also guarantees that whoever looks at the rings
 * then sees what belongs to every cause that the write has cleared, because a
 * PCI read pushes earlier DMA writes ahead of it.
 */
void cp_ack_flush(struct cp *cp, u16 causes)
{
	writew(causes, cp->regs + CP_ISR);
	readw(cp->regs + CP_ISR);
}

/* Acknowledges the whole group. The receiver never stops: it fetches the
 * descriptor again for every frame, so RDU and FOVW need no action.
 */
void cp_rx_ack(struct irqmod_queue *queue)
{
	cp_ack_flush(cp_of_queue(queue), CP_INT_RX);
}

/* Registers of the internal PHY, by MII register number; 0: none. */
static const u8 cp_mii_regs[] = {
	[MII_BMCR] = CP_BMCR,
	[MII_BMSR] = CP_BMSR,
	[MII_ADVERTISE] = CP_ANAR,
	[MII_LPA] = CP_ANLPAR,
	[MII_EXPANSION] = CP_ANER,
};

static u8 cp_mii_reg(int location)
{
	return location >= 0 && location < ARRAY_SIZE(cp_mii_regs) ?
	       cp_mii_regs[location] : 0;
}

static int cp_mdio_read(struct net_device *netdev, int phy, int location)
{
	u8 reg = cp_mii_reg(location);

	return reg ? readw(cp_of(netdev)->regs + reg) : 0;
}

static void cp_mdio_write(struct net_device *netdev, int phy, int location,
			  int value)
{
	struct cp *cp = cp_of(netdev);
	u8 reg = cp_mii_reg(location);

	if (!reg)
		return;
	cp_hw_unlock(cp);
	writew(value, cp->regs + reg);
	cp_hw_lock(cp);
}

void cp_mii_init(struct cp *cp)
{
	cp->mii.dev = cp->port.netdev;
	cp->mii.mdio_read = cp_mdio_read;
	cp->mii.mdio_write = cp_mdio_write;
	cp->mii.phy_id = 32;		/* internal: not on an MDIO bus */
	cp->mii.phy_id_mask = 0x3f;
	cp->mii.reg_num_mask = 0x1f;
}

/* Called after a link change. */
void cp_mii_check(struct cp *cp)
{
	unsigned long flags;

	spin_lock_irqsave(&cp->mii_lock, flags);
	mii_check_media(&cp->mii, netif_msg_link(&cp->port), false);
	spin_unlock_irqrestore(&cp->mii_lock, flags);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The chip without its rings: reset, filters, interrupts. */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/rtnetlink.h>

#include "i82574.h"

/* Of a paper's NIC, which moderates whatever the driver does (Salah & Qahtan, 2009). */
IRQMOD_PARAMETER(rx_interval_us, uint, 0444,
		 "With MSI-X: us from an RX interrupt to the next, unless the scheme sets it (default 0)");
IRQMOD_PARAMETER(rx_delay_us, uint, 0444,
		 "us that a received frame waits for others (default 0)");
IRQMOD_PARAMETER(rx_gather, uint, 0444,
		 "... or until there are so many, up to 63 (default 1)");

#define MASTER_WAIT_US		(80 * USEC_PER_MSEC)
#define NVM_WAIT_US		(20 * USEC_PER_MSEC)
#define PHY_CONFIG_MS		25	/* its configuration is loaded (4.6.1) */
/* Link changes, and overruns (RXO), which raise the same vector again and again. */
#define OTHER_USECS		2000

/* MDIC and a reset need an agreement with the chip's firmware (4.6.2). */
static int hw_own_phy(struct i82574 *nic)
{
	u32 value;
	int i;

	for (i = 0; i < 50; i++) {
		i82574_change(nic, EXTCNF_CTRL, 0, EXTCNF_MDIO_SW);
		value = i82574_read(nic, EXTCNF_CTRL);
		if (value & EXTCNF_MDIO_SW)
			return 0;
		usleep_range(1000, 2000);
	}
	return -EBUSY;
}

/* Stops what the chip does, and resets it. Its address is that of the NVM then. */
int i82574_hw_reset(struct i82574 *nic)
{
	u32 value;
	int err;

	i82574_write(nic, IMC, ~0);
	i82574_write(nic, RCTL, 0);
	i82574_write(nic, TCTL, TCTL_PSP);
	/* No request may be under way. */
	i82574_change(nic, CTRL, 0, CTRL_NO_MASTER);
	if (read_poll_timeout(i82574_read, value, !(value & STATUS_MASTER), 100,
			      MASTER_WAIT_US, false, nic, STATUS))
		dev_dbg(&nic->pdev->dev, "requests are under way at a reset\n");
	mutex_lock(&nic->mdio_lock);
	err = hw_own_phy(nic);
	i82574_change(nic, CTRL, 0, CTRL_RST);
	usleep_range(1000, 2000);
	i82574_change(nic, EXTCNF_CTRL, EXTCNF_MDIO_SW, 0);
	mutex_unlock(&nic->mdio_lock);
	err = read_poll_timeout(i82574_read, value, value & EEC_AUTO_READ, 100,
				NVM_WAIT_US, false, nic, EEC) ?: err;
	msleep(PHY_CONFIG_MS);
	i82574_write(nic, IMC, ~0);
	i82574_read(nic, ICR);
	return err;
}

/* Bits that must be set or cleared after a reset (e1000e). */
static void hw_bits(struct i82574 *nic)
{
	i82574_write(nic, TXDCTL(0), TXDCTL_THRESHOLDS);
	i82574_write(nic, TXDCTL(1), TXDCTL_THRESHOLDS);
	i82574_change(nic, TARC(0), TARC_CLEAR, TARC_SET_26);
	i82574_change(nic, CTRL, CTRL_RESERVED_29, 0);
	i82574_change(nic, CTRL_EXT, CTRL_EXT_CLEAR_23, CTRL_EXT_SET_22);
	i82574_change(nic, GCR, 0, GCR_SET_22);
	i82574_change(nic, GCR2, 0, GCR2_SET_0);
}

/* 125 / 32 is 1000 / 256, the units of a microsecond. */
static u32 itr_of(unsigned int usecs)
{
	return min_t(u32, usecs * 125 / 32, ITR_MAX);
}

/* Vectors, and what a message clears: the cause that it is for. */
static void hw_vectors(struct i82574 *nic)
{
	u32 ivar = IVAR_TX_EACH | IVAR_OTHER(VECTOR_OTHER);
	int i;

	if (!nic->msix)
		return;
	for (i = 0; i < QUEUES; i++) {
		ivar |= IVAR_RXQ(i, VECTOR_RX(i)) | IVAR_TXQ(i, VECTOR_TX(i));
		i82574_write(nic, EITR(VECTOR_RX(i)),
			     itr_of(irqmod_instrument(rx_interval_us, 0)));
		i82574_write(nic, EITR(VECTOR_TX(i)), 0);
	}
	i82574_write(nic, EITR(VECTOR_OTHER), OTHER_USECS * NSEC_PER_USEC / ITR_NS);
	i82574_write(nic, IVAR, ivar);
	i82574_write(nic, EIAC, INT_QUEUES);
	i82574_change(nic, CTRL_EXT, 0, CTRL_EXT_PBA_CLEAR);
}

/* After a reset: everything but what the rings have. */
void i82574_hw_init(struct i82574 *nic)
{
	/* In units of 1.024 us. */
	u32 delay = irqmod_instrument(rx_delay_us, 0) * 125 / 128;
	u32 gather = clamp(irqmod_instrument(rx_gather, 1u), 1u, 63u);
	struct net_device *netdev = nic->port.netdev;
	unsigned int i;

	hw_bits(nic);
	hw_vectors(nic);
	i82574_write(nic, VET, ETH_P_8021Q);
	for (i = 0; i < VFTA_WORDS; i++)
		i82574_write(nic, VFTA(i), nic->vlans[i]);
	i82574_write(nic, RFCTL, RFCTL_EXTEN);
	i82574_write(nic, RDTR, delay);
	i82574_write(nic, RADV, delay);
	i82574_write(nic, TIDV, 0);
	i82574_write(nic, TADV, 0);
	for (i = 0; i < QUEUES; i++)
		i82574_write(nic, RXDCTL(i), RXDCTL_THRESHOLDS(gather));
	i82574_rss_write(nic);
	i82574_hw_features(nic, netdev->features);
	i82574_change(nic, CTRL, CTRL_FORCE_SPEED | CTRL_FORCE_DUPLEX |
		      CTRL_NO_MASTER, CTRL_SLU | CTRL_ADVD3WUC);
	i82574_write(nic, TCTL, TCTL_PSP | 15 << TCTL_CT_SHIFT |
		     63 << TCTL_COLD_SHIFT | TCTL_RTLC | TCTL_EN);
}

/* The schemes are stopped: no request of the chip's is under way any more, and it
 * interrupts no more.
 */
void i82574_hw_stop(struct i82574 *nic)
{
	if (i82574_hw_reset(nic))
		netdev_dbg(nic->port.netdev, "the chip does not reset\n");
}

/* VLAN tags and checksums, as ethtool -K says. */
void i82574_hw_features(struct i82574 *nic, netdev_features_t features)
{
	u32 vlan = features & (NETIF_F_HW_VLAN_CTAG_RX | NETIF_F_HW_VLAN_CTAG_TX) ?
		   CTRL_VME : 0;

	i82574_change(nic, CTRL, CTRL_VME, vlan);
	i82574_write(nic, RXCSUM, RXCSUM_PCSD |
		     (features & NETIF_F_RXCSUM ? RXCSUM_IPOFL | RXCSUM_TUOFL : 0));
}

/*
 * Filters.
 */

static void hw_set_address(struct i82574 *nic, unsigned int n, const u8 *mac)
{
	i82574_write(nic, RAL(n), mac[0] | mac[1] << 8 | mac[2] << 16 |
		     (u32)mac[3] << 24);
	i82574_write(nic, RAH(n), RAH_VALID | mac[4] | mac[5] << 8);
}

/* The other addresses of the interface; false: there are too many. */
static bool hw_set_unicast(struct i82574 *nic)
{
	struct net_device *netdev = nic->port.netdev;
	struct netdev_hw_addr *ha;
	unsigned int n = 1;

	if (netdev_uc_count(netdev) >= ADDRESSES)
		return false;
	netdev_for_each_uc_addr(ha, netdev)
		hw_set_address(nic, n++, ha->addr);
	for (; n < ADDRESSES; n++)
		i82574_write(nic, RAH(n), 0);
	return true;
}

/* A bit for each value of the upper 12 bits of an address (10.2.5.21). */
static void hw_set_multicast(struct i82574 *nic)
{
	u32 table[MTA_WORDS] = { };
	struct netdev_hw_addr *ha;
	unsigned int i, bit;

	netdev_for_each_mc_addr(ha, nic->port.netdev) {
		bit = ha->addr[4] >> 4 | ha->addr[5] << 4;
		table[bit / 32] |= BIT(bit % 32);
	}
	for (i = 0; i < MTA_WORDS; i++)
		i82574_write(nic, MTA(i), table[i]);
}

/* ndo_set_rx_mode: under the address lock. Also enables the receiver. */
void i82574_set_rx_mode(struct net_device *netdev)
{
	struct i82574 *nic = i82574_of(netdev);
	u32 rctl = RCTL_EN | RCTL_BAM | RCTL_SECRC |
		   RCTL_BUFFER_KB(RX_BUFFER_KB);

	/* While it is down: i82574_up() does it. */
	if (!READ_ONCE(nic->running))
		return;
	hw_set_address(nic, 0, netdev->dev_addr);
	if (nic->long_frames)
		rctl |= RCTL_LPE;
	if (netdev->flags & IFF_PROMISC)
		rctl |= RCTL_UPE | RCTL_MPE;
	else if (netdev->features & NETIF_F_HW_VLAN_CTAG_FILTER)
		rctl |= RCTL_VFE;
	if (netdev->flags & IFF_ALLMULTI)
		rctl |= RCTL_MPE;
	if (!hw_set_unicast(nic))
		rctl |= RCTL_UPE;
	hw_set_multicast(nic);
	i82574_write(nic, RCTL, rctl);
}

/* RTNL */
static int vlan_set(struct net_device *netdev, u16 vid, bool pass)
{
	struct i82574 *nic = i82574_of(netdev);
	u32 *word = &nic->vlans[vid / 32];

	*word = pass ? *word | BIT(vid % 32) : *word & ~BIT(vid % 32);
	if (nic->running)
		i82574_write(nic, VFTA(vid / 32), *word);
	return 0;
}

int i82574_vlan_add(struct net_device *netdev, __be16 proto, u16 vid)
{
	return vlan_set(netdev, vid, true);
}

int i82574_vlan_kill(struct net_device *netdev, __be16 proto, u16 vid)
{
	return vlan_set(netdev, vid, false);
}

/*
 * Interrupts. Each message clears the cause that it is for (EIAC), so a handler reads
 * no register. One that starts after mask() has returned, because its message was under
 * way, raises the cause again: it interrupts when it is unmasked.
 */

static u32 causes_of(const struct i82574_queue *q, u32 groups)
{
	return (groups & IRQMOD_RX ? q->rx_causes : 0) |
	       (groups & IRQMOD_TX ? q->tx_causes : 0);
}

void i82574_mask(struct irqmod_queue *queue, u32 groups)
{
	struct i82574_queue *q = to_i82574(queue);
	unsigned long flags;

	spin_lock_irqsave(&q->mask_lock, flags);
	WRITE_ONCE(q->masked, q->masked | groups);
	i82574_write(q->nic, IMC, causes_of(q, groups));
	spin_unlock_irqrestore(&q->mask_lock, flags);
}

void i82574_unmask(struct irqmod_queue *queue, u32 groups)
{
	struct i82574_queue *q = to_i82574(queue);
	unsigned long flags;

	spin_lock_irqsave(&q->mask_lock, flags);
	WRITE_ONCE(q->masked, q->masked & ~groups);
	i82574_write(q->nic, IMS, causes_of(q, groups));
	spin_unlock_irqrestore(&q->mask_lock, flags);
}

/* A stopped receiver has no cause of its own: the chip goes on by itself when it is
 * given descriptors.
 */
void i82574_rx_ack(struct irqmod_queue *queue)
{
	struct i82574_queue *q = to_i82574(queue);

	i82574_write(q->nic, ICR, q->rx_causes);
	i82574_read(q->nic, STATUS);
}

void i82574_moderate(struct irqmod_queue *queue, unsigned int rx_usecs,
		     unsigned int tx_usecs)
{
	struct i82574 *nic = to_i82574(queue)->nic;

	rx_usecs = rx_usecs ?: irqmod_instrument(rx_interval_us, 0);
	if (!nic->msix) {
		i82574_write(nic, ITR, itr_of(min(rx_usecs, tx_usecs)));
		return;
	}
	i82574_write(nic, EITR(VECTOR_RX(queue->index)), itr_of(rx_usecs));
	i82574_write(nic, EITR(VECTOR_TX(queue->index)), itr_of(tx_usecs));
}

/* Passes causes on, unless they are masked. */
static void handle(struct i82574_queue *q, u32 groups)
{
	u32 masked = groups & READ_ONCE(q->masked);

	if (unlikely(masked)) {
		i82574_write(q->nic, ICS, causes_of(q, masked));
		groups &= ~masked;
	}
	if (likely(groups))
		irqmod_interrupt(&q->queue, groups);
}

static irqreturn_t rx_handler(int irq, void *data)
{
	handle(data, IRQMOD_RX);
	return IRQ_HANDLED;
}

static irqreturn_t tx_handler(int irq, void *data)
{
	handle(data, IRQMOD_TX);
	return IRQ_HANDLED;
}

/* Link changes, and what raises the same vector. To read the causes clears all of
 * them: those of the queues are raised again.
 */
static irqreturn_t other_handler(int irq, void *data)
{
	struct i82574 *nic = data;
	u32 causes = i82574_read(nic, ICR);

	if (causes & INT_QUEUES)
		i82574_write(nic, ICS, causes & INT_QUEUES);
	if (causes & INT_LSC)
		i82574_link_now(nic);
	return IRQ_HANDLED;
}

/* MSI, or an interrupt line: to read the causes clears them. */
static irqreturn_t single_handler(int irq, void *data)
{
	struct i82574 *nic = data;
	struct i82574_queue *q = &nic->queue[0];
	u32 causes = i82574_read(nic, ICR);
	u32 groups = 0;

	if (causes == INT_GONE || !(causes & INT_ASSERTED))
		return IRQ_NONE;
	if (causes & q->rx_causes)
		groups |= IRQMOD_RX;
	if (causes & q->tx_causes)
		groups |= IRQMOD_TX;
	if (groups)
		handle(q, groups);
	if (causes & INT_LSC)
		i82574_link_now(nic);
	return IRQ_HANDLED;
}

static int request_queue(struct i82574 *nic, struct i82574_queue *q)
{
	const char *name = nic->port.netdev->name;
	int err;

	snprintf(q->name[0], sizeof(q->name[0]), "%s-rx-%u", name, q->queue.index);
	snprintf(q->name[1], sizeof(q->name[1]), "%s-tx-%u", name, q->queue.index);
	err = request_irq(q->queue.irq, rx_handler, 0, q->name[0], q);
	if (err)
		return err;
	err = request_irq(q->queue.tx_irq, tx_handler, 0, q->name[1], q);
	if (err)
		free_irq(q->queue.irq, q);
	return err;
}

static void free_queue(struct i82574_queue *q)
{
	free_irq(q->queue.irq, q);
	free_irq(q->queue.tx_irq, q);
}

int i82574_irqs_request(struct i82574 *nic)
{
	struct pci_dev *pdev = nic->pdev;
	int i, err;

	snprintf(nic->name, sizeof(nic->name), "%s", nic->port.netdev->name);
	if (!nic->msix)
		return request_irq(nic->queue[0].queue.irq, single_handler,
				   nic->line ? IRQF_SHARED : 0, nic->name, nic);
	for (i = 0; i < QUEUES; i++) {
		err = request_queue(nic, &nic->queue[i]);
		if (err)
			goto free_queues;
	}
	err = request_irq(pci_irq_vector(pdev, VECTOR_OTHER), other_handler, 0,
			  nic->name, nic);
	if (!err)
		return 0;

free_queues:
	while (i--)
		free_queue(&nic->queue[i]);
	return err;
}

void i82574_irqs_free(struct i82574 *nic)
{
	int i;

	if (!nic->msix) {
		free_irq(nic->queue[0].queue.irq, nic);
		return;
	}
	for (i = 0; i < QUEUES; i++)
		free_queue(&nic->queue[i]);
	free_irq(pci_irq_vector(nic->pdev, VECTOR_OTHER), nic);
}

/* Chooses MSI-X, MSI or the interrupt line. */
int i82574_irqs_alloc(struct i82574 *nic)
{
	struct pci_dev *pdev = nic->pdev;
	int i, count;

	count = pci_alloc_irq_vectors(pdev, VECTORS, VECTORS, PCI_IRQ_MSIX);
	nic->msix = count == VECTORS;
	if (!nic->msix)
		count = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_ALL_TYPES);
	if (count < 0)
		return count;
	nic->line = !nic->msix && !pdev->msi_enabled;
	for (i = 0; i < QUEUES; i++) {
		struct i82574_queue *q = &nic->queue[i];

		q->queue.irq = pci_irq_vector(pdev, nic->msix ? VECTOR_RX(i) : 0);
		q->queue.tx_irq = nic->msix ? pci_irq_vector(pdev, VECTOR_TX(i)) : 0;
		q->rx_causes = nic->msix ? INT_RXQ(i)
					 : INT_RXT0 | INT_RXDMT0 | INT_RXO;
		q->tx_causes = nic->msix ? INT_TXQ(i) : INT_TXDW;
	}
	return 0;
}

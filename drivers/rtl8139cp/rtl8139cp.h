/* SPDX-License-Identifier: GPL-2.0-only */
/* RTL8139C+: declarations shared by the driver's files. */
#ifndef RTL8139CP_H
#define RTL8139CP_H

#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "device.h"
#include "eeprom.h"
#include "irqmod.h"
#include "mii.h"
#include "regs.h"

#define CP_NAME		"irqmod_rtl8139cp"

/* The chip wraps after 64 descriptors, even without EOR. */
#define CP_RING_MIN	8
#define CP_RING_MAX	64

/* A frame of 1522 bytes with a VLAN tag and its FCS, or 1526 with two tags; with
 * a larger MTU more.
 */
#define CP_RX_BUF_SIZE	1536
#define CP_MTU_MAX	4096
#define CP_RX_COPYBREAK	256

/* Packets with more segments are linearized. Without TSO they are rare, and a
 * short ring has no room for MAX_SKB_FRAGS. TSO needs a ring for two packets.
 */
#define CP_TX_SEGS	4
#define CP_TSO_SEGS	(MAX_SKB_FRAGS + 1)
#define CP_TSO_RING_MIN	(2 * CP_TSO_SEGS)

struct cp_rx_slot {
	struct sk_buff *skb;	/* NULL: delivered and not replaced yet */
	void *data;
	dma_addr_t dma;
	__le32 give;		/* opts1 that hands the slot to the chip */
	bool sync;		/* CPU reads need dma_sync_single_for_cpu() */
};

struct cp_rx_ring {
	struct cp_desc *desc;
	struct cp_rx_slot *slot;
	unsigned int count;
	unsigned int next;	/* next slot to take (cur_rx) */
	unsigned int dirty;	/* next slot to refill (dirty_rx) */
	/* Slots between dirty and next were taken and not refilled yet. Their
	 * number is taken - given: two counters, since one writer may
	 * interrupt the other.
	 */
	u32 taken;
	u32 given;
	unsigned int max_data;	/* that a buffer holds after the Ethernet header */
	dma_addr_t dma;
};

struct cp_tx_slot {
	struct sk_buff *skb;	/* in the slot of the last segment */
	DEFINE_DMA_UNMAP_ADDR(dma);
	DEFINE_DMA_UNMAP_LEN(len);
	bool page;		/* mapped as a page fragment */
};

struct cp_tx_ring {
	struct cp_desc *desc;
	struct cp_tx_slot *slot;
	unsigned int count;
	dma_addr_t dma;

	/* Written by ndo_start_xmit. */
	unsigned int next;
	u32 queued;		/* descriptors, running total */
	u32 packets_queued;
	bool sending;		/* a doorbell follows */

	/* Written by tx_reclaim. */
	unsigned int dirty ____cacheline_aligned_in_smp;
	u32 done;
	u32 packets_done;
};

struct cp_rx_errors {
	unsigned long length;
	unsigned long crc;
	unsigned long frame;
	unsigned long fifo;
};

struct cp_tx_errors {
	unsigned long aborted;
	unsigned long window;
	unsigned long carrier;
	unsigned long fifo;
};

struct cp {
	struct irqmod_port port;	/* first: see irqmod.h */
	struct irqmod_queue queue;

	void __iomem *regs;
	struct device *dev;
	unsigned int rx_copybreak;
	u16 imr;			/* shadow of CP_IMR; under imr_lock */
	u16 cpcr;
	bool running;			/* the chip is started; under RTNL */
	unsigned int lost_doorbells;	/* for tests: doorbells to omit */
	unsigned int tx_segs;		/* of a packet; written with the queue locked */

	struct_group(rings, struct cp_rx_ring rx; struct cp_tx_ring tx;);

	spinlock_t imr_lock;		/* @imr and CP_IMR */
	spinlock_t mii_lock;		/* the PHY's registers, and @mii */
	struct mii_if_info mii;
	struct irqmod_mii mii_kept;
	struct pci_dev *pdev;

	struct cp_rx_errors rx_errors;
	struct cp_tx_errors tx_errors;
	spinlock_t missed_lock;		/* the next three */
	u64 rx_missed;			/* frames */
	u32 mpc;			/* the last reading of CP_MPC */
	bool counting;			/* ... which is of this start of the chip */
	struct eeprom_93cx6 eeprom;	/* and CP_9346CR: under RTNL */
	struct cp_tally *tally;
	dma_addr_t tally_dma;
};

static inline struct cp *cp_of_queue(struct irqmod_queue *queue)
{
	return container_of(queue, struct cp, queue);
}

static inline struct cp *cp_of_port(struct irqmod_port *port)
{
	return container_of(port, struct cp, port);
}

static inline struct cp *cp_of(struct net_device *netdev)
{
	return netdev_priv(netdev);
}

/* Allocates the descriptors of a ring. */
static inline void *cp_desc_alloc(struct cp *cp, unsigned int count,
				  dma_addr_t *dma)
{
	/* Page-aligned, which satisfies the chip's alignment of 256 bytes. */
	return dma_alloc_coherent(cp->dev, count * sizeof(struct cp_desc), dma,
				  GFP_KERNEL);
}

static inline void cp_desc_free(struct cp *cp, unsigned int count,
				struct cp_desc *desc, dma_addr_t dma)
{
	if (desc)
		dma_free_coherent(cp->dev, count * sizeof(*desc), desc, dma);
}

/* features.c */
void cp_set_cpcr(struct cp *cp, netdev_features_t features);
netdev_features_t cp_fix_features(struct net_device *netdev,
				  netdev_features_t features);
netdev_features_t cp_features_check(struct sk_buff *skb,
				    struct net_device *netdev,
				    netdev_features_t features);
int cp_set_features(struct net_device *netdev, netdev_features_t features);

/* hw.c */
int cp_hw_reset(struct cp *cp);
int cp_hw_start(struct cp *cp);
void cp_hw_stop(struct cp *cp);
int cp_hw_load_eeprom(struct cp *cp);
void cp_hw_read_mac(struct cp *cp, u8 *addr);
void cp_hw_write_mac(struct cp *cp, const u8 *addr);
void cp_hw_rx_mode(struct net_device *netdev);
u64 cp_hw_missed(struct cp *cp);
bool cp_rx_arrived(struct irqmod_queue *queue, u32 *arrived);
int cp_hw_dump_tally(struct cp *cp);
void cp_hw_set_imr(struct cp *cp, u16 clear, u16 set);
void cp_mask(struct irqmod_queue *queue, u32 groups);
void cp_unmask(struct irqmod_queue *queue, u32 groups);
void cp_ack_flush(struct cp *cp, u16 causes);
void cp_rx_ack(struct irqmod_queue *queue);
u16 cp_causes(u32 groups);
void cp_mii_init(struct cp *cp);
void cp_mii_check(struct cp *cp);

void cp_hw_unlock(struct cp *cp);
void cp_hw_lock(struct cp *cp);
void cp_hw_accept(struct cp *cp);

/* eeprom.c */
void cp_eeprom_init(struct cp *cp);
int cp_get_eeprom_len(struct net_device *netdev);
int cp_get_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom, u8 *bytes);
int cp_set_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom, u8 *bytes);

/* wake.c */
#define CP_WAKE		(WAKE_PHY | WAKE_UCAST | WAKE_MCAST | WAKE_BCAST | WAKE_MAGIC)
void cp_wake_write(struct irqmod_port *port);
void cp_sleep(struct irqmod_port *port);

/* rx.c */
unsigned int cp_rx_size(unsigned int mtu);
int cp_rx_alloc(struct cp *cp, struct cp_rx_ring *ring, unsigned int count);
void cp_rx_free(struct cp *cp, struct cp_rx_ring *ring);
void cp_rx_reset(struct cp *cp);
int cp_rx_take(struct irqmod_queue *queue, int budget);
bool cp_rx_pending(struct irqmod_queue *queue);
void cp_rx_refill(struct irqmod_queue *queue);

/* tx.c */
int cp_tx_alloc(struct cp *cp, struct cp_tx_ring *ring, unsigned int count);
void cp_tx_free(struct cp *cp, struct cp_tx_ring *ring);
void cp_tx_reset(struct cp *cp);
netdev_tx_t cp_start_xmit(struct sk_buff *skb, struct net_device *netdev);
unsigned int cp_tx_reclaim(struct irqmod_queue *queue);
unsigned int cp_tx_outstanding(struct irqmod_queue *queue);
unsigned int cp_tx_bytes(struct irqmod_queue *queue);
unsigned int cp_tx_room(struct irqmod_queue *queue);

/* ethtool.c */
#define CP_TALLIES	13
extern const char cp_tally_names[CP_TALLIES][ETH_GSTRING_LEN];
void cp_get_tallies(struct irqmod_port *port, u64 *data);
extern const struct ethtool_ops cp_ethtool_ops;

#endif /* RTL8139CP_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intel 82574L and 82583V. What a queue needs for each packet is in its struct
 * i82574_queue; the chip has two (QUEUES), each with an interrupt for receiving
 * and one for transmitting, if there is MSI-X. With MSI or an interrupt line one
 * queue is used.
 */
#ifndef I82574_H
#define I82574_H

#include <linux/bpf.h>
#include <linux/if_vlan.h>
#include <linux/mii.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/workqueue.h>
#include <net/xdp.h>

#include "irqmod.h"
#include "device.h"
#include "../compat.h"
#include "regs.h"

#define QUEUES		2
/* Vectors: that of a queue's RX and TX causes, and that of all others. */
#define VECTOR_RX(q)	(2 * (q))
#define VECTOR_TX(q)	(2 * (q) + 1)
#define VECTOR_OTHER	(2 * QUEUES)
#define VECTORS		(2 * QUEUES + 1)

#define RING_MIN	64
#define RING_MAX	4096
#define RING_DEFAULT	256
#define RING_UNIT	8		/* descriptors: a ring is a multiple of 128 bytes */

/* A receive buffer is a page: room for XDP, the chip's part, and the shared info of an
 * sk_buff. Longer frames take several.
 */
#define RX_HEADROOM	XDP_PACKET_HEADROOM
#define RX_BUFFER_KB	3
#define RX_BUFFER_BYTES	(RX_BUFFER_KB * SZ_1K)
static_assert(RX_HEADROOM + RX_BUFFER_BYTES +
	      SKB_DATA_ALIGN(sizeof(struct skb_shared_info)) <= PAGE_SIZE);
#define RX_COPYBREAK	256
#define RX_COPY_MAX	IRQMOD_RX_MAX

#define FRAME_OVERHEAD	(VLAN_ETH_HLEN + ETH_FCS_LEN)
#define MTU_MAX		(9234 - FRAME_OVERHEAD)

/* A descriptor takes at most this much, so that a part fits into the FIFO. */
#define TX_PART_SHIFT	13
#define TX_PART_BYTES	BIT(TX_PART_SHIFT)
/* Up to here a packet is copied, and freed at once: that costs less than to map it. */
#define TX_COPYBREAK	128
#define TX_COPY_BYTES	128		/* a slot's place for it */
/* Descriptors of the largest packet: its parts, those of a packet of 64 KB that are cut
 * once more, and the context.
 */
#define TX_RESERVE	(MAX_SKB_FRAGS + 1 + (SZ_64K >> TX_PART_SHIFT) + 1)

struct i82574_rx_slot {
	struct page *page;
	dma_addr_t dma;			/* of the page */
};

struct i82574_rx_ring {
	union i82574_rx_desc *desc;
	struct i82574_rx_slot *slot;
	void __iomem *tail;
	struct page_pool *pool;
	unsigned int count;
	unsigned int next;		/* index: next to take */
	unsigned int back;		/* index: next to give to the chip */
	u32 taken;			/* running totals; count apart: all are the */
	u32 given;			/* chip's, or were taken */
	bool sync;			/* the CPU does not see what the chip writes */
	enum dma_data_direction dir;
	struct sk_buff *skb;		/* of a frame of which more is to come */
	bool skip;			/* ... is to come, and to be dropped */
	struct xdp_rxq_info xdp;
	dma_addr_t dma;
};

enum i82574_kind {
	TX_NOTHING,			/* a part of the packet before, or a context */
	TX_COPIED,
	TX_SKB,
	TX_XDP,				/* a frame of another device, mapped here */
	TX_XDP_OWN,			/* one of ours: its page is mapped anyway */
};

struct i82574_tx_slot {
	union {				/* in the first slot of a packet */
		struct sk_buff *skb;
		struct xdp_frame *frame;
	};
	DEFINE_DMA_UNMAP_ADDR(dma);
	DEFINE_DMA_UNMAP_LEN(len);	/* 0: nothing is mapped */
	u32 bytes;			/* of the packet, on the wire */
	u16 packets;			/* the same: more than one with TSO */
	u8 slots;			/* of the packet */
	u8 kind;			/* enum i82574_kind */
	bool page;
};

struct i82574_tx_ring {
	struct i82574_tx_desc *desc;
	struct i82574_tx_slot *slot;
	u8 *copies;			/* TX_COPY_BYTES for each slot */
	dma_addr_t copies_dma;
	void __iomem *tail;
	struct device *dev;
	unsigned int count;
	unsigned int next;		/* index: next to fill */
	u32 filled;			/* running totals */
	u64 context;			/* the last one; 0: none */
	u32 context_options;
	/* Written by who reclaims. */
	unsigned int dirty ____cacheline_aligned; /* index: next to reclaim */
	u32 done;
	dma_addr_t dma;
};

/* What the descriptors of a packet have in common, and its context. */
struct i82574_packet {
	u32 command;
	u32 options;
	u64 context;			/* 0: none is needed */
	u32 context_command;
	u32 context_options;
};

/* The memory of a queue's rings: a resize has two sets. */
struct i82574_rings {
	struct i82574_rx_ring rx;
	struct i82574_tx_ring tx;
};

/* Running totals, when rx_arrived() was called last. */
struct i82574_rx_seen {
	u32 frames;			/* taken from this queue */
	u32 all;			/* ... from all */
	u32 missed;
	u32 arrived;			/* for this queue */
};

struct i82574_queue {
	struct irqmod_queue queue;
	struct i82574 *nic;
	struct i82574_tx_ring tx;
	struct i82574_rx_ring rx ____cacheline_aligned;
	/* Which causes are masked (IRQMOD_RX, IRQMOD_TX), and those causes. */
	spinlock_t mask_lock;		/* @masked, and the chip's mask */
	u32 masked;
	u32 rx_causes;
	u32 tx_causes;
	struct i82574_rx_seen seen;
	char name[2][IFNAMSIZ + 16];	/* of the interrupts */
};

#define I82574_COUNTERS	58

struct i82574 {
	struct irqmod_port port;	/* first: see irqmod.h */
	void __iomem *regs;
	struct pci_dev *pdev;
	struct bpf_prog __rcu *xdp_prog;
	u32 rx_copybreak;
	u32 lost_doorbells;		/* for tests: doorbells to omit */
	bool msix;
	bool line;			/* the interrupt line, which may be shared */
	bool running;			/* the chip runs; RTNL */
	bool long_frames;
	bool flow_auto;			/* pause frames as negotiated */
	bool flow_rx;			/* ... or these */
	bool flow_tx;
	bool phy_saved;			/* the next three have been set */
	u16 phy_bmcr;
	u16 phy_advertise;
	u16 phy_ctrl1000;
	u32 ledctl;			/* while the LEDs identify the NIC */
	unsigned int rx_count;		/* descriptors */
	unsigned int tx_count;
	u32 vlans[VFTA_WORDS];		/* those that pass the filter */
	u8 rss_key[RSS_KEY_BYTES];
	u8 rss_table[RETA_ENTRIES];
	struct mutex mdio_lock;		/* MDIC, and the PHY's pages */
	spinlock_t counters_lock;	/* the counters, and reads of the chip's */
	u64 counters[I82574_COUNTERS];	/* sums of all that was read */
	atomic_t missed;		/* frames, a running total */
	u32 missed_told;		/* ... of which @counters has so many */
	struct mii_if_info mii;
	struct delayed_work link_work;
	char name[IFNAMSIZ + 8];
	struct i82574_queue queue[QUEUES];
};

static inline struct i82574 *i82574_of(struct net_device *netdev)
{
	return netdev_priv(netdev);
}

static inline struct i82574_queue *to_i82574(struct irqmod_queue *queue)
{
	return container_of(queue, struct i82574_queue, queue);
}

static inline u32 i82574_read(const struct i82574 *nic, u32 reg)
{
	return readl(nic->regs + reg);
}

static inline void i82574_write(const struct i82574 *nic, u32 reg, u32 value)
{
	writel(value, nic->regs + reg);
}

/* Sets and clears bits of a register. */
static inline void i82574_change(const struct i82574 *nic, u32 reg, u32 clear,
				 u32 set)
{
	i82574_write(nic, reg, (i82574_read(nic, reg) & ~clear) | set);
}

static inline unsigned int i82574_next(unsigned int i, unsigned int count)
{
	return i + 1 == count ? 0 : i + 1;
}

/* main.c: under RTNL */
int i82574_up(struct irqmod_port *port);
void i82574_down(struct irqmod_port *port);
void i82574_link_now(struct i82574 *nic);

/* rings.c: under RTNL */
int i82574_change_rings(struct i82574 *nic, unsigned int rx_count,
			unsigned int tx_count, struct bpf_prog *prog,
			unsigned int mtu);
int i82574_queues_open(struct i82574 *nic);
void i82574_queues_close(struct i82574 *nic);

/* hw.c */
int i82574_hw_reset(struct i82574 *nic);
void i82574_hw_init(struct i82574 *nic);
void i82574_hw_stop(struct i82574 *nic);
void i82574_hw_features(struct i82574 *nic, netdev_features_t features);
void i82574_set_rx_mode(struct net_device *netdev);
int i82574_vlan_add(struct net_device *netdev, __be16 proto, u16 vid);
int i82574_vlan_kill(struct net_device *netdev, __be16 proto, u16 vid);
void i82574_mask(struct irqmod_queue *queue, u32 groups);
void i82574_unmask(struct irqmod_queue *queue, u32 groups);
void i82574_rx_ack(struct irqmod_queue *queue);
void i82574_moderate(struct irqmod_queue *queue, unsigned int rx_usecs,
		     unsigned int tx_usecs);
int i82574_irqs_request(struct i82574 *nic);
void i82574_irqs_free(struct i82574 *nic);
int i82574_irqs_alloc(struct i82574 *nic);

/* phy.c */
int i82574_mdio_read(struct net_device *netdev, int phy, int reg);
void i82574_mdio_write(struct net_device *netdev, int phy, int reg, int value);
int i82574_phy_init(struct i82574 *nic);
void i82574_phy_save(struct i82574 *nic);
void i82574_phy_restore(struct i82574 *nic);
void i82574_flow_init(struct i82574 *nic);
void i82574_flow_link(struct i82574 *nic);
void i82574_get_pauseparam(struct net_device *netdev,
			   struct ethtool_pauseparam *pause);
int i82574_set_pauseparam(struct net_device *netdev,
			  struct ethtool_pauseparam *pause);

/* nvm.c */
int i82574_nvm_check(struct i82574 *nic);
int i82574_nvm_read(struct i82574 *nic, unsigned int word, u16 *value);
int i82574_get_eeprom_len(struct net_device *netdev);
int i82574_get_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom,
		      u8 *bytes);

/* rx.c */
int i82574_rx_alloc(struct i82574_queue *q, struct i82574_rx_ring *ring,
		    unsigned int count, bool xdp);
void i82574_rx_free(struct i82574_queue *q, struct i82574_rx_ring *ring);
void i82574_rx_start(struct i82574_queue *q);
bool i82574_rx_page_take(struct i82574_rx_ring *ring,
			 struct i82574_rx_slot *slot);
int i82574_rx_take(struct irqmod_queue *queue, int budget);
bool i82574_rx_pending(struct irqmod_queue *queue);
void i82574_rx_refill(struct irqmod_queue *queue);

/* tx.c */
int i82574_tx_alloc(struct i82574_queue *q, struct i82574_tx_ring *ring,
		    unsigned int count);
void i82574_tx_free(struct i82574_queue *q, struct i82574_tx_ring *ring);
void i82574_tx_start(struct i82574_queue *q);
netdev_tx_t i82574_xmit(struct sk_buff *skb, struct net_device *netdev);
bool i82574_tx_data(struct i82574_queue *q, const void *data, unsigned int len);
bool i82574_tx_frame(struct i82574_queue *q, struct xdp_frame *frame,
		     dma_addr_t dma, enum i82574_kind kind);
void i82574_tx_kick(struct i82574_queue *q);
unsigned int i82574_tx_reclaim(struct irqmod_queue *queue);
unsigned int i82574_tx_outstanding(struct irqmod_queue *queue);
unsigned int i82574_tx_bytes(struct irqmod_queue *queue);
unsigned int i82574_tx_room(struct irqmod_queue *queue);

/* offload.c */
int i82574_tx_offload(struct sk_buff *skb, struct i82574_packet *packet);
netdev_features_t i82574_features_check(struct sk_buff *skb,
					struct net_device *netdev,
					netdev_features_t features);

/* xdp.c */
#define XDP_DID_REDIRECT	BIT(0)
#define XDP_DID_SEND		BIT(1)
bool i82574_xdp_run(struct i82574_queue *q, struct i82574_rx_slot *slot,
		    struct bpf_prog *prog, unsigned int *at, unsigned int *len,
		    unsigned int *did);
void i82574_xdp_flush(struct i82574_queue *q, unsigned int did);
int i82574_xdp(struct net_device *netdev, struct netdev_bpf *bpf);
int i82574_xdp_xmit(struct net_device *netdev, int n, struct xdp_frame **frames,
		    u32 flags);

/* rss.c */
void i82574_rss_init(struct i82574 *nic);
void i82574_rss_write(struct i82574 *nic);
void i82574_rss_spread(struct i82574 *nic);
u32 i82574_get_rxfh_key_size(struct net_device *netdev);
u32 i82574_get_rxfh_indir_size(struct net_device *netdev);
int i82574_get_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh);
int i82574_set_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh,
		    struct netlink_ext_ack *extack);
int i82574_get_rxfh_fields(struct net_device *netdev,
			   struct ethtool_rxfh_fields *fields);
void i82574_get_channels(struct net_device *netdev,
			 struct ethtool_channels *channels);
int i82574_set_channels(struct net_device *netdev,
			struct ethtool_channels *channels);
extern const struct ethtool_ops i82574_ethtool_ops;

/* selftest.c */
#define I82574_TESTS	5
extern const char i82574_test_names[I82574_TESTS][ETH_GSTRING_LEN];
void i82574_self_test(struct net_device *netdev, struct ethtool_test *test,
		      u64 *data);

/* stats.c */
void i82574_counters_clear(struct i82574 *nic);
void i82574_counters_add(struct i82574 *nic);
bool i82574_rx_arrived(struct irqmod_queue *queue, u32 *arrived);
void i82574_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats);
int i82574_get_sset_count(struct net_device *netdev, int sset);
void i82574_get_strings(struct net_device *netdev, u32 sset, u8 *data);
void i82574_get_ethtool_stats(struct net_device *netdev,
			      struct ethtool_stats *stats, u64 *data);
void i82574_get_pause_stats(struct net_device *netdev,
			    struct ethtool_pause_stats *stats);
void i82574_get_eth_mac_stats(struct net_device *netdev,
			      struct ethtool_eth_mac_stats *stats);
void i82574_get_rmon_stats(struct net_device *netdev,
			   struct ethtool_rmon_stats *stats,
			   const struct ethtool_rmon_hist_range **ranges);

/* power.c */
#define WAKE_ALL	(WAKE_PHY | WAKE_UCAST | WAKE_MCAST | WAKE_BCAST | WAKE_MAGIC)
void i82574_sleep(struct irqmod_port *port);
void i82574_restore(struct irqmod_port *port);
extern const struct dev_pm_ops i82574_pm_ops;

#endif /* I82574_H */

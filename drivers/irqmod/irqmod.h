/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqmod: interrupt-handling schemes for Ethernet drivers, exchangeable at run
 * time, per interface, receive and transmit apart.
 *
 * A hardware driver knows registers and rings; the first member of its
 * netdev_priv() is a struct irqmod_port, and it hands the engine a struct
 * irqmod_ops. The engine owns *when* each operation is called; it knows no
 * register.
 *
 * Contexts. rx_take is never called twice at the same time for a port, but from
 * whatever context the scheme runs in: hard IRQ or softirq. While rx_deferred is
 * set, rx_take (hard IRQ) may interrupt rx_refill (softirq): the first moves the
 * head only, the second the tail. Transmit reclaim (tx_reclaim) is called by one context at a
 * time. mask and unmask may be called from any context, at the same time.
 *
 * A device behind a bus of transfers (USB) has no interrupt: its completions are
 * its causes, and may come in softirq (IRQMOD_CAP_TRANSFERS, lan78xx).
 */
#ifndef IRQMOD_H
#define IRQMOD_H

#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>

struct irqmod_port;
struct irqmod_rx_scheme;
struct irqmod_tx_scheme;

/* Groups of interrupt causes, as the engine tells them apart. A driver puts
 * every receive error and overflow cause into RX: they must be masked together
 * with it, or an overload becomes an interrupt storm.
 */
#define IRQMOD_RX	BIT(0)
#define IRQMOD_TX	BIT(1)

/* What the hardware can do. The first two are a scheme's to need (scheme.h). */
/* Its causes are masked in hardware, and raised by an interrupt of its own. */
#define IRQMOD_CAP_MASK		BIT(0)
/* Frames come in transfers, many in one, that a bus driver completes (USB). */
#define IRQMOD_CAP_TRANSFERS	BIT(1)
/* It can raise the TX cause for chosen commands only. */
#define IRQMOD_CAP_TX_IRQ_BIT	BIT(2)

#define IRQMOD_COUNT_NS		(50 * NSEC_PER_USEC)

/* What a hardware driver does for the engine. */
struct irqmod_ops {
	/* Masks or unmasks groups of causes. After mask() returns, no new
	 * interrupt of that group is raised. After unmask(), a cause that
	 * was raised meanwhile interrupts at once. Hardware that cannot be
	 * masked keeps back what its bus driver completes, and calls
	 * irqmod_rx_again() from unmask().
	 */
	void (*mask)(struct irqmod_port *port, u32 groups);
	void (*unmask)(struct irqmod_port *port, u32 groups);

	/* Acknowledges "frame received", so that a later unmask() does not
	 * interrupt for frames that have been taken already. Causes that say
	 * that the receiver stopped are left alone: they must interrupt.
	 */
	void (*rx_ack)(struct irqmod_port *port);

	/* Takes up to @budget received frames off the ring and hands each to
	 * irqmod_deliver(). Unless @port->rx_deferred is set, gives the ring
	 * its buffers back at once; else leaves that to rx_refill(). If a
	 * buffer cannot be had, the frame is dropped and counted, and its
	 * buffer stays on the ring. Returns the number of frames taken
	 * (dropped ones included).
	 */
	int (*rx_take)(struct irqmod_port *port, int budget);

	/* Whether the next frame is already there. */
	bool (*rx_pending)(struct irqmod_port *port);

	/* Gives the ring the buffers that deferred takes left out. */
	void (*rx_refill)(struct irqmod_port *port);

	/* Reclaims completed transmit descriptors: unmaps, counts, and frees
	 * each skb with irqmod_tx_free(). Returns how many packets.
	 */
	unsigned int (*tx_reclaim)(struct irqmod_port *port);

	/* Packets on the transmit ring, completed or not. */
	unsigned int (*tx_outstanding)(struct irqmod_port *port);

	/* Free transmit descriptors, for waking the queue. */
	unsigned int (*tx_room)(struct irqmod_port *port);

	/* Frames that have come, taken, waiting on the ring or dropped because
	 * it was full, for ever, modulo 2^32. NULL: the hardware does not count
	 * what it drops. Hardware that takes its time to count has rx_count,
	 * which asks it; rx_arrived, IRQMOD_COUNT_NS later, is what it answered.
	 * Hard IRQ, while the port is up: neither may wait.
	 */
	void (*rx_count)(struct irqmod_port *port);
	u32 (*rx_arrived)(struct irqmod_port *port);
};

/* Written where irqmod_interrupt() is called. */
struct irqmod_irq_stats {
	u64_stats_t rx;			/* RX causes seen by the handler */
	u64_stats_t tx;			/* TX causes */
	u64_stats_t switches;		/* hybrid: DE <-> NAPI */
	struct u64_stats_sync syncp;
};

/* Written by whoever takes frames; the driver counts packets, bytes,
 * no_buffer and errors, once a pass.
 */
struct irqmod_rx_stats {
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t polls;		/* passes over the ring */
	u64_stats_t polls_done;		/* ... that emptied it */
	u64_stats_t no_buffer;		/* frames dropped for want of memory */
	u64_stats_t errors;
	u64_stats_t backlog_drops;	/* netif_rx() refused */
	struct u64_stats_sync syncp;
};

/* Written by whoever reclaims; the driver counts packets, bytes and errors,
 * once a reclaim.
 */
struct irqmod_tx_stats {
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t errors;
	u64_stats_t reclaims_xmit;	/* packets freed before a transmit */
	u64_stats_t reclaims_rx;	/* ... in the receive path */
	u64_stats_t reclaims_timer;	/* ... by the backstop */
	u64_stats_t reclaims_irq;	/* ... by a TX interrupt */
	struct u64_stats_sync syncp;
};

/* What the timer scheme leaves out, to see what it earns. */
enum irqmod_timer_without {
	IRQMOD_WITHOUT_NOTHING,
	IRQMOD_WITHOUT_IRQ_OFF,
	IRQMOD_WITHOUT_TOP_HALF,
	IRQMOD_WITHOUT_BACKLOG,
	IRQMOD_WITHOUT_REFILL,
};

/* Memory for the heads of received sk_buffs (heads.c). Enough that a chunk is
 * free when its turn comes again: a socket holds up to 92 full-size frames
 * (rmem_default), and a pass 64 more. Fast Ethernet does not fill a socket.
 */
#define IRQMOD_CHUNKS		16
#define IRQMOD_CHUNKS_FAST	8

struct irqmod_chunk {
	struct page *page;
	unsigned int bias;		/* references to it that are ours */
};

struct irqmod_heads {
	void *start;			/* of the chunk whose turn it is */
	unsigned int left;		/* bytes of it; cut off at their end */
	unsigned int turn;
	unsigned int asked;		/* for a chunk, while fail_heads is set */
	unsigned int chunks;		/* in use */
	struct irqmod_chunk chunk[IRQMOD_CHUNKS];
};

/* One interface; the first member of netdev_priv(). The fields down to
 * rx_ring are the driver's to set before irqmod_register(), the settings too
 * if it wants other defaults; the rest is the engine's.
 */
struct irqmod_port {
	struct net_device *netdev;
	const struct irqmod_ops *ops;
	u32 caps;
	int irq;			/* for synchronize_irq(); 0: there is none */
	unsigned int tx_ring;		/* descriptors; the driver updates both */
	unsigned int rx_ring;
	u32 wire_mbps;			/* the fastest link */

	/* Hot: read for every packet. */
	void (*deliver)(struct irqmod_port *port, struct sk_buff *skb);
	const struct irqmod_rx_scheme *rx;
	const struct irqmod_tx_scheme *tx;
	struct irqmod_heads heads;
	struct list_head rx_list;	/* taken by this pass, not yet up the stack */
	bool rx_deferred;		/* refill later (timer) */
	bool rx_in_softirq;		/* takes run in softirq: NAPI's caches may be used */
	bool rx_stopping;
	bool rx_merges;			/* napi: flows may be merged (GRO) */
	bool tx_early;			/* off: reclaim before each transmit */
	bool tx_timed;			/* off, coalesce: tx_timer bounds the wait */
	bool tx_armed;			/* tx_timer runs */
	bool tx_counted;		/* coalesce without interrupt bit */
	bool tx_switching;		/* between two schemes */
	unsigned int tx_irq_every;	/* interrupt bit on every n-th packet; 0: never */
	unsigned int tx_since_irq;
	u32 rx_frames;			/* taken, for ever: hybrid counts by it */
	struct napi_struct napi;

	/* Settings (ethtool, sysfs). 0 before irqmod_register(): the default. */
	unsigned int rx_usecs;		/* timer: period; 0: follows the ring */
	unsigned int tx_usecs;		/* coalesce: bound; off: backstop */
	unsigned int tx_frames;		/* coalesce: N */
	unsigned int rx_weight;		/* napi: budget of a poll */
	u32 rx_cliff_pps;
	u32 rx_epsilon_permille;
	u32 rx_rate_window_ms;
	enum irqmod_timer_without rx_without;

	/* Scheme state. */
	bool up;
	ktime_t rx_period;		/* timer: rx_usecs */
	bool rx_open;			/* timer without irq_off: RX was unmasked */
	struct hrtimer rx_timer;	/* timer: the poll; hybrid: the window */
	struct hrtimer rest_timer;	/* de: ends a rest */
	struct hrtimer tx_timer;
	struct tasklet_struct rx_tasklet;
	spinlock_t tx_lock;		/* reclaim by IRQ and by timer */
	unsigned long rx_rest_at;	/* de: jiffies */
	struct irqmod_hybrid *hybrid;
	struct irqmod_adaptive *adaptive;

	struct irqmod_irq_stats irq_stats;
	struct irqmod_rx_stats rx_stats;
	struct irqmod_tx_stats tx_stats;
};

static inline struct irqmod_port *irqmod_port(const struct net_device *netdev)
{
	return netdev_priv(netdev);
}

/* Registration: before register_netdev() / after unregister_netdev(). */
int irqmod_register(struct irqmod_port *port);
void irqmod_unregister(struct irqmod_port *port);

/* ndo_open, after the hardware is ready and before its interrupts matter;
 * ndo_stop, before the hardware is taken down. Both under RTNL. Between stop
 * and start the driver may do as it likes with its rings.
 */
void irqmod_start(struct irqmod_port *port);
void irqmod_stop(struct irqmod_port *port);

/* The hard interrupt handler, after the causes have been acknowledged; or the
 * completion of a transfer, in whatever context the bus driver calls it.
 */
void irqmod_interrupt(struct irqmod_port *port, u32 groups);
void irqmod_rx_again(struct irqmod_port *port);

void irqmod_tx_reclaim_early(struct irqmod_port *port);
void irqmod_tx_arm(struct irqmod_port *port);
void irqmod_tx_counted(struct irqmod_port *port);
void irqmod_tx_full(struct irqmod_port *port, struct netdev_queue *txq,
		    unsigned int reserve);

/* ndo_start_xmit calls these three, in this order. First of all: */
static inline void irqmod_tx_begin(struct irqmod_port *port)
{
	if (port->tx_early)
		irqmod_tx_reclaim_early(port);
}

/* Once per packet: set the interrupt bit in its last descriptor? */
static inline bool irqmod_tx_wants_irq(struct irqmod_port *port)
{
	if (!port->tx_irq_every || ++port->tx_since_irq < port->tx_irq_every)
		return false;
	port->tx_since_irq = 0;
	return true;
}

/* The packet is on the ring, @room descriptors are free, and a packet may need
 * @reserve of them: stops the queue if it has to. True: ring the doorbell now.
 */
static inline bool irqmod_tx_queued(struct irqmod_port *port,
				    struct netdev_queue *txq,
				    unsigned int room, unsigned int reserve)
{
	if (port->tx_timed && !port->tx_armed)
		irqmod_tx_arm(port);
	if (port->tx_counted)
		irqmod_tx_counted(port);
	if (unlikely(room < reserve))
		irqmod_tx_full(port, txq, reserve);
	return !netdev_xmit_more() || netif_xmit_stopped(txq);
}

/* For rx_take() */
static inline void irqmod_deliver(struct irqmod_port *port, struct sk_buff *skb)
{
	port->deliver(port, skb);
}

/* The same for a frame that may be one of a flow: its checksum is verified,
 * and it shares its memory with no other.
 */
static inline void irqmod_deliver_flow(struct irqmod_port *port,
				       struct sk_buff *skb)
{
	if (port->rx_merges && port->netdev->features & NETIF_F_GRO)
		napi_gro_receive(&port->napi, skb);
	else
		port->deliver(port, skb);
}

bool irqmod_heads_next(struct irqmod_heads *heads);

/* Whoever takes frames may call this, nobody else: there is no lock. */
static inline void *irqmod_head_alloc(struct irqmod_heads *heads,
				      unsigned int size)
{
	if (unlikely(heads->left < size) && !irqmod_heads_next(heads))
		return NULL;
	heads->left -= size;
	heads->chunk[heads->turn].bias--;
	return heads->start + heads->left;
}

/* The most that irqmod_rx_alloc() gives: it has to fit a single page. */
#define IRQMOD_RX_MAX	2048

/* A buffer of @len bytes, a frame at most, for rx_take(); NULL if there is
 * none. Its head comes from pages that go round (heads.c); in softirq the
 * sk_buff from those that napi_consume_skb() put back.
 */
static inline struct sk_buff *irqmod_rx_alloc(struct irqmod_port *port,
					      unsigned int len)
{
	unsigned int size;
	struct sk_buff *skb;
	void *head;

	size = SKB_DATA_ALIGN(NET_SKB_PAD + NET_IP_ALIGN + len) +
	       SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	head = irqmod_head_alloc(&port->heads, size);
	if (unlikely(!head))
		return NULL;
	skb = port->rx_in_softirq ? napi_build_skb(head, size)
				  : build_skb(head, size);
	if (unlikely(!skb)) {
		skb_free_frag(head);
		return NULL;
	}
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb->dev = port->netdev;
	return skb;
}

/* For tx_reclaim(). A scheme that reclaims in hard IRQ is not tx_early. */
static inline void irqmod_tx_free(struct irqmod_port *port, struct sk_buff *skb)
{
	if (port->tx_early)
		napi_consume_skb(skb, !irqs_disabled());
	else
		dev_consume_skb_irq(skb);
}

/* ethtool and netdev operations that are the same for every driver */
int irqmod_get_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack);
int irqmod_set_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack);
#define IRQMOD_COALESCE_PARAMS	(ETHTOOL_COALESCE_RX_USECS | \
				 ETHTOOL_COALESCE_TX_USECS | \
				 ETHTOOL_COALESCE_TX_MAX_FRAMES)
int irqmod_get_sset_count(struct net_device *netdev, int sset);
void irqmod_get_strings(struct net_device *netdev, u32 sset, u8 *data);
void irqmod_get_ethtool_stats(struct net_device *netdev,
			      struct ethtool_stats *stats, u64 *data);
void irqmod_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats);

#endif /* IRQMOD_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqmod: interrupt-handling schemes for Ethernet drivers. The receive and the
 * transmit scheme can be changed separately, per interface and at run time.
 *
 * A hardware driver handles registers and rings. The first member of its
 * netdev_priv() is a struct irqmod_port, and it provides a struct irqmod_ops.
 * The engine decides when each operation is called; it accesses no registers.
 *
 * A port is an interface, with its settings. It has one or more queues, each a
 * struct irqmod_queue: a receive and a transmit ring, with their NAPI, the state
 * of the schemes, counters and an interrupt. All queues of a port have the same
 * schemes. Queues run independently of each other, on several processors.
 *
 * Contexts: calls of rx_take for one queue never overlap, but they run in the
 * context of the scheme: hard IRQ, softirq, or, while a scheme is being started,
 * process context with BH disabled. While rx_deferred is set, rx_take (hard IRQ)
 * may interrupt rx_refill (softirq): rx_take moves only the head, rx_refill only
 * the tail. A scheme may also call rx_refill in hard IRQ, and a process calls it
 * when a scheme stops; then rx_take does not run. Calls of tx_reclaim never
 * overlap. mask and unmask may be called from any context and concurrently.
 *
 * A device on a transfer-based bus (USB) has no interrupt of its own. The
 * completion of a transfer takes its place and may run in softirq
 * (IRQMOD_CAP_TRANSFERS, lan78xx).
 */
#ifndef IRQMOD_H
#define IRQMOD_H

#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue.h>

#include "instruments.h"

/* Debug builds check who uses a ring (debug.c). */
#ifdef CONFIG_PROVE_LOCKING
#define IRQMOD_DEBUG
#endif

struct irqmod_device_ops;
struct irqmod_port;
struct irqmod_queue;
struct irqmod_rx_scheme;
struct irqmod_tx_scheme;

/* Groups of interrupt causes. A driver assigns all receive error and overflow
 * causes to RX: they must be masked together with RX, or an overload causes an
 * interrupt storm.
 */
#define IRQMOD_RX	BIT(0)
#define IRQMOD_TX	BIT(1)

/* Hardware capabilities. A scheme may require them (scheme.h). */
/* Causes can be masked in hardware; the device has its own interrupt. */
#define IRQMOD_CAP_MASK		BIT(0)
/* A bus driver (USB) completes transfers that hold many frames each. */
#define IRQMOD_CAP_TRANSFERS	BIT(1)
/* The TX cause can be requested per descriptor. */
#define IRQMOD_CAP_TX_IRQ_BIT	BIT(2)
/* The chip moderates its interrupts (moderate()). */
#define IRQMOD_CAP_MODERATION	BIT(3)

#define IRQMOD_COUNT_NS		(50 * NSEC_PER_USEC)

/**
 * struct irqmod_ops - what a hardware driver provides; each operation is for one queue
 *
 * The top of this file says in which contexts they are called.
 */
struct irqmod_ops {
	/**
	 * @mask: masks groups of causes. A handler that starts after it has returned
	 * does not pass them to irqmod_interrupt(), even if the write is still under
	 * way. For one that runs, wait with synchronize_irq().
	 */
	void (*mask)(struct irqmod_queue *queue, u32 groups);
	/**
	 * @unmask: the opposite. A cause that was raised while masked interrupts
	 * at once. The driver of a device without a mask holds completed
	 * transfers back while masked, and calls irqmod_rx_missed() here.
	 */
	void (*unmask)(struct irqmod_queue *queue, u32 groups);
	/**
	 * @rx_ack: acknowledges "frame received", so that a later unmask() does
	 * not interrupt for frames that have already been taken. Does not
	 * acknowledge causes that report a stopped receiver: they must interrupt.
	 * When it returns, the write has reached the device.
	 */
	void (*rx_ack)(struct irqmod_queue *queue);
	/**
	 * @rx_take: takes up to @budget received frames from the ring and passes
	 * each to irqmod_deliver() or irqmod_deliver_flow(). Refills the ring at
	 * once, unless rx_deferred of the queue is set; then it leaves it to
	 * rx_refill(). If no buffer can be allocated, drops and counts the frame
	 * and leaves its buffer on the ring. Returns the number of frames taken,
	 * including dropped ones.
	 */
	int (*rx_take)(struct irqmod_queue *queue, int budget);
	/** @rx_pending: returns whether another received frame is on the ring. */
	bool (*rx_pending)(struct irqmod_queue *queue);
	/**
	 * @rx_refill: refills the descriptors that deferred rx_take() calls
	 * emptied, until the hardware has rx_limit of them. With
	 * IRQMOD_CAP_TRANSFERS there is no limit.
	 */
	void (*rx_refill)(struct irqmod_queue *queue);
	/**
	 * @tx_reclaim: reclaims completed transmit descriptors: unmaps and counts
	 * the packets and frees each skb with irqmod_tx_free(). At the end it
	 * calls irqmod_tx_completed(), if there is tx_bytes(). Returns the number
	 * of packets.
	 */
	unsigned int (*tx_reclaim)(struct irqmod_queue *queue);
	/**
	 * @tx_outstanding: returns how many of the scarce units are in use,
	 * completed or not: slots of the ring, or transfers. 0: there is nothing
	 * to reclaim.
	 */
	unsigned int (*tx_outstanding)(struct irqmod_queue *queue);
	/**
	 * @tx_bytes: returns the bytes of the packets on the transmit ring,
	 * completed or not. The queue is locked, and nothing is reclaimed. NULL:
	 * no scheme limits the bytes (@limits in scheme.h).
	 */
	unsigned int (*tx_bytes)(struct irqmod_queue *queue);
	/**
	 * @tx_room: returns how many of the units of tx_outstanding() are free,
	 * to decide on waking the queue.
	 */
	unsigned int (*tx_room)(struct irqmod_queue *queue);
	/**
	 * @rx_count: for hardware that needs time to count: requests the count,
	 * which rx_arrived() has IRQMOD_COUNT_NS later. Called in hard IRQ while
	 * the queue is up; must not wait. Returns false if it cannot request it
	 * now. Optional.
	 */
	bool (*rx_count)(struct irqmod_queue *queue);
	/**
	 * @rx_arrived: sets *@arrived to a running total, modulo 2^32, of the
	 * frames that have arrived: taken, waiting on the ring, or dropped because
	 * it was full. Called as rx_count(). Returns false if there is no count
	 * yet. NULL: the hardware does not count drops.
	 */
	bool (*rx_arrived)(struct irqmod_queue *queue, u32 *arrived);
	/**
	 * @moderate: from the next interrupt of RX causes on, at least @rx_usecs pass
	 * to the one after it, and the same for TX; 0: no moderation. More than the
	 * chip can is its maximum; if both have the same interrupt, the shorter one
	 * counts. Called in any context while the queue is up, by one at a time. With
	 * IRQMOD_CAP_MODERATION.
	 */
	void (*moderate)(struct irqmod_queue *queue, unsigned int rx_usecs,
			 unsigned int tx_usecs);
};

/* Updated in the context of irqmod_interrupt() for one group of causes. */
struct irqmod_irq_stats {
	u64_stats_t causes;		/* seen by the handler */
	struct u64_stats_sync syncp;
};

/* Updated in the context that takes frames. The driver updates packets, bytes,
 * no_buffer and errors, once per pass.
 */
struct irqmod_rx_stats {
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t polls;		/* passes over the ring */
	u64_stats_t polls_done;		/* ... that emptied it */
	u64_stats_t no_buffer;		/* frames dropped: no memory */
	u64_stats_t errors;
	u64_stats_t backlog_drops;	/* netif_rx() failed */
	struct u64_stats_sync syncp;
};

/* Updated in the context that reclaims. The driver updates packets, bytes and
 * errors, once per reclaim.
 */
struct irqmod_tx_stats {
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t errors;
	u64_stats_t reclaims_xmit;	/* packets reclaimed before a transmit */
	u64_stats_t reclaims_rx;	/* ... in the receive path */
	u64_stats_t reclaims_timer;	/* ... by the backstop */
	u64_stats_t reclaims_irq;	/* ... by a TX interrupt */
	struct u64_stats_sync syncp;
};

/* Memory for the heads of received sk_buffs (heads.c). There are enough chunks
 * that all heads of a chunk are free again when it is reused: a socket queues
 * up to 92 full-size frames (rmem_default), and a pass holds 64 more. Fast
 * Ethernet does not fill a socket.
 */
#define IRQMOD_CHUNKS		32
#define IRQMOD_CHUNKS_FAST	16
#define IRQMOD_CHUNK_BYTES	SZ_16K

struct irqmod_chunk {
	struct page *page;
	unsigned int bias;		/* page references held by us */
};

struct irqmod_heads {
	void *start;			/* of the current chunk */
	unsigned int left;		/* unused bytes; allocated from their end */
	unsigned int turn;		/* index of the current chunk */
	struct irqmod_chunk chunk[IRQMOD_CHUNKS];
	unsigned int chunks;		/* chunks in use */
	unsigned int asked;		/* chunk requests while fail_heads is set */
	bool slab;			/* slab_heads, when the interface came up */
};

/**
 * struct irqmod_queue - a queue: a receive and a transmit ring, embedded in what the
 *	driver has of it
 * @irq: set by the driver before irqmod_add_queue(): its interrupt, for
 *	synchronize_irq(); 0: a bus driver's completions
 * @tx_irq: the same, of TX causes alone; 0: @irq is of both
 * @rx_usecs: setting, as the next two: how long a frame may wait; 0: from the ring size
 * @tx_usecs: how long a packet that has been sent may wait; 0: 1000
 * @tx_frames: packets per TX interrupt; 0: 128
 * @rx_stats: the driver updates packets, bytes, no_buffer and errors
 * @tx_stats: the driver updates packets, bytes and errors
 * @port: to be read: its port
 * @netdev: to be read: the port's netdev
 * @txq: to be read: its transmit queue
 * @index: to be read: its number among those of the port
 * @rx_deferred: to be read in rx_take(): the scheme calls rx_refill() later
 * @rx_limit: to be read in rx_refill(): it fills no more descriptors; UINT_MAX
 * @rx_dry: set by rx_refill() if it has run out of memory, else cleared
 * @rx_frames: to be read in rx_arrived(): a running total of the frames taken
 *
 * All other fields belong to the engine.
 */
struct irqmod_queue {
	/* Hot in sending: on 64-bit a line of 64 bytes, which the sender writes.
	 * Receiving reads it once per pass.
	 */
	struct netdev_queue *txq;
	/* private: the engine's */
	const struct irqmod_ops *ops;
	const struct irqmod_tx_scheme *tx;	/* of the port */
	const struct irqmod_rx_scheme *rx;	/* of the port */
	void *rx_state;			/* private to the active scheme */
	void (*tx_queued)(struct irqmod_queue *queue);	/* per packet; NULL: none */
	unsigned int tx_irq_every;	/* interrupt for every n-th packet; 0: none */
	unsigned int tx_since_irq;
	bool up;			/* of the port */
	u8 tx_early;			/* reclaim before a transmit if so many are on
					 * the ring; 0: not
					 */
	bool tx_timed;			/* tx_timer bounds the wait */
	bool tx_armed;			/* tx_timer is armed */
	bool tx_in_softirq;		/* reclaimed in softirq: NAPI caches usable */
	bool tx_in_rx;			/* reclaim in the receive path */
	u8 tx_with_rx;			/* IRQMOD_TX: TX causes start the receive
					 * scheme, which masks TX with RX; else 0
					 */
	bool tx_limited;		/* byte queue limits count packets */

	/* Hot in receiving: a line, the current chunk, and NAPI. */
	/* public: */
	struct net_device *netdev;
	/* private: */
	void (*deliver)(struct irqmod_queue *queue, struct sk_buff *skb);
	struct list_head rx_list;	/* taken in this pass, not yet delivered */
	/* public: */
	bool rx_deferred;
	/* private: */
	bool rx_in_softirq;		/* rx_take runs in softirq: NAPI caches usable */
	bool rx_stopping;
	bool rx_merges;			/* GRO allowed */
	unsigned int rx_ring;		/* of the port */
	/* public: */
	u32 rx_frames;
	unsigned int rx_limit;
	bool rx_dry;
	/* private: */
	struct irqmod_heads heads;
	struct napi_struct napi;

	/* public: */
	struct irqmod_port *port;
	int irq;
	int tx_irq;
	unsigned int rx_usecs;
	unsigned int tx_usecs;
	unsigned int tx_frames;
	u16 index;
	/* private: */
	struct irqmod_queue *next;	/* of the port */
	unsigned int cpu;		/* without @irq: where the last completion came */
	bool tx_switching;		/* scheme change in progress */
	bool running;			/* its schemes are started; RTNL */
#ifdef IRQMOD_DEBUG
	const char *rx_holder;		/* function whose pass is under way */
	const char *rx_owner;		/* ... whose pass was the last; NULL: given */
	bool rx_quiet;			/* stopped: no pass until the next start */
	atomic_t rx_polling;		/* NAPI polls that have not returned */
	const char *tx_holder;		/* function whose reclaim is under way */
	bool tx_quiet;			/* stopped: no reclaim until the next start */
	bool tx_closed;			/* ... and no packet is sent */
#endif
	void **states;			/* of all schemes, in the order of the tables */
	void *tx_state;			/* private to the active scheme */
	struct hrtimer tx_timer;
	spinlock_t tx_lock;		/* reclaim by IRQ and by timer */

	struct irqmod_irq_stats rx_irq_stats;
	struct irqmod_irq_stats tx_irq_stats;
	/* public: */
	struct irqmod_rx_stats rx_stats;
	struct irqmod_tx_stats tx_stats;
} ____cacheline_aligned;

/**
 * struct irqmod_port - an interface; the first member of netdev_priv()
 * @netdev: the interface
 * @ops: the operations of its queues
 * @caps: IRQMOD_CAP_ that the hardware has
 * @rx_ring: descriptors of each receive ring; later irqmod_set_rings() sets both
 * @tx_ring: packets that each transmit ring holds
 * @tx_reserve: descriptors that a packet may need
 * @wire_mbps: of the fastest link
 * @device: for the functions of device.h, as all up to @stat_count
 * @ring_min: the shortest ring
 * @ring_max: the longest
 * @rings: the rings of all queues, in the driver's format
 * @rings_bytes: its size
 * @msg_enable: messages that are wanted, NETIF_MSG_
 * @wol_supported: WAKE_ that the chip can be woken by
 * @wol: those that wake the machine; RTNL
 * @stat_names: names of the chip's own statistics
 * @stat_count: how many there are
 * @rx_weight: setting: the budget of a NAPI poll; 0: from the ring size
 *
 * Before irqmod_register() the driver sets those up to @wire_mbps, and may set the
 * others, and adds the queues.
 */
struct irqmod_port {
	struct net_device *netdev;
	const struct irqmod_ops *ops;
	u32 caps;
	unsigned int rx_ring;
	unsigned int tx_ring;
	unsigned int tx_reserve;
	u32 wire_mbps;

	const struct irqmod_device_ops *device;
	unsigned int ring_min;
	unsigned int ring_max;
	void *rings;
	size_t rings_bytes;
	u32 msg_enable;
	u32 wol_supported;
	u32 wol;
	const char (*stat_names)[ETH_GSTRING_LEN];
	unsigned int stat_count;

	unsigned int rx_weight;

	/* private: the engine's */
	const struct irqmod_rx_scheme *rx;
	const struct irqmod_tx_scheme *tx;
	bool tx_chosen;			/* otherwise the default for @rx */
	struct work_struct reset_work;
	bool up;
	struct irqmod_queue *queues;	/* the first; see irqmod_for_each_queue() */
	u16 queue_count;
	u16 queues_used;		/* irqmod_start() starts so many */
};

#define irqmod_for_each_queue(queue, port)				\
	for ((queue) = (port)->queues; (queue); (queue) = (queue)->next)

/* A device that a driver is for; @modalias is what MODULE_DEVICE_TABLE() would make
 * of its table. With that, udev would load the driver at boot, and it might take a
 * device from the driver in the kernel's tree. Ours is loaded by its name alone.
 * The lab reads this to choose a model.
 */
#define IRQMOD_DRIVES(modalias)	MODULE_ALIAS("irqmod:" modalias)

/**
 * irqmod_port() - the port of an interface
 * @netdev: a netdev with a port
 *
 * Return: its port, the first member of netdev_priv().
 */
static inline struct irqmod_port *irqmod_port(const struct net_device *netdev)
{
	return netdev_priv(netdev);
}

void irqmod_add_queue(struct irqmod_port *port, struct irqmod_queue *queue);
int irqmod_use_queues(struct irqmod_port *port, unsigned int count);

void irqmod_set_rings(struct irqmod_port *port, unsigned int rx_ring,
		      unsigned int tx_ring);
int irqmod_register(struct irqmod_port *port);
void irqmod_unregister(struct irqmod_port *port);

void irqmod_start(struct irqmod_port *port);
void irqmod_stop(struct irqmod_port *port);
void irqmod_start_queue(struct irqmod_queue *queue);
void irqmod_stop_queue(struct irqmod_queue *queue);

void irqmod_interrupt(struct irqmod_queue *queue, u32 groups);
void irqmod_rx_missed(struct irqmod_queue *queue);

void irqmod_netpoll(struct irqmod_queue *queue);

void irqmod_tx_reclaim_early(struct irqmod_queue *queue);
void irqmod_tx_arm(struct irqmod_queue *queue);
void irqmod_tx_want_timer(struct irqmod_queue *queue);
void irqmod_tx_limited(struct irqmod_queue *queue);
void irqmod_tx_full(struct irqmod_queue *queue, unsigned int reserve);

/**
 * irqmod_tx_is_stopped() - whether the driver or a byte queue limit has stopped the queue
 * @queue: the queue
 *
 * Unlike netif_xmit_stopped(), for reads while another CPU changes that.
 */
static inline bool irqmod_tx_is_stopped(const struct irqmod_queue *queue)
{
	return READ_ONCE(queue->txq->state) & QUEUE_STATE_ANY_XOFF;
}

#ifdef IRQMOD_DEBUG
void irqmod_tx_check_started(const struct irqmod_queue *queue);
#else
#define irqmod_tx_check_started(queue) ((void)(queue))
#endif

/**
 * irqmod_tx_begin() - the first of three functions that ndo_start_xmit calls in order
 * @queue: the queue; it is locked
 */
static inline void irqmod_tx_begin(struct irqmod_queue *queue)
{
	irqmod_tx_check_started(queue);
	if (queue->tx_early)
		irqmod_tx_reclaim_early(queue);
}

/**
 * irqmod_tx_want_irq() - something other than a packet is on the ring
 * @queue: the queue; it is locked
 *
 * For what does not interrupt (8255x: commands). The ring is then full with fewer
 * packets than the scheme counts on, and none of them might have the interrupt bit:
 * the next packet gets it.
 */
static inline void irqmod_tx_want_irq(struct irqmod_queue *queue)
{
	if (queue->tx_irq_every)
		queue->tx_since_irq = queue->tx_irq_every - 1;
}

/**
 * irqmod_tx_sent() - counts a packet, before it can be reclaimed
 * @queue: the queue; it is locked
 * @bytes: exactly those that tx_reclaim() will pass to irqmod_tx_completed(). If more
 *         are completed than were sent, the kernel hits a BUG_ON().
 *
 * Return: whether to set the interrupt bit in the packet's last descriptor, for drivers
 * with IRQMOD_CAP_TX_IRQ_BIT.
 */
static inline bool irqmod_tx_sent(struct irqmod_queue *queue, unsigned int bytes)
{
	if (queue->tx_limited)
		netdev_tx_sent_queue(queue->txq, bytes);
	if (!queue->tx_irq_every || ++queue->tx_since_irq < queue->tx_irq_every)
		return false;
	queue->tx_since_irq = 0;
	return true;
}

/**
 * irqmod_tx_queued() - the packet is on the ring
 * @queue: the queue; it is locked
 * @room: tx_room() now
 * @reserve: what a packet may need; if there is less, the queue is stopped
 *
 * Return: whether to ring the doorbell now.
 */
static inline bool irqmod_tx_queued(struct irqmod_queue *queue,
				    unsigned int room, unsigned int reserve)
{
	if (queue->tx_timed && !queue->tx_armed)
		irqmod_tx_arm(queue);
	if (queue->tx_queued)
		queue->tx_queued(queue);
	if (unlikely(room < reserve))
		irqmod_tx_full(queue, reserve);
	if (queue->tx_limited && unlikely(irqmod_tx_is_stopped(queue)))
		irqmod_tx_limited(queue);
	return !netdev_xmit_more() || irqmod_tx_is_stopped(queue);
}

/**
 * irqmod_deliver() - delivers a frame, in rx_take()
 * @queue: the queue
 * @skb: the frame
 */
static inline void irqmod_deliver(struct irqmod_queue *queue, struct sk_buff *skb)
{
	queue->deliver(queue, skb);
}

/**
 * irqmod_is_ip_flow() - the same as irqmod_is_flow() for IPv4
 * @skb: the frame
 * @at: where its IP header begins in the data, in bytes
 *
 * Return: true for an IP packet that is not UDP.
 */
static inline bool irqmod_is_ip_flow(const struct sk_buff *skb, unsigned int at)
{
	const struct iphdr *ip = (const void *)(skb->data + at);

	return skb_headlen(skb) >= at + sizeof(*ip) && ip->protocol != IPPROTO_UDP;
}

/**
 * irqmod_is_ip6_flow() - the same as irqmod_is_flow() for IPv6
 * @skb: the frame
 * @at: where its IP header begins in the data, in bytes
 *
 * Return: true for an IP packet that is not UDP.
 */
static inline bool irqmod_is_ip6_flow(const struct sk_buff *skb, unsigned int at)
{
	const struct ipv6hdr *ip6 = (const void *)(skb->data + at);

	if (skb_headlen(skb) < at + sizeof(*ip6) + sizeof(struct ipv6_opt_hdr))
		return false;
	if (ip6->nexthdr != IPPROTO_FRAGMENT)
		return ip6->nexthdr != IPPROTO_UDP;
	return ((const struct ipv6_opt_hdr *)(ip6 + 1))->nexthdr != IPPROTO_UDP;
}

bool irqmod_is_pppoe_flow(const struct sk_buff *skb);

/**
 * irqmod_is_flow() - whether GRO may merge a frame of an unknown kind
 * @skb: the frame, for which the chip tells neither TCP nor UDP
 *
 * UDP is not merged: it takes longer then, and seldom gains. Nor are its fragments,
 * which would overtake it. Those of other protocols must not overtake what GRO holds.
 *
 * Return: true for an IP packet that is not UDP, also in PPPoE.
 */
static inline bool irqmod_is_flow(const struct sk_buff *skb)
{
	switch (skb->protocol) {
	case htons(ETH_P_IP):
		return irqmod_is_ip_flow(skb, 0);
	case htons(ETH_P_IPV6):
		return irqmod_is_ip6_flow(skb, 0);
	case htons(ETH_P_PPP_SES):
		return irqmod_is_pppoe_flow(skb);
	default:
		return false;
	}
}

/**
 * irqmod_deliver_flow() - the same for a frame that GRO may merge
 * @queue: the queue
 * @skb: the frame, which shares no memory with other frames
 */
static inline void irqmod_deliver_flow(struct irqmod_queue *queue,
				       struct sk_buff *skb)
{
	if (queue->rx_merges && queue->netdev->features & NETIF_F_GRO)
		napi_gro_receive(&queue->napi, skb);
	else
		queue->deliver(queue, skb);
}

bool irqmod_heads_next(struct irqmod_heads *heads);

/**
 * irqmod_head_alloc() - allocates the head of a received frame
 * @heads: the chunks of a queue
 * @size: the memory, at most IRQMOD_HEAD_BYTES(IRQMOD_RX_MAX)
 *
 * Only for the context that takes frames: there is no lock.
 *
 * Return: NULL without memory.
 */
static inline void *irqmod_head_alloc(struct irqmod_heads *heads,
				      unsigned int size)
{
	if (unlikely(heads->left < size) && !irqmod_heads_next(heads))
		return NULL;
	heads->left -= size;
	heads->chunk[heads->turn].bias--;
	return heads->start + heads->left;
}

/* The largest buffer of irqmod_rx_alloc(): it must fit into a single page. */
#define IRQMOD_RX_MAX	2048

/* The memory of a head for @len bytes. */
#define IRQMOD_HEAD_BYTES(len)						\
	(SKB_DATA_ALIGN(NET_SKB_PAD + NET_IP_ALIGN + (len)) +		\
	 SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))

/**
 * irqmod_rx_alloc_slab() - irqmod_rx_alloc() with the parameter slab_heads
 * @queue: the queue
 * @len: the bytes of the frame, at most IRQMOD_RX_MAX
 *
 * Drivers did so before there were page fragments.
 *
 * Return: NULL without memory.
 */
static inline struct sk_buff *irqmod_rx_alloc_slab(struct irqmod_queue *queue,
						   unsigned int len)
{
	struct sk_buff *skb;

	skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + len, GFP_ATOMIC);
	if (unlikely(!skb))
		return NULL;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb->dev = queue->netdev;
	return skb;
}

/**
 * irqmod_rx_alloc() - allocates an sk_buff, in rx_take()
 * @queue: the queue
 * @len: the bytes of the frame, at most IRQMOD_RX_MAX
 *
 * The head comes from recycled pages (heads.c); in softirq the sk_buff comes from
 * the cache that napi_consume_skb() fills.
 *
 * Return: NULL without memory.
 */
static inline struct sk_buff *irqmod_rx_alloc(struct irqmod_queue *queue,
					      unsigned int len)
{
	unsigned int size = IRQMOD_HEAD_BYTES(len);
	struct sk_buff *skb;
	void *head;

	if (irqmod_instrument(queue->heads.slab, false))
		return irqmod_rx_alloc_slab(queue, len);
	head = irqmod_head_alloc(&queue->heads, size);
	if (unlikely(!head))
		return NULL;
	skb = queue->rx_in_softirq ? napi_build_skb(head, size)
				  : build_skb(head, size);
	if (unlikely(!skb)) {
		skb_free_frag(head);
		return NULL;
	}
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb->dev = queue->netdev;
	return skb;
}

/**
 * irqmod_tx_free() - frees a packet, in tx_reclaim()
 * @queue: the queue
 * @skb: the packet
 */
static inline void irqmod_tx_free(struct irqmod_queue *queue, struct sk_buff *skb)
{
	if (queue->tx_in_softirq)
		napi_consume_skb(skb, !irqs_disabled());
	else
		dev_consume_skb_irq(skb);
}

/**
 * irqmod_tx_completed() - what has been freed; once, at the end of tx_reclaim()
 * @queue: the queue
 * @packets: how many, also those with errors
 * @bytes: theirs, as given to irqmod_tx_sent()
 */
static inline void irqmod_tx_completed(struct irqmod_queue *queue,
				       unsigned int packets, unsigned int bytes)
{
	if (queue->tx_limited)
		netdev_tx_completed_queue(queue->txq, packets, bytes);
}

/**
 * irqmod_must_flush_ack() - whether a handler must flush its ack
 * @queue: the queue
 * @groups: the groups of causes that it acknowledges
 *
 * A posted write may reach the device after the last look at the ring, and takes
 * the cause of what comes in between. TX always needs the flush: nobody
 * acknowledges it again. RX that is taken in softirq does not: @rx_ack, which
 * flushes, precedes the last look, or a timer looks again. That holds only on this
 * processor, whose writes reach the device in order. So RX does if a poll may run on
 * another one: in a thread, or one that is under way (in a process, busy polling).
 *
 * Return: true if a read of the device must follow the ack.
 */
static inline bool irqmod_must_flush_ack(const struct irqmod_queue *queue,
					 u32 groups)
{
	return groups & IRQMOD_TX ||
	       (groups & IRQMOD_RX &&
		(!queue->rx_in_softirq ||
		 unlikely(READ_ONCE(queue->napi.state) &
			  (NAPIF_STATE_SCHED | NAPIF_STATE_THREADED))));
}

/* For struct ethtool_ops and struct net_device_ops; more are in device.h. */
int irqmod_get_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack);
int irqmod_set_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
			struct kernel_ethtool_coalesce *kec,
			struct netlink_ext_ack *extack);
int irqmod_get_per_queue_coalesce(struct net_device *netdev, u32 index,
				  struct ethtool_coalesce *ec);
int irqmod_set_per_queue_coalesce(struct net_device *netdev, u32 index,
				  struct ethtool_coalesce *ec);
#define IRQMOD_COALESCE_PARAMS	(ETHTOOL_COALESCE_RX_USECS | \
				 ETHTOOL_COALESCE_USE_ADAPTIVE_RX | \
				 ETHTOOL_COALESCE_TX_USECS | \
				 ETHTOOL_COALESCE_TX_MAX_FRAMES)
int irqmod_get_sset_count(struct net_device *netdev, int sset);
void irqmod_get_strings(struct net_device *netdev, u32 sset, u8 *data);
void irqmod_get_ethtool_stats(struct net_device *netdev,
			      struct ethtool_stats *stats, u64 *data);
void irqmod_get_stats64(struct net_device *netdev,
			struct rtnl_link_stats64 *stats);

#endif /* IRQMOD_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* irqmod_loop: its rings, its queues, and what its files share. */
#ifndef LOOP_H
#define LOOP_H

#include "../irqmod/irqmod.h"
#include "../compat.h"

#define LOOP_QUEUES	8
#define LOOP_RX_RING	64
#define LOOP_TX_RING	32
#define LOOP_WINDOW	48
#define LOOP_STEP	32	/* packets sent in a step of the hardware */
#define LOOP_STEP_US	1000
#define LOOP_STEP_NS	(LOOP_STEP_US * NSEC_PER_USEC)
#define LOOP_ALL	(IRQMOD_RX | IRQMOD_TX)

struct loop_frame {
	struct ethhdr eth;
	__be16 queue;
	u8 rest[ETH_ZLEN - ETH_HLEN - 2];
} __packed;

struct loop_queue {
	struct irqmod_queue queue;
	unsigned int cpu;
	struct task_struct *sender;
	u32 sent;			/* by the sender, running totals */
	atomic_t received;		/* also on other CPUs (backlog) */
	u32 cleared;
	bool off;			/* stopped alone; RTNL */

	/* The hardware. */
	struct hrtimer step;
	spinlock_t lock;		/* @masked and @causes */
	u32 masked;
	u32 causes;

	/* Rings: running totals. */
	struct sk_buff *tx[LOOP_TX_RING];
	bool tx_irq[LOOP_TX_RING];
	u32 tx_filled;
	u32 tx_sent;			/* written by the hardware */
	u32 tx_done;
	struct loop_frame rx[LOOP_RX_RING];
	u32 rx_filled;			/* written by the hardware */
	u32 rx_taken;
	u32 rx_returned;
};

struct loop {
	struct irqmod_port port;	/* first: see irqmod.h */
	struct packet_type packets;
	bool stopped;			/* no scheme may touch the rings */
	struct loop_queue queue[LOOP_QUEUES];
};

/* main.c: parameters */
extern unsigned int loop_queues;
extern bool loop_paused;

/* hardware.c */
extern const struct irqmod_ops loop_irqmod_ops;
struct loop_queue *loop_running(struct irqmod_queue *queue);
netdev_tx_t loop_xmit(struct sk_buff *skb, struct net_device *netdev);
void loop_hardware_init(struct loop_queue *q);
void loop_hardware_start(struct loop_queue *q);
u32 loop_hardware_stop(struct loop_queue *q);

/* senders.c */
int loop_start_senders(struct loop *loop);
void loop_stop_senders(struct loop *loop);

/* wake.c */
void loop_stop_waking(void);

#endif /* LOOP_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command list (6.4.2): a ring of slots for packets and for changes of the
 * address and the receive mode. The last filled slot has the S bit, where the
 * command unit suspends. A new slot takes over the bit, and the unit is resumed.
 */
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include "i8255x.h"

void i8255x_tx_free(struct i8255x *np, struct i8255x_rings *rings)
{
	if (rings->cbs)
		dma_free_coherent(&np->pdev->dev, rings->tx_count * CB_BYTES,
				  rings->cbs, rings->cbs_dma);
	kfree(rings->tx_skb);
	rings->cbs = NULL;
	rings->tx_skb = NULL;
}

int i8255x_tx_alloc(struct i8255x *np, struct i8255x_rings *rings)
{
	rings->tx_skb = kcalloc(rings->tx_count, sizeof(*rings->tx_skb),
				GFP_KERNEL);
	rings->cbs = dma_alloc_coherent(&np->pdev->dev,
					rings->tx_count * CB_BYTES,
					&rings->cbs_dma, GFP_KERNEL);
	if (!rings->tx_skb || !rings->cbs) {
		i8255x_tx_free(np, rings);
		return -ENOMEM;
	}
	return 0;
}

/* An empty list; the first doorbell starts the unit at slot 0. */
void i8255x_tx_reset(struct i8255x *np)
{
	unsigned int i;

	for (i = 0; i < np->rings.tx_count; i++) {
		struct i8255x_cb *cb = i8255x_slot(np, i);
		unsigned int next = i + 1 == np->rings.tx_count ? 0 : i + 1;

		memset(cb, 0, CB_BYTES);
		cb->link = cpu_to_le32(i8255x_slot_dma(np, next));
	}
	np->tx_head = 0;
	np->tx_tail = 0;
	np->tx_filled = 0;
	np->tx_done = 0;
	np->tx_unkicked = 0;
	np->cu_command = CU_START;
}

/* Allows or forbids commands other than packets. While they are forbidden the
 * list may be replaced and the chip reset: the receive mode can be changed at
 * any time, also without RTNL. Before they are forbidden the queue is stopped, so
 * that nothing starts the timer again. Process context.
 */
void i8255x_tx_enable(struct i8255x *np, bool enable)
{
	__netif_tx_lock_bh(np->queue.txq);
	np->tx_usable = enable;
	__netif_tx_unlock_bh(np->queue.txq);
	if (!enable)
		timer_delete_sync(&np->retry);
}

unsigned int i8255x_tx_outstanding(struct irqmod_queue *queue)
{
	struct i8255x *np = to_i8255x(queue);

	return READ_ONCE(np->tx_filled) - READ_ONCE(np->tx_done);
}

unsigned int i8255x_tx_bytes(struct irqmod_queue *queue)
{
	struct i8255x *np = to_i8255x(queue);
	unsigned int i, bytes = 0;

	for (i = 0; i < np->rings.tx_count; i++)
		if (np->rings.tx_skb[i])
			bytes += np->rings.tx_skb[i]->len;
	return bytes;
}

/* One slot stays empty, the one that the chip has executed last: when it resumes, it
 * reads the S bit of that slot again. A packet there would have the bit set, and the
 * chip would stay suspended for ever.
 */
unsigned int i8255x_tx_room(struct irqmod_queue *queue)
{
	return to_i8255x(queue)->rings.tx_count - 1 - i8255x_tx_outstanding(queue);
}

/* The next slot to fill; the caller has checked that one is free. */
static struct i8255x_cb *i8255x_tx_slot(struct i8255x *np)
{
	struct i8255x_cb *cb = i8255x_slot(np, np->tx_head);

	cb->status = 0;
	return cb;
}

/* Hands the slot to the NIC: sets its S bit, then clears the previous one. Called
 * with the queue locked, by its own lock: netif_tx_lock() only freezes queues, and
 * neither netpoll nor a device without a qdisc looks at that.
 */
static void i8255x_tx_commit(struct i8255x *np, struct i8255x_cb *cb,
			     u16 command)
{
	unsigned int i = np->tx_head;
	struct i8255x_cb *before = i8255x_slot(np, i ? i - 1 : np->rings.tx_count - 1);

	lockdep_assert_held(&np->queue.txq->_xmit_lock);
	cb->command = cpu_to_le16(command | CB_S);
	/* Complete the slot before the command unit can reach it. */
	dma_wmb();
	before->command &= cpu_to_le16(~CB_S);
	np->tx_head = i + 1 == np->rings.tx_count ? 0 : i + 1;
	np->tx_unkicked++;
	/* Pairs with the load in i8255x_tx_reclaim(). */
	smp_store_release(&np->tx_filled, np->tx_filled + 1);
}

/* Called with the transmit queue locked. If the NIC does not accept the doorbell,
 * a timer retries: byte queue limits may have stopped the queue, and then there is
 * no next doorbell.
 */
static void i8255x_tx_kick(struct i8255x *np)
{
	if (i8255x_command(np, np->cu_command, np->rings.cbs_dma)) {
		i8255x_retry_later(np);
		return;
	}
	np->cu_command = CU_RESUME;
	np->tx_unkicked = 0;
}

void i8255x_tx_retry(struct i8255x *np)
{
	__netif_tx_lock(np->queue.txq, smp_processor_id());
	if (np->tx_usable && np->tx_unkicked)
		i8255x_tx_kick(np);
	__netif_tx_unlock(np->queue.txq);
}

netdev_tx_t i8255x_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct i8255x *np = netdev_priv(netdev);
	struct i8255x_cb *cb;
	u16 command = CB_TRANSMIT | CB_FLEXIBLE;
	unsigned int room;
	dma_addr_t dma;

	irqmod_tx_begin(&np->queue);
	/* A reclaim saw room, and commands or packets have used it before the
	 * reclaim woke the queue.
	 */
	room = i8255x_tx_room(&np->queue);
	if (unlikely(!room)) {
		irqmod_tx_full(&np->queue, TX_RESERVE);
		if (np->tx_unkicked)
			i8255x_tx_kick(np);
		return NETDEV_TX_BUSY;
	}

	dma = dma_map_single(&np->pdev->dev, skb->data, skb->len,
			     DMA_TO_DEVICE);
	if (unlikely(dma_mapping_error(&np->pdev->dev, dma))) {
		dev_kfree_skb_any(skb);
		dev_core_stats_tx_dropped_inc(netdev);
		goto kick;
	}

	cb = i8255x_tx_slot(np);
	np->rings.tx_skb[np->tx_head] = skb;
	cb->tx.tbd_array = cpu_to_le32(i8255x_slot_dma(np, np->tx_head) +
				       offsetof(struct i8255x_cb, tx.buf_addr));
	cb->tx.byte_count = 0;
	cb->tx.threshold = TX_THRESHOLD;
	cb->tx.tbd_count = 1;
	cb->tx.buf_addr = cpu_to_le32(dma);
	cb->tx.buf_size = cpu_to_le16(skb->len);
	cb->tx.buf_el = 0;
	if (unlikely(skb_shinfo(skb)->tx_flags & SKBTX_ANY_TSTAMP))
		skb_tx_timestamp(skb);
	if (irqmod_tx_sent(&np->queue, skb->len))
		command |= CB_I;
	i8255x_tx_commit(np, cb, command);

	if (irqmod_tx_queued(&np->queue, room - 1, TX_RESERVE) ||
	    np->tx_unkicked >= TX_BATCH) {
		if (likely(!irqmod_instrument(np->lost_doorbells, 0)))
			i8255x_tx_kick(np);
		else
			np->lost_doorbells--;
	}
	return NETDEV_TX_OK;

kick:
	/* The failed packet may have been the last of a batch. */
	if (np->tx_unkicked && !netdev_xmit_more())
		i8255x_tx_kick(np);
	return NETDEV_TX_OK;
}

unsigned int i8255x_tx_reclaim(struct irqmod_queue *queue)
{
	struct i8255x *np = to_i8255x(queue);
	/* Acquire: pairs with i8255x_tx_commit(). */
	u32 left = smp_load_acquire(&np->tx_filled) - np->tx_done;
	u32 slots = 0, packets = 0, bytes = 0, padding = 0;
	unsigned int tail = np->tx_tail;

	for (; slots < left; slots++) {
		struct i8255x_cb *cb = i8255x_slot(np, tail);
		struct sk_buff *skb = np->rings.tx_skb[tail];

		if (!(READ_ONCE(cb->status) & cpu_to_le16(CB_C)))
			break;
		dma_rmb();
		if (likely(skb)) {
			dma_unmap_single(&np->pdev->dev,
					 le32_to_cpu(cb->tx.buf_addr), skb->len,
					 DMA_TO_DEVICE);
			packets++;
			bytes += skb->len;
			if (unlikely(skb->len < ETH_ZLEN))
				padding += ETH_ZLEN - skb->len; /* the chip's */
			np->rings.tx_skb[tail] = NULL;
			irqmod_tx_free(queue, skb);
		}
		tail = tail + 1 == np->rings.tx_count ? 0 : tail + 1;
	}
	if (!slots)
		return 0;
	np->tx_tail = tail;
	/* From here on the slots may be reused. */
	smp_store_release(&np->tx_done, np->tx_done + slots);
	irqmod_tx_completed(queue, packets, bytes);

	u64_stats_update_begin(&queue->tx_stats.syncp);
	u64_stats_add(&queue->tx_stats.packets, packets);
	u64_stats_add(&queue->tx_stats.bytes, bytes + padding);
	u64_stats_update_end(&queue->tx_stats.syncp);
	return packets;
}

/* Frees all packets on the list, sent or not. The chip is stopped. */
void i8255x_tx_drop(struct i8255x *np)
{
	unsigned int i;

	for (i = 0; np->rings.tx_skb && i < np->rings.tx_count; i++) {
		struct i8255x_cb *cb = i8255x_slot(np, i);

		if (!np->rings.tx_skb[i])
			continue;
		dma_unmap_single(&np->pdev->dev, le32_to_cpu(cb->tx.buf_addr),
				 np->rings.tx_skb[i]->len, DMA_TO_DEVICE);
		dev_kfree_skb(np->rings.tx_skb[i]);
		np->rings.tx_skb[i] = NULL;
	}
}

/* After commands. They do not interrupt: the next reclaim skips them. Once they leave
 * too little room for another change, the transmit timer reclaims: there may be no
 * packet to do so. Called with the transmit queue locked.
 */
static void i8255x_tx_make_room(struct i8255x *np)
{
	irqmod_tx_want_irq(&np->queue);
	if (i8255x_tx_room(&np->queue) < TX_RESERVE)
		irqmod_tx_want_timer(&np->queue);
}

/* Called with the transmit queue locked. */
static void i8255x_tx_setup(struct i8255x *np)
{
	struct net_device *netdev = np->netdev;
	struct netdev_hw_addr *ha;
	struct i8255x_cb *cb;
	unsigned int n = 0;

	cb = i8255x_tx_slot(np);
	memcpy(cb->address, netdev->dev_addr, ETH_ALEN);
	i8255x_tx_commit(np, cb, CB_IA_SETUP);

	cb = i8255x_tx_slot(np);
	i8255x_config(np, cb->config);
	i8255x_tx_commit(np, cb, CB_CONFIGURE);

	cb = i8255x_tx_slot(np);
	netdev_for_each_mc_addr(ha, netdev) {
		if (n == CB_MULTICAST_MAX)
			break;		/* all multicast: i8255x_config() */
		memcpy(&cb->multicast.list[n * ETH_ALEN], ha->addr, ETH_ALEN);
		n++;
	}
	cb->multicast.bytes = cpu_to_le16(n * ETH_ALEN);
	i8255x_tx_commit(np, cb, CB_MULTICAST);
}

/* Sets our address, the configuration and the multicast filter. ndo_set_rx_mode:
 * under the address lock, BH off; the others lock it as well.
 */
void i8255x_set_rx_mode(struct net_device *netdev)
{
	struct i8255x *np = netdev_priv(netdev);
	unsigned int needed = TX_RESERVE;

	__netif_tx_lock(np->queue.txq, smp_processor_id());
	/* A queue that a sender keeps full is stopped most of the time, with
	 * TX_MODE_SLOTS free. No packet needs them until there is room again.
	 */
	if (netif_tx_queue_stopped(np->queue.txq))
		needed = TX_MODE_SLOTS;
	if (np->tx_usable && i8255x_tx_room(&np->queue) >= needed) {
		WRITE_ONCE(np->rx_mode_pending, false);
		i8255x_tx_setup(np);
		i8255x_tx_kick(np);
	} else {
		WRITE_ONCE(np->rx_mode_pending, true);
		/* Otherwise i8255x_up() does it. */
		if (np->tx_usable)
			i8255x_retry_later(np);
	}
	i8255x_tx_make_room(np);
	__netif_tx_unlock(np->queue.txq);
}

/* Once it was reclaimed, the slot may be in use again. */
static bool i8255x_tx_is_done(const struct i8255x *np,
			      const struct i8255x_cb *cb, u32 before)
{
	return READ_ONCE(cb->status) & cpu_to_le16(CB_C) ||
	       (s32)(READ_ONCE(np->tx_done) - before) > 0;
}

/* Puts a dump of registers on the list, and says where. Leaves one slot for a
 * packet. Process context.
 */
static int i8255x_tx_add_dump(struct i8255x *np, struct i8255x_cb **cb,
			      u32 *before)
{
	int err = -EBUSY;

	__netif_tx_lock_bh(np->queue.txq);
	if (np->tx_usable && i8255x_tx_room(&np->queue) >= 2) {
		*cb = i8255x_tx_slot(np);
		(*cb)->dump = cpu_to_le32(i8255x_shared_dma(np, dump));
		*before = np->tx_filled;
		i8255x_tx_commit(np, *cb, CB_DUMP);
		i8255x_tx_kick(np);
		err = 0;
	}
	i8255x_tx_make_room(np);
	__netif_tx_unlock_bh(np->queue.txq);
	return err;
}

/* Has the chip dump its registers to the shared area. RTNL, the interface is up.
 * Waits for room first. Frames on the list come first, too: at 10 Mbit/s these take
 * up to a second.
 */
int i8255x_tx_dump(struct i8255x *np)
{
	struct i8255x_cb *cb;
	bool done;
	u32 before;
	int err;

	if (read_poll_timeout(i8255x_tx_add_dump, err, !err, 100,
			      USEC_PER_SEC, false, np, &cb, &before))
		return -EBUSY;
	err = read_poll_timeout(i8255x_tx_is_done, done, done, 100,
				USEC_PER_SEC, false, np, cb, before);
	/* Read the mark before the dump. */
	dma_rmb();
	return err;
}

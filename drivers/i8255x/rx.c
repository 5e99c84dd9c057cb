// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receive frame area (6.4.3): a ring of descriptors, each followed by its
 * buffer. The descriptor with the EL bit is the last that the receiver may use.
 * Once it is filled, the receiver stops ("no resources") and must be restarted.
 * Frames are copied out, so descriptors never move and only the EL bit does: no
 * link is changed while the receiver uses it.
 */
#include <linux/io.h>
#include <linux/slab.h>

#include "i8255x.h"

void i8255x_rx_free(struct i8255x *np, struct i8255x_rings *rings)
{
	unsigned int i;

	for (i = 0; rings->rfd && rings->rfd_dma && i < rings->rx_count; i++)
		if (rings->rfd[i])
			dma_pool_free(np->rfd_pool, rings->rfd[i],
				      rings->rfd_dma[i]);
	kfree(rings->rfd);
	kfree(rings->rfd_dma);
	rings->rfd = NULL;
	rings->rfd_dma = NULL;
}

int i8255x_rx_alloc(struct i8255x *np, struct i8255x_rings *rings)
{
	unsigned int i;

	rings->rfd = kcalloc(rings->rx_count, sizeof(*rings->rfd), GFP_KERNEL);
	rings->rfd_dma = kcalloc(rings->rx_count, sizeof(*rings->rfd_dma),
				 GFP_KERNEL);
	if (!rings->rfd || !rings->rfd_dma)
		goto nomem;
	for (i = 0; i < rings->rx_count; i++) {
		rings->rfd[i] = dma_pool_alloc(np->rfd_pool, GFP_KERNEL,
					       &rings->rfd_dma[i]);
		if (!rings->rfd[i])
			goto nomem;
	}
	return 0;

nomem:
	i8255x_rx_free(np, rings);
	return -ENOMEM;
}

/* Gives all descriptors to the receiver, the last one with the EL bit. */
void i8255x_rx_reset(struct i8255x *np)
{
	unsigned int i;

	for (i = 0; i < np->rings.rx_count; i++) {
		struct i8255x_rfd *rfd = np->rings.rfd[i];
		unsigned int next = i + 1 == np->rings.rx_count ? 0 : i + 1;

		memset(rfd, 0, sizeof(*rfd));
		rfd->link = cpu_to_le32(np->rings.rfd_dma[next]);
		rfd->reserved = cpu_to_le32(0xffffffff);
		rfd->size = cpu_to_le16(RX_DATA_BYTES);
	}
	np->rx_last = np->rings.rx_count - 1;
	np->rings.rfd[np->rx_last]->command = cpu_to_le16(RFD_EL);
	np->rx_cur = 0;
	np->rx_ret = 0;
	np->rx_taken = 0;
	np->rx_returned = 0;
	np->ru_stopped = false;
	np->ru_check = false;
}

/* Starts the receiver after i8255x_rx_reset(). Process context. */
int i8255x_rx_start(struct i8255x *np)
{
	return i8255x_command_wait(np, RU_START, np->rings.rfd_dma[0]);
}

bool i8255x_rx_pending(struct irqmod_queue *queue)
{
	struct i8255x *np = to_i8255x(queue);

	return READ_ONCE(np->rings.rfd[np->rx_cur]->status) & cpu_to_le16(RFD_C);
}

/* Starts the stopped receiver at the next descriptor to take. With ru_lock. */
static void i8255x_ru_start(struct i8255x *np)
{
	/* Release: a pass that sees this sees the descriptors that have been
	 * returned.
	 */
	smp_store_release(&np->ru_stopped, false);
	if (!i8255x_command(np, RU_START, np->rings.rfd_dma[np->rx_cur]))
		return;
	WRITE_ONCE(np->ru_stopped, true);
	i8255x_retry_later(np);
}

static u32 i8255x_rx_missing(const struct i8255x *np)
{
	/* Acquire: pairs with i8255x_rx_take(), which has read these frames. */
	return smp_load_acquire(&np->rx_taken) - np->rx_returned;
}

/* The receiver has stopped after the old end. */
static void i8255x_ru_restart(struct i8255x *np)
{
	unsigned long flags;

	spin_lock_irqsave(&np->ru_lock, flags);
	/* Acquire: pairs with i8255x_rx_take(), which has set rx_cur. */
	if (smp_load_acquire(&np->ru_stopped) &&
	    i8255x_rx_missing(np) < np->rings.rx_count)
		i8255x_ru_start(np);
	spin_unlock_irqrestore(&np->ru_lock, flags);
}

/* Returns the first @missing of the descriptors that have been taken. */
static void i8255x_rx_return(struct i8255x *np, u32 missing)
{
	unsigned int before = np->rx_last, last = before;
	u32 i;

	for (i = 0; i < missing; i++) {
		last = np->rx_ret;
		np->rings.rfd[last]->status = 0;
		np->rings.rfd[last]->command = 0;
		np->rx_ret = last + 1 == np->rings.rx_count ? 0 : last + 1;
	}
	if (missing) {
		np->rings.rfd[last]->command = cpu_to_le16(RFD_EL);
		/* Release: who sees the new end sees no old frame before it. Pairs
		 * with i8255x_rx_take().
		 */
		smp_store_release(&np->rx_last, last);
		/* Set the new end before clearing the old one. And who sees a
		 * frame that was received because the old end was cleared must
		 * know the new one: pairs with dma_rmb() in i8255x_rx_take().
		 */
		dma_wmb();
		if (last != before)
			np->rings.rfd[before]->command = 0;
		np->rx_returned += missing;
	}
	if (unlikely(READ_ONCE(np->ru_stopped)))
		i8255x_ru_restart(np);
}

void i8255x_rx_refill(struct irqmod_queue *queue)
{
	struct i8255x *np = to_i8255x(queue);
	u32 spare = np->rings.rx_count -
		    min(READ_ONCE(queue->rx_limit), np->rings.rx_count);
	u32 missing = i8255x_rx_missing(np);

	i8255x_rx_return(np, missing > spare ? missing - spare : 0);
}

/* The receiver may have seen the EL bit just before it was moved, and have
 * stopped unexpectedly. Called only after an RNR interrupt or a pass without
 * frames, because a register read is expensive on real hardware. If the pass that
 * moved the EL bit left frames on the ring, a later pass looks: the RNR interrupt
 * has been acknowledged, and there will be no other.
 */
static void i8255x_rx_check(struct i8255x *np)
{
	unsigned long flags;

	if (READ_ONCE(np->ru_stopped) || i8255x_rx_pending(&np->queue))
		return;
	WRITE_ONCE(np->ru_check, false);
	if ((readb(np->regs + SCB_STATUS) & RUS_MASK) == RUS_READY)
		return;
	spin_lock_irqsave(&np->ru_lock, flags);
	/* A start that has not been accepted yet must not be repeated. */
	if (i8255x_wait_accepted(np)) {
		WRITE_ONCE(np->ru_check, true);
		i8255x_retry_later(np);
	} else if (!READ_ONCE(np->ru_stopped) &&
		   (readb(np->regs + SCB_STATUS) & RUS_MASK) != RUS_READY) {
		/* It may have filled the ring meanwhile, and stopped as it
		 * should: the pass that takes the last frame restarts it. The
		 * read has pushed its frames to memory.
		 */
		if (i8255x_rx_pending(&np->queue))
			WRITE_ONCE(np->ru_check, true);
		else
			i8255x_ru_start(np);
	}
	spin_unlock_irqrestore(&np->ru_lock, flags);
}

/* RXALL: frames with errors are passed on, too. */
static bool i8255x_rx_keeps(const struct i8255x *np, unsigned int len)
{
	return np->netdev->features & NETIF_F_RXALL && len >= ETH_HLEN &&
	       len <= RX_DATA_BYTES;
}

int i8255x_rx_take(struct irqmod_queue *queue, int budget)
{
	struct i8255x *np = to_i8255x(queue);
	u32 packets = 0, bytes = 0, errors = 0, no_buffer = 0;
	unsigned int cur = np->rx_cur;
	bool stopped = false;
	int taken = 0;

	/* All descriptors have been taken: they still show their old frames.
	 * Acquire: pairs with i8255x_ru_start().
	 */
	if (unlikely(smp_load_acquire(&np->ru_stopped)))
		budget = 0;
	while (taken < budget && !stopped) {
		struct i8255x_rfd *rfd = np->rings.rfd[cur];
		u16 status = le16_to_cpu(READ_ONCE(rfd->status));
		struct sk_buff *skb;
		unsigned int len;

		if (!(status & RFD_C))
			break;
		/* Read the status before the frame, and before the end of the
		 * list: pairs with dma_wmb() in i8255x_rx_return().
		 */
		dma_rmb();
		taken++;
		/* Acquire: pairs with i8255x_rx_return(). */
		stopped = cur == smp_load_acquire(&np->rx_last);
		cur = cur + 1 == np->rings.rx_count ? 0 : cur + 1;

		len = le16_to_cpu(rfd->count) & RFD_COUNT_MASK;
		/* A full buffer: the frame may be longer. */
		if (unlikely(!(status & RFD_OK) || len < ETH_HLEN ||
			     len >= RX_DATA_BYTES) &&
		    !i8255x_rx_keeps(np, len)) {
			errors++;
			continue;
		}
		skb = irqmod_rx_alloc(queue, len);
		if (unlikely(!skb)) {
			no_buffer++;
			continue;
		}
		skb_put_data(skb, rfd->data, len);
		packets++;
		bytes += len;
		skb->protocol = eth_type_trans(skb, np->netdev);
		irqmod_deliver(queue, skb);
	}
	np->rx_cur = cur;
	/* Release: the descriptors may be returned. */
	smp_store_release(&np->rx_taken, np->rx_taken + taken);
	if (unlikely(stopped)) {
		/* Release: the receiver may be started at rx_cur. */
		smp_store_release(&np->ru_stopped, true);
	}
	if (!queue->rx_deferred)
		i8255x_rx_return(np, i8255x_rx_missing(np));
	if (unlikely(!taken || READ_ONCE(np->ru_check)))
		i8255x_rx_check(np);

	if (unlikely(np->netdev->features & NETIF_F_RXFCS))
		bytes -= packets * ETH_FCS_LEN;
	u64_stats_update_begin(&queue->rx_stats.syncp);
	u64_stats_add(&queue->rx_stats.packets, packets);
	u64_stats_add(&queue->rx_stats.bytes, bytes);
	if (unlikely(errors || no_buffer)) {
		u64_stats_add(&queue->rx_stats.errors, errors);
		u64_stats_add(&queue->rx_stats.no_buffer, no_buffer);
	}
	u64_stats_update_end(&queue->rx_stats.syncp);
	return taken;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTL8139C+: the transmit ring (C+ mode descriptors; see rx.c for OWN and EOR).
 *
 * One context queues (ndo_start_xmit, under the queue's lock) and one reclaims.
 * Each reads the other's count.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/slab.h>

#include "rtl8139cp.h"

unsigned int cp_tx_outstanding(struct irqmod_queue *queue)
{
	const struct cp_tx_ring *ring = &cp_of_queue(queue)->tx;

	return READ_ONCE(ring->packets_queued) - READ_ONCE(ring->packets_done);
}

static unsigned int cp_tx_ring_room(const struct cp_tx_ring *ring)
{
	/* Acquire: pairs with the release in cp_tx_reclaim(). */
	u32 done = smp_load_acquire(&ring->done);

	return ring->count - READ_ONCE(ring->queued) + done;
}

unsigned int cp_tx_bytes(struct irqmod_queue *queue)
{
	const struct cp_tx_ring *ring = &cp_of_queue(queue)->tx;
	unsigned int i = ring->dirty, bytes = 0;
	u32 done;

	for (done = ring->done; done != ring->queued; done++) {
		if (ring->slot[i].skb)
			bytes += ring->slot[i].skb->len;
		if (++i == ring->count)
			i = 0;
	}
	return bytes;
}

unsigned int cp_tx_room(struct irqmod_queue *queue)
{
	return cp_tx_ring_room(&cp_of_queue(queue)->tx);
}

static void cp_tx_unmap(struct cp *cp, struct cp_tx_slot *slot)
{
	if (unlikely(slot->page))
		dma_unmap_page(cp->dev, dma_unmap_addr(slot, dma),
			       dma_unmap_len(slot, len), DMA_TO_DEVICE);
	else
		dma_unmap_single(cp->dev, dma_unmap_addr(slot, dma),
				 dma_unmap_len(slot, len), DMA_TO_DEVICE);
}

static void cp_tx_error(struct cp *cp, u32 status)
{
	if (status & CP_TX_UNF)
		cp->tx_errors.fifo++;
	if (status & CP_TX_OWC)
		cp->tx_errors.window++;
	if (status & CP_TX_LNKF)
		cp->tx_errors.carrier++;
	if (status & CP_TX_EXC)
		cp->tx_errors.aborted++;
}

static void cp_tx_poll(struct cp *cp)
{
	writeb(CP_TPPOLL_NPQ, cp->regs + CP_TPPOLL);
}

static void cp_tx_kick(struct cp *cp)
{
	if (unlikely(irqmod_instrument(cp->lost_doorbells, 0)))
		cp->lost_doorbells--;
	else
		cp_tx_poll(cp);
}

/* Chips of the family lose a TxPoll that comes while they transmit (r8169), and the
 * packet then waits for the next one. What they transmitted is reclaimed later, by
 * an interrupt or the engine's timer: if a packet is left then, poll again. Not if
 * ndo_start_xmit reclaims: it is about to poll anyway, once per batch.
 */
unsigned int cp_tx_reclaim(struct irqmod_queue *queue)
{
	struct cp *cp = cp_of_queue(queue);
	struct cp_tx_ring *ring = &cp->tx;
	unsigned int packets = 0, errors = 0, bytes = 0, lost = 0;
	unsigned int i = ring->dirty;
	/* Acquire: pairs with cp_start_xmit(). */
	u32 queued = smp_load_acquire(&ring->queued);
	u32 done = ring->done;

	for (; done != queued; done++) {
		u32 status = le32_to_cpu(READ_ONCE(ring->desc[i].opts1));
		struct cp_tx_slot *slot = &ring->slot[i];
		struct sk_buff *skb = slot->skb;

		if (status & CP_OWN)
			break;
		cp_tx_unmap(cp, slot);
		if (++i == ring->count)
			i = 0;
		if (!skb)		/* not the last segment */
			continue;

		packets++;
		bytes += skb->len;
		if (unlikely(status & (CP_TX_TES | CP_TX_UNF))) {
			cp_tx_error(cp, status);
			errors++;
			lost += skb->len;
		}
		irqmod_tx_free(queue, skb);
	}
	if (done != queued && !READ_ONCE(ring->sending) &&
	    likely(!irqmod_instrument(READ_ONCE(cp->lost_doorbells), 0)))
		cp_tx_poll(cp);
	if (done == ring->done)
		return 0;

	ring->dirty = i;
	WRITE_ONCE(ring->packets_done, ring->packets_done + packets);
	/* Release: the slots may be reused. */
	smp_store_release(&ring->done, done);
	irqmod_tx_completed(queue, packets, bytes);

	u64_stats_update_begin(&queue->tx_stats.syncp);
	u64_stats_add(&queue->tx_stats.packets, packets - errors);
	u64_stats_add(&queue->tx_stats.bytes, bytes - lost);
	if (unlikely(errors))
		u64_stats_add(&queue->tx_stats.errors, errors);
	u64_stats_update_end(&queue->tx_stats.syncp);
	return packets;
}

static unsigned int cp_tx_next(const struct cp_tx_ring *ring, unsigned int i)
{
	return i + 1 == ring->count ? 0 : i + 1;
}

static u32 cp_tx_eor(const struct cp_tx_ring *ring, unsigned int i)
{
	return i + 1 == ring->count ? CP_EOR : 0;
}

/* Requests checksum or segments from the chip, or computes the checksum. False:
 * failed.
 */
static bool cp_tx_checksum(struct sk_buff *skb, u32 *opts1)
{
	unsigned int mss = skb_shinfo(skb)->gso_size;

	if (mss) {
		*opts1 |= CP_TX_LGSEN | mss << CP_TX_MSS_SHIFT;
		return mss <= CP_TX_MSS_MAX;
	}
	if (skb->protocol == htons(ETH_P_IP)) {
		switch (ip_hdr(skb)->protocol) {
		case IPPROTO_TCP:
			*opts1 |= CP_TX_IPCS | CP_TX_TCPCS;
			return true;
		case IPPROTO_UDP:
			*opts1 |= CP_TX_IPCS | CP_TX_UDPCS;
			return true;
		}
	}
	/* For example after a VLAN tag in the packet data. */
	return !skb_checksum_help(skb);
}

/* Writes the fragments after descriptor @i. The chip does not own @i yet, so it
 * does not process them. Returns the index of the last one, or -ENOMEM.
 */
static int cp_tx_frags(struct cp *cp, const struct sk_buff *skb, unsigned int i,
		       u32 opts1, u32 opts2)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	struct cp_tx_ring *ring = &cp->tx;
	unsigned int f, first = i;

	for (f = 0; f < info->nr_frags; f++) {
		const skb_frag_t *frag = &info->frags[f];
		unsigned int len = skb_frag_size(frag);
		dma_addr_t dma;

		i = cp_tx_next(ring, i);
		dma = skb_frag_dma_map(cp->dev, frag, 0, len, DMA_TO_DEVICE);
		if (unlikely(dma_mapping_error(cp->dev, dma)))
			goto failed;
		ring->slot[i].skb = NULL;
		ring->slot[i].page = true;
		dma_unmap_addr_set(&ring->slot[i], dma, dma);
		dma_unmap_len_set(&ring->slot[i], len, len);
		ring->desc[i].opts2 = cpu_to_le32(opts2);
		ring->desc[i].addr = cpu_to_le64(dma);
		if (f == info->nr_frags - 1)
			opts1 |= CP_LS;
		ring->desc[i].opts1 = cpu_to_le32(opts1 | cp_tx_eor(ring, i) | len);
	}
	return i;

failed:
	for (i = first; f; f--) {
		i = cp_tx_next(ring, i);
		ring->desc[i].opts1 = 0;
		cp_tx_unmap(cp, &ring->slot[i]);
	}
	return -ENOMEM;
}

netdev_tx_t cp_start_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct cp *cp = cp_of(netdev);
	struct cp_tx_ring *ring = &cp->tx;
	unsigned int len, room, segs, first = ring->next;
	u32 opts1 = CP_OWN, opts2 = 0;
	struct cp_tx_slot *slot;
	struct cp_desc *desc;
	int last = first;
	dma_addr_t dma;

	WRITE_ONCE(ring->sending, true);
	irqmod_tx_begin(&cp->queue);
	WRITE_ONCE(ring->sending, false);

	/* The chip pads short frames, too, but some chips of the family get
	 * their checksums wrong then (FreeBSD's if_re.c). Padding linearizes a
	 * packet, so do it before counting the segments.
	 */
	if (unlikely(eth_skb_pad(skb)))
		goto freed;
	segs = skb_shinfo(skb)->nr_frags + 1;
	if (unlikely(segs > cp->tx_segs)) {
		if (skb_linearize(skb))
			goto drop;
		segs = 1;
	}
	room = cp_tx_ring_room(ring);
	/* A reclaim saw room, and packets have used it before it woke the queue. */
	if (unlikely(room < segs)) {
		irqmod_tx_full(&cp->queue, cp->tx_segs);
		cp_tx_kick(cp);
		return NETDEV_TX_BUSY;
	}

	if (skb->ip_summed == CHECKSUM_PARTIAL && !cp_tx_checksum(skb, &opts1))
		goto drop;
	if (skb_vlan_tag_present(skb))
		opts2 = CP_TX_TAGC | swab16(skb_vlan_tag_get(skb));

	len = skb_headlen(skb);
	dma = dma_map_single(cp->dev, skb->data, len, DMA_TO_DEVICE);
	if (unlikely(dma_mapping_error(cp->dev, dma)))
		goto drop;
	slot = &ring->slot[first];
	slot->page = false;
	dma_unmap_addr_set(slot, dma, dma);
	dma_unmap_len_set(slot, len, len);

	if (unlikely(segs > 1)) {
		slot->skb = NULL;
		last = cp_tx_frags(cp, skb, first, opts1, opts2);
		if (unlikely(last < 0)) {
			cp_tx_unmap(cp, slot);
			goto drop;
		}
	} else {
		opts1 |= CP_LS;
	}
	ring->slot[last].skb = skb;
	/* The engine may free the packet as soon as the chip owns it. */
	if (unlikely(skb_shinfo(skb)->tx_flags & SKBTX_ANY_TSTAMP))
		skb_tx_timestamp(skb);

	irqmod_tx_sent(&cp->queue, skb->len);

	desc = &ring->desc[first];
	desc->opts2 = cpu_to_le32(opts2);
	desc->addr = cpu_to_le64(dma);
	/* Complete the packet before handing it to the chip. */
	dma_wmb();
	WRITE_ONCE(desc->opts1, cpu_to_le32(opts1 | CP_FS | len |
					    cp_tx_eor(ring, first)));

	ring->next = cp_tx_next(ring, last);
	WRITE_ONCE(ring->packets_queued, ring->packets_queued + 1);
	/* Release: the slots may be reclaimed. */
	smp_store_release(&ring->queued, ring->queued + segs);

	if (irqmod_tx_queued(&cp->queue, room - segs, cp->tx_segs))
		cp_tx_kick(cp);
	return NETDEV_TX_OK;

drop:
	dev_kfree_skb_any(skb);
freed:
	dev_core_stats_tx_dropped_inc(netdev);
	/* This may have been the last packet of a batch. */
	if (!netdev_xmit_more())
		cp_tx_kick(cp);
	return NETDEV_TX_OK;
}

int cp_tx_alloc(struct cp *cp, struct cp_tx_ring *ring, unsigned int count)
{
	*ring = (struct cp_tx_ring){ .count = count };
	ring->slot = kcalloc(count, sizeof(*ring->slot), GFP_KERNEL);
	ring->desc = cp_desc_alloc(cp, count, &ring->dma);
	if (ring->slot && ring->desc)
		return 0;
	cp_tx_free(cp, ring);
	return -ENOMEM;
}

/* Called with the chip stopped: drops packets not sent or not yet reclaimed. */
static void cp_tx_clean(struct cp *cp, struct cp_tx_ring *ring)
{
	for (; ring->done != ring->queued; ring->done++) {
		struct cp_tx_slot *slot = &ring->slot[ring->dirty];

		cp_tx_unmap(cp, slot);
		dev_kfree_skb_any(slot->skb);
		ring->dirty = cp_tx_next(ring, ring->dirty);
	}
	ring->packets_done = ring->packets_queued;
}

void cp_tx_free(struct cp *cp, struct cp_tx_ring *ring)
{
	if (ring->slot && ring->desc)
		cp_tx_clean(cp, ring);
	kfree(ring->slot);
	cp_desc_free(cp, ring->count, ring->desc, ring->dma);
	ring->slot = NULL;
	ring->desc = NULL;
}

/* Called with the chip stopped, before it starts at descriptor 0. */
void cp_tx_reset(struct cp *cp)
{
	struct cp_tx_ring *ring = &cp->tx;

	cp_tx_clean(cp, ring);
	memset(ring->desc, 0, ring->count * sizeof(*ring->desc));
	ring->next = 0;
	ring->dirty = 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTL8139C+: the receive and the transmit ring (C+ mode descriptors).
 *
 * The chip owns a descriptor while its OWN bit is set. It goes round by itself
 * and stops at the first descriptor that it does not own; the last one has EOR.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/slab.h>

#include "rtl8139cp.h"

static void *cp_desc_alloc(struct cp *cp, unsigned int count, dma_addr_t *dma)
{
	/* Page-aligned, so aligned to the 256 bytes the chip wants. */
	return dma_alloc_coherent(cp->dev, count * sizeof(struct cp_desc), dma,
				  GFP_KERNEL);
}

static void cp_desc_free(struct cp *cp, unsigned int count,
			 struct cp_desc *desc, dma_addr_t dma)
{
	if (desc)
		dma_free_coherent(cp->dev, count * sizeof(*desc), desc, dma);
}

/*
 * Receive buffers. Everything that knows what a buffer is made of is here.
 */

/* Maps @skb as the slot's buffer; false, and @skb is freed, if that fails. */
static bool cp_rx_buffer_set(struct cp *cp, struct cp_rx_slot *slot,
			     struct sk_buff *skb)
{
	dma_addr_t dma = dma_map_single(cp->dev, skb->data, CP_RX_BUF_SIZE,
					DMA_FROM_DEVICE);

	if (unlikely(dma_mapping_error(cp->dev, dma))) {
		dev_kfree_skb_any(skb);
		return false;
	}
	slot->skb = skb;
	slot->data = skb->data;
	slot->dma = dma;
	slot->sync = dma_need_sync(cp->dev, dma);
	return true;
}

static bool cp_rx_buffer_fill(struct cp *cp, struct cp_rx_slot *slot, gfp_t gfp)
{
	struct sk_buff *skb;

	skb = __netdev_alloc_skb_ip_align(cp->port.netdev, CP_RX_BUF_SIZE, gfp);
	return skb && cp_rx_buffer_set(cp, slot, skb);
}

static void cp_rx_buffer_unmap(struct cp *cp, dma_addr_t dma)
{
	dma_unmap_single(cp->dev, dma, CP_RX_BUF_SIZE, DMA_FROM_DEVICE);
}

static void cp_rx_buffer_free(struct cp *cp, struct cp_rx_slot *slot)
{
	if (!slot->skb)
		return;
	cp_rx_buffer_unmap(cp, slot->dma);
	dev_kfree_skb_any(slot->skb);
	slot->skb = NULL;
}

/* The frame of @len bytes in the slot's buffer as an skb. Short frames are
 * copied, and the buffer stays; it was only read, so it need not be synced
 * back (Documentation/core-api/dma-api-howto.rst). Long frames go up in their
 * buffer, which is replaced, or with @later left to cp_rx_refill(). NULL: no
 * memory, and the buffer stays too.
 */
static struct sk_buff *cp_rx_buffer_take(struct cp *cp, struct cp_rx_slot *slot,
					 struct cp_desc *desc, unsigned int len,
					 bool later)
{
	struct sk_buff *fresh, *skb = slot->skb;
	dma_addr_t dma = slot->dma;

	if (len <= READ_ONCE(cp->rx_copybreak)) {
		skb = irqmod_rx_alloc(&cp->port, len);
		if (unlikely(!skb))
			return NULL;
		if (unlikely(slot->sync))
			dma_sync_single_for_cpu(cp->dev, dma, len,
						DMA_FROM_DEVICE);
		__skb_put_data(skb, slot->data, len);
		return skb;
	}

	if (later) {
		slot->skb = NULL;
	} else {
		fresh = irqmod_rx_alloc(&cp->port, CP_RX_BUF_SIZE);
		if (unlikely(!fresh || !cp_rx_buffer_set(cp, slot, fresh)))
			return NULL;
		desc->addr = cpu_to_le64(slot->dma);
	}
	cp_rx_buffer_unmap(cp, dma);
	__skb_put(skb, len);
	return skb;
}

/*
 * The receive ring.
 */

static void cp_rx_give(struct cp_desc *desc, const struct cp_rx_slot *slot)
{
	desc->opts2 = 0;
	/* The chip may have the descriptor when it is complete. */
	dma_wmb();
	WRITE_ONCE(desc->opts1, slot->give);
}

/* In the order of the ring, as far as there is memory. In the deferred mode
 * rx_take may interrupt this: it moves taken, this moves given.
 */
void cp_rx_refill(struct irqmod_port *port)
{
	struct cp *cp = cp_of_port(port);
	struct cp_rx_ring *ring = &cp->rx;

	/* Acquire: a slot is what rx_take left when it counted it. */
	while (ring->given != smp_load_acquire(&ring->taken)) {
		struct cp_rx_slot *slot = &ring->slot[ring->dirty];
		struct cp_desc *desc = &ring->desc[ring->dirty];

		if (!slot->skb && !cp_rx_buffer_fill(cp, slot, GFP_ATOMIC))
			return;
		desc->addr = cpu_to_le64(slot->dma);
		cp_rx_give(desc, slot);
		if (++ring->dirty == ring->count)
			ring->dirty = 0;
		/* Release: rx_take may have the slot when it is complete. */
		smp_store_release(&ring->given, ring->given + 1);
	}
}

bool cp_rx_pending(struct irqmod_port *port)
{
	const struct cp_rx_ring *ring = &cp_of_port(port)->rx;

	return !(READ_ONCE(ring->desc[ring->next].opts1) & cpu_to_le32(CP_OWN)) &&
	       ring->taken - READ_ONCE(ring->given) < ring->count;
}

static void cp_rx_error(struct cp *cp, u32 status)
{
	if (status & CP_RX_CRC)
		cp->rx_errors.crc++;
	else if (status & CP_RX_FAE)
		cp->rx_errors.frame++;
	else if (status & CP_RX_FOVF)
		cp->rx_errors.fifo++;
	else
		cp->rx_errors.length++;
}

static void cp_rx_offloads(struct net_device *netdev, struct sk_buff *skb,
			   u32 status, u32 opts2)
{
	if ((status & CP_RX_PID) && !(status & CP_RX_CSUM_BAD) &&
	    (status & CP_RX_PID) != CP_RX_PID &&
	    (netdev->features & NETIF_F_RXCSUM))
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (opts2 & CP_RX_TAVA)
		__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q),
				       swab16(opts2 & CP_RX_TAG));
}

int cp_rx_take(struct irqmod_port *port, int budget)
{
	struct cp *cp = cp_of_port(port);
	struct net_device *netdev = port->netdev;
	struct cp_rx_ring *ring = &cp->rx;
	unsigned int errors = 0, no_buffer = 0, bytes = 0;
	unsigned int next = ring->next;
	bool later = port->rx_deferred;
	int taken;
	u32 given;

	/* Behind a ring that waits for buffers, old frames would look new. */
	if (unlikely(later || ring->given != ring->taken)) {
		if (!later) {
			cp_rx_refill(port);
			later = ring->given != ring->taken;
		}
		/* Acquire: pairs with cp_rx_refill(). */
		given = smp_load_acquire(&ring->given);
		budget = min_t(int, budget, ring->count - ring->taken + given);
	}

	for (taken = 0; taken < budget; taken++) {
		struct cp_rx_slot *slot = &ring->slot[next];
		struct cp_desc *desc = &ring->desc[next];
		u32 status = le32_to_cpu(READ_ONCE(desc->opts1));
		struct sk_buff *skb = NULL;
		unsigned int len;
		u32 opts2;

		if (status & CP_OWN)
			break;
		/* OWN first, then what it protects. */
		dma_rmb();
		opts2 = le32_to_cpu(desc->opts2);
		len = (status & CP_RX_LEN) - ETH_FCS_LEN;
		if (++next == ring->count)
			next = 0;

		if (unlikely((status & CP_RX_JUDGE) != CP_RX_WHOLE ||
			     len - ETH_HLEN > CP_RX_BUF_SIZE - ETH_HLEN)) {
			cp_rx_error(cp, status);
			errors++;
		} else {
			skb = cp_rx_buffer_take(cp, slot, desc, len, later);
			if (unlikely(!skb))
				no_buffer++;
		}
		if (!later)
			cp_rx_give(desc, slot);
		if (unlikely(!skb))
			continue;

		bytes += len;
		if (unlikely((status & CP_RX_PID) | (opts2 & CP_RX_TAVA)))
			cp_rx_offloads(netdev, skb, status, opts2);
		skb->protocol = eth_type_trans(skb, netdev);
		irqmod_deliver(port, skb);
	}

	ring->next = next;
	if (unlikely(later))
		/* Release: pairs with cp_rx_refill(). */
		smp_store_release(&ring->taken, ring->taken + taken);
	else
		ring->dirty = next;

	if (taken) {
		struct irqmod_rx_stats *stats = &port->rx_stats;

		u64_stats_update_begin(&stats->syncp);
		u64_stats_add(&stats->packets, taken - errors - no_buffer);
		u64_stats_add(&stats->bytes, bytes);
		if (unlikely(errors | no_buffer)) {
			u64_stats_add(&stats->errors, errors);
			u64_stats_add(&stats->no_buffer, no_buffer);
		}
		u64_stats_update_end(&stats->syncp);
	}
	return taken;
}

int cp_rx_alloc(struct cp *cp, struct cp_rx_ring *ring, unsigned int count)
{
	unsigned int i;

	*ring = (struct cp_rx_ring){ .count = count };
	ring->slot = kcalloc(count, sizeof(*ring->slot), GFP_KERNEL);
	ring->desc = cp_desc_alloc(cp, count, &ring->dma);
	if (!ring->slot || !ring->desc)
		goto failed;

	for (i = 0; i < count; i++) {
		struct cp_rx_slot *slot = &ring->slot[i];

		slot->give = cpu_to_le32(CP_OWN | CP_RX_BUF_SIZE |
					 (i == count - 1 ? CP_EOR : 0));
		if (!cp_rx_buffer_fill(cp, slot, GFP_KERNEL))
			goto failed;
	}
	return 0;

failed:
	cp_rx_free(cp, ring);
	return -ENOMEM;
}

/* The chip is stopped. */
void cp_rx_free(struct cp *cp, struct cp_rx_ring *ring)
{
	unsigned int i;

	for (i = 0; ring->slot && i < ring->count; i++)
		cp_rx_buffer_free(cp, &ring->slot[i]);
	kfree(ring->slot);
	cp_desc_free(cp, ring->count, ring->desc, ring->dma);
	ring->slot = NULL;
	ring->desc = NULL;
}

/* The chip is stopped, and begins at descriptor 0: gives it the whole ring. */
void cp_rx_reset(struct cp *cp)
{
	struct cp_rx_ring *ring = &cp->rx;

	memset(ring->desc, 0, ring->count * sizeof(*ring->desc));
	ring->next = 0;
	ring->dirty = 0;
	ring->given = 0;
	ring->taken = ring->count;
	cp_rx_refill(&cp->port);
}

/*
 * The transmit ring. One writer queues (ndo_start_xmit, under the queue's
 * lock), one reclaims; each reads the other's count.
 */

unsigned int cp_tx_outstanding(struct irqmod_port *port)
{
	const struct cp_tx_ring *ring = &cp_of_port(port)->tx;

	return READ_ONCE(ring->packets_queued) - READ_ONCE(ring->packets_done);
}

static unsigned int cp_tx_ring_room(const struct cp_tx_ring *ring)
{
	/* Acquire: the slots are free when cp_tx_reclaim() has counted them. */
	u32 done = smp_load_acquire(&ring->done);

	return ring->count - READ_ONCE(ring->queued) + done;
}

unsigned int cp_tx_room(struct irqmod_port *port)
{
	return cp_tx_ring_room(&cp_of_port(port)->tx);
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

unsigned int cp_tx_reclaim(struct irqmod_port *port)
{
	struct cp *cp = cp_of_port(port);
	struct cp_tx_ring *ring = &cp->tx;
	unsigned int packets = 0, errors = 0, bytes = 0;
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
		if (unlikely(status & (CP_TX_TES | CP_TX_UNF))) {
			cp_tx_error(cp, status);
			errors++;
		} else {
			bytes += skb->len;
		}
		irqmod_tx_free(port, skb);
	}
	if (done == ring->done)
		return 0;

	ring->dirty = i;
	WRITE_ONCE(ring->packets_done, ring->packets_done + packets);
	/* Release: the slots may be used anew. */
	smp_store_release(&ring->done, done);

	u64_stats_update_begin(&port->tx_stats.syncp);
	u64_stats_add(&port->tx_stats.packets, packets - errors);
	u64_stats_add(&port->tx_stats.bytes, bytes);
	if (unlikely(errors))
		u64_stats_add(&port->tx_stats.errors, errors);
	u64_stats_update_end(&port->tx_stats.syncp);
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

/* Whether the checksum has been taken care of, by the chip or by software. */
static bool cp_tx_checksum(struct sk_buff *skb, u32 *opts1)
{
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
	/* Behind a VLAN tag that is part of the data, for example. */
	return !skb_checksum_help(skb);
}

/* Puts the fragments behind descriptor @i, which the chip does not have yet, so
 * it will not look at them. Returns the last one's index, or -ENOMEM.
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
	struct netdev_queue *txq = netdev_get_tx_queue(netdev, 0);
	struct cp *cp = cp_of(netdev);
	struct cp_tx_ring *ring = &cp->tx;
	unsigned int len, room, segs, first = ring->next;
	u32 opts1 = CP_OWN, opts2 = 0;
	struct cp_tx_slot *slot;
	struct cp_desc *desc;
	int last = first;
	dma_addr_t dma;

	irqmod_tx_begin(&cp->port);

	segs = skb_shinfo(skb)->nr_frags + 1;
	if (unlikely(segs > CP_TX_SEGS)) {
		if (skb_linearize(skb))
			goto drop;
		segs = 1;
	}
	room = cp_tx_ring_room(ring);
	if (unlikely(room < segs)) {
		net_err_ratelimited("%s: the queue should have been stopped\n",
				    netdev->name);
		return NETDEV_TX_BUSY;
	}

	if (skb->ip_summed == CHECKSUM_PARTIAL && !cp_tx_checksum(skb, &opts1))
		goto drop;
	/* The chip sends short frames as they are. */
	if (unlikely(eth_skb_pad(skb)))
		goto freed;
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
	/* The engine may free the packet as soon as the chip has it. */
	if (unlikely(skb_shinfo(skb)->tx_flags & SKBTX_SW_TSTAMP))
		skb_tx_timestamp(skb);

	desc = &ring->desc[first];
	desc->opts2 = cpu_to_le32(opts2);
	desc->addr = cpu_to_le64(dma);
	/* The whole packet first, then the chip may have it. */
	dma_wmb();
	WRITE_ONCE(desc->opts1, cpu_to_le32(opts1 | CP_FS | len |
					    cp_tx_eor(ring, first)));

	ring->next = cp_tx_next(ring, last);
	WRITE_ONCE(ring->packets_queued, ring->packets_queued + 1);
	/* Release: the slots may be reclaimed. */
	smp_store_release(&ring->queued, ring->queued + segs);

	if (irqmod_tx_queued(&cp->port, txq, room - segs, CP_TX_SEGS))
		writeb(CP_TPPOLL_NPQ, cp->regs + CP_TPPOLL);
	return NETDEV_TX_OK;

drop:
	dev_kfree_skb_any(skb);
freed:
	dev_core_stats_tx_dropped_inc(netdev);
	/* This was perhaps the last of a batch. */
	if (!netdev_xmit_more())
		writeb(CP_TPPOLL_NPQ, cp->regs + CP_TPPOLL);
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

/* The chip is stopped: drops what it has not sent, or not reported. */
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

/* The chip is stopped, and begins at descriptor 0. */
void cp_tx_reset(struct cp *cp)
{
	struct cp_tx_ring *ring = &cp->tx;

	cp_tx_clean(cp, ring);
	memset(ring->desc, 0, ring->count * sizeof(*ring->desc));
	ring->next = 0;
	ring->dirty = 0;
}

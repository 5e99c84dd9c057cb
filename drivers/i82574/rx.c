// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receive rings (7.1). A slot has a page for ever, unless its frame is given away
 * with it: then another page must have been found first. Frames up to rx-copybreak are
 * copied, and so are all frames in hard IRQ, where no page can be had.
 */
#include <linux/io.h>
#include <linux/slab.h>

#include "i82574.h"

void i82574_rx_free(struct i82574_queue *q, struct i82574_rx_ring *ring)
{
	unsigned int i;

	dev_kfree_skb(ring->skb);
	for (i = 0; ring->slot && i < ring->count; i++)
		if (ring->slot[i].page)
			page_pool_put_full_page(ring->pool, ring->slot[i].page,
						false);
	if (xdp_rxq_info_is_reg(&ring->xdp))
		xdp_rxq_info_unreg(&ring->xdp);
	if (ring->pool)
		page_pool_destroy(ring->pool);
	if (ring->desc)
		dma_free_coherent(&q->nic->pdev->dev,
				  ring->count * sizeof(*ring->desc), ring->desc,
				  ring->dma);
	kvfree(ring->slot);
	*ring = (struct i82574_rx_ring){ };
}

static int rx_pool_alloc(struct i82574_queue *q, struct i82574_rx_ring *ring)
{
	struct device *dev = &q->nic->pdev->dev;
	struct page_pool_params params = {
		.flags = PP_FLAG_DMA_MAP,
		.pool_size = ring->count,
		.nid = dev_to_node(dev),
		.dev = dev,
		.dma_dir = ring->dir,
	};
	int err;

	ring->pool = page_pool_create(&params);
	if (IS_ERR(ring->pool)) {
		err = PTR_ERR(ring->pool);
		ring->pool = NULL;
		return err;
	}
	err = xdp_rxq_info_reg(&ring->xdp, q->queue.netdev, q->queue.index,
			       q->queue.napi.napi_id);
	if (!err)
		err = xdp_rxq_info_reg_mem_model(&ring->xdp, MEM_TYPE_PAGE_POOL,
						 ring->pool);
	return err;
}

/**
 * i82574_rx_alloc() - allocates a ring, and a page for each slot
 * @q: the queue; it may be running with another ring
 * @ring: the ring
 * @count: its descriptors
 * @xdp: a program may send the frames
 *
 * Return: 0, or what is wrong; then nothing is allocated.
 */
int i82574_rx_alloc(struct i82574_queue *q, struct i82574_rx_ring *ring,
		    unsigned int count, bool xdp)
{
	struct device *dev = &q->nic->pdev->dev;
	unsigned int i;
	int err;

	*ring = (struct i82574_rx_ring){ .count = count };
	ring->dir = xdp ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
	ring->tail = q->nic->regs + RDT(q->queue.index);
	ring->slot = kvcalloc(count, sizeof(*ring->slot), GFP_KERNEL);
	ring->desc = dma_alloc_coherent(dev, count * sizeof(*ring->desc),
					&ring->dma, GFP_KERNEL);
	err = ring->slot && ring->desc ? rx_pool_alloc(q, ring) : -ENOMEM;
	for (i = 0; !err && i < count; i++) {
		struct page *page = page_pool_alloc_pages(ring->pool, GFP_KERNEL);

		if (!page) {
			err = -ENOMEM;
			break;
		}
		ring->slot[i].page = page;
		ring->slot[i].dma = page_pool_get_dma_addr(page);
		ring->sync |= dma_need_sync(dev, ring->slot[i].dma);
	}
	if (err)
		i82574_rx_free(q, ring);
	return err;
}

/* Before the receiver is enabled: gives it the ring. */
void i82574_rx_start(struct i82574_queue *q)
{
	struct i82574_rx_ring *ring = &q->rx;
	unsigned int n = q->queue.index;

	dev_kfree_skb(ring->skb);
	ring->skb = NULL;
	ring->skip = false;
	ring->next = 0;
	ring->back = 0;
	ring->given = 0;
	ring->taken = ring->count;
	i82574_write(q->nic, RDBAL(n), lower_32_bits(ring->dma));
	i82574_write(q->nic, RDBAH(n), upper_32_bits(ring->dma));
	i82574_write(q->nic, RDLEN(n), ring->count * sizeof(*ring->desc));
	i82574_write(q->nic, RDH(n), 0);
	i82574_write(q->nic, RDT(n), 0);
}

/* Gives descriptors to the chip, in the order of the ring, until it has rx_limit of
 * them. One is always left: a ring whose head is its tail is empty. rx_take may
 * interrupt this (rx_deferred): it updates taken, this function given.
 */
void i82574_rx_refill(struct irqmod_queue *queue)
{
	struct i82574_rx_ring *ring = &to_i82574(queue)->rx;
	u32 limit = min(READ_ONCE(queue->rx_limit), ring->count - 1);
	/* Acquire: pairs with i82574_rx_take(): see the slots as it left them. */
	u32 end = smp_load_acquire(&ring->taken) - (ring->count - limit);
	unsigned int i = ring->back;
	u32 given;

	if ((s32)(end - ring->given) <= 0)
		return;
	for (given = ring->given; given != end; given++) {
		union i82574_rx_desc *desc = &ring->desc[i];

		if (unlikely(ring->sync))
			dma_sync_single_for_device(queue->netdev->dev.parent,
						   ring->slot[i].dma + RX_HEADROOM,
						   RX_BUFFER_BYTES, ring->dir);
		desc->give.addr = cpu_to_le64(ring->slot[i].dma + RX_HEADROOM);
		desc->give.status = 0;
		i = i82574_next(i, ring->count);
	}
	ring->back = i;
	/* Pairs with i82574_rx_take(), which then may read the descriptors. */
	smp_store_release(&ring->given, given);
	/* writel() orders the descriptors before the doorbell. */
	writel(i, ring->tail);
}

static bool rx_done(const struct i82574_rx_ring *ring)
{
	return READ_ONCE(ring->desc[ring->next].back.status) &
	       cpu_to_le32(RXD_DD);
}

bool i82574_rx_pending(struct irqmod_queue *queue)
{
	const struct i82574_rx_ring *ring = &to_i82574(queue)->rx;

	return ring->taken - READ_ONCE(ring->given) < ring->count &&
	       rx_done(ring);
}

/* Puts another page into a slot, whose own is then the caller's; false: there is none. */
bool i82574_rx_page_take(struct i82574_rx_ring *ring,
			 struct i82574_rx_slot *slot)
{
	struct page *page = page_pool_dev_alloc_pages(ring->pool);

	if (unlikely(!page))
		return false;
	slot->page = page;
	slot->dma = page_pool_get_dma_addr(page);
	return true;
}

static __always_inline struct sk_buff *rx_copy(struct irqmod_queue *queue,
					       const void *data,
					       unsigned int len)
{
	struct sk_buff *skb = irqmod_rx_alloc(queue, max(len, 64u));

	if (unlikely(!skb))
		return NULL;
	/* A fixed size is copied without a call. */
	if (len <= 64)
		memcpy(skb->data, data, 64);
	else
		memcpy(skb->data, data, len);
	__skb_put(skb, len);
	return skb;
}

/* An sk_buff of a frame, or of the first part of one. */
static struct sk_buff *rx_build(struct irqmod_queue *queue,
				struct i82574_rx_ring *ring,
				struct i82574_rx_slot *slot, unsigned int at,
				unsigned int len, bool whole)
{
	void *start = page_address(slot->page);
	struct sk_buff *skb;

	if (unlikely(!queue->rx_in_softirq)) {
		if (whole && len <= RX_COPY_MAX)
			return rx_copy(queue, start + at, len);
		/* A part may be longer than the MTU. */
		skb = netdev_alloc_skb(queue->netdev,
				       max(queue->netdev->mtu + FRAME_OVERHEAD,
					   (unsigned int)RX_BUFFER_BYTES));
		if (likely(skb))
			skb_put_data(skb, start + at, len);
		return skb;
	}
	if (unlikely(!i82574_rx_page_take(ring, slot)))
		return NULL;
	skb = napi_build_skb(start, PAGE_SIZE);
	if (unlikely(!skb)) {
		page_pool_put_full_page(ring->pool, virt_to_page(start), false);
		return NULL;
	}
	skb_mark_for_recycle(skb);
	skb_reserve(skb, at);
	__skb_put(skb, len);
	skb->dev = queue->netdev;
	return skb;
}

/* Adds a part to a frame that others began; false: there is no memory. */
static bool rx_add(struct irqmod_queue *queue, struct i82574_rx_ring *ring,
		   struct i82574_rx_slot *slot, unsigned int len)
{
	struct sk_buff *skb = ring->skb;
	struct page *page = slot->page;

	if (unlikely(!queue->rx_in_softirq || !skb_is_nonlinear(skb)) &&
	    skb_tailroom(skb) >= len) {
		skb_put_data(skb, page_address(page) + RX_HEADROOM, len);
		return true;
	}
	if (!queue->rx_in_softirq ||
	    skb_shinfo(skb)->nr_frags == MAX_SKB_FRAGS ||
	    !i82574_rx_page_take(ring, slot))
		return false;
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, RX_HEADROOM, len,
			PAGE_SIZE);
	return true;
}

/* What the chip found out about a frame. */
static void rx_offloads(struct irqmod_queue *queue, struct sk_buff *skb,
			const union i82574_rx_desc *desc, u32 status)
{
	netdev_features_t features = queue->netdev->features;
	u32 type = le32_to_cpu(desc->back.multiqueue) & RXD_HASH_TYPE;

	if (!(status & (RXD_IXSM | RXD_ERROR_TCP | RXD_ERROR_IP)) &&
	    status & RXD_TCPCS && features & NETIF_F_RXCSUM)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (type && features & NETIF_F_RXHASH)
		skb_set_hash(skb, le32_to_cpu(desc->back.hash),
			     type == RXD_HASH_TCP_IPV4 ||
			     type == RXD_HASH_TCP_IPV6 ? PKT_HASH_TYPE_L4
						       : PKT_HASH_TYPE_L3);
	if (status & RXD_VP)
		__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q),
				       le16_to_cpu(desc->back.vlan));
}

/* Whether GRO may merge a frame. For UDP it costs more than a fifth of forwarding a frame,
 * and merges nothing unless it was asked for.
 */
static bool rx_is_flow(const struct irqmod_queue *queue, const struct sk_buff *skb,
		       u32 status)
{
	if (status & RXD_UDPCS)
		return queue->netdev->features &
		       (NETIF_F_GRO_UDP_FWD | NETIF_F_GRO_FRAGLIST);
	return status & RXD_TCPCS || irqmod_is_flow(skb);
}

/* A whole frame without an error. */
static bool rx_is_simple(const struct i82574_rx_ring *ring, u32 status)
{
	return (status & (RXD_EOP | RXD_ERROR_FRAME)) == RXD_EOP && !ring->skb &&
	       !ring->skip;
}

struct rx_counts {
	unsigned int packets, bytes, errors, no_buffer;
};

/* The part of a frame in a slot. Returns the frame, if this is its last part. */
static struct sk_buff *rx_part(struct irqmod_queue *queue,
			       struct i82574_rx_ring *ring,
			       struct i82574_rx_slot *slot, unsigned int at,
			       unsigned int len, u32 status,
			       struct rx_counts *counts)
{
	bool last = status & RXD_EOP;
	struct sk_buff *skb;

	if (unlikely(ring->skip)) {
		ring->skip = !last;
		return NULL;
	}
	if (unlikely(status & RXD_ERROR_FRAME)) {
		counts->errors++;
	} else if (likely(!ring->skb)) {
		skb = rx_build(queue, ring, slot, at, len, last);
		if (likely(skb && last))
			return skb;
		ring->skb = skb;
		if (skb)
			return NULL;
		counts->no_buffer++;
	} else if (!rx_add(queue, ring, slot, len)) {
		counts->no_buffer++;
	} else if (last) {
		skb = ring->skb;
		ring->skb = NULL;
		return skb;
	} else {
		return NULL;
	}
	ring->skip = !last;
	if (ring->skb)
		dev_kfree_skb_any(ring->skb);
	ring->skb = NULL;
	return NULL;
}

static void rx_count(struct irqmod_queue *queue, const struct rx_counts *counts)
{
	struct irqmod_rx_stats *stats = &queue->rx_stats;

	u64_stats_update_begin(&stats->syncp);
	u64_stats_add(&stats->packets, counts->packets);
	u64_stats_add(&stats->bytes, counts->bytes);
	if (unlikely(counts->errors | counts->no_buffer)) {
		u64_stats_add(&stats->errors, counts->errors);
		u64_stats_add(&stats->no_buffer, counts->no_buffer);
	}
	u64_stats_update_end(&stats->syncp);
}

int i82574_rx_take(struct irqmod_queue *queue, int budget)
{
	struct i82574_queue *q = to_i82574(queue);
	struct i82574_rx_ring *ring = &q->rx;
	struct rx_counts counts = { };
	struct bpf_prog *prog = NULL;
	unsigned int did = 0, copybreak = READ_ONCE(q->nic->rx_copybreak);
	u32 taken = 0, left;

	/* Acquire: pairs with i82574_rx_refill(): the chip's, or done. What it has
	 * not got back still shows its old frame.
	 */
	left = ring->count - ring->taken + smp_load_acquire(&ring->given);
	left = min_t(u32, budget, left);
	if (queue->rx_in_softirq)
		prog = rcu_dereference_bh(q->nic->xdp_prog);
	for (; taken < left; taken++) {
		struct i82574_rx_slot *slot = &ring->slot[ring->next];
		union i82574_rx_desc *desc = &ring->desc[ring->next];
		u32 status = le32_to_cpu(READ_ONCE(desc->back.status));
		unsigned int len, at = RX_HEADROOM;
		struct sk_buff *skb;
		bool simple;

		if (!(status & RXD_DD))
			break;
		/* Read DD before the rest. */
		dma_rmb();
		len = le16_to_cpu(desc->back.length);
		/* A chip that says so does not work: what it wrote is not known. */
		if (unlikely(len > RX_BUFFER_BYTES ||
			     (len < ETH_HLEN && !ring->skb))) {
			status |= RXD_ERROR_DATA;
			len = 0;
		}
		ring->next = i82574_next(ring->next, ring->count);
		if (unlikely(ring->sync))
			dma_sync_single_for_cpu(&q->nic->pdev->dev,
						slot->dma + RX_HEADROOM, len,
						ring->dir);
		simple = rx_is_simple(ring, status);
		/* A program must see each frame whole: longer ones do not pass it by. */
		if (unlikely(prog && !simple))
			status |= RXD_ERROR_DATA;
		if (unlikely(prog) && likely(simple) &&
		    i82574_xdp_run(q, slot, prog, &at, &len, &did)) {
			counts.packets++;
			counts.bytes += len;
			skb = NULL;
		} else if (likely(len <= copybreak && simple)) {
			skb = rx_copy(queue, page_address(slot->page) + at, len);
			if (unlikely(!skb))
				counts.no_buffer++;
		} else {
			skb = rx_part(queue, ring, slot, at, len, status, &counts);
		}
		if (unlikely(!skb))
			continue;
		counts.packets++;
		counts.bytes += skb->len;
		skb_record_rx_queue(skb, queue->index);
		rx_offloads(queue, skb, desc, status);
		skb->protocol = eth_type_trans(skb, queue->netdev);
		if (rx_is_flow(queue, skb, status))
			irqmod_deliver_flow(queue, skb);
		else
			irqmod_deliver(queue, skb);
	}
	if (!taken)
		return 0;
	/* Release: pairs with i82574_rx_refill(). */
	smp_store_release(&ring->taken, ring->taken + taken);
	if (!queue->rx_deferred)
		i82574_rx_refill(queue);
	if (unlikely(did))
		i82574_xdp_flush(q, did);
	rx_count(queue, &counts);
	return taken;
}

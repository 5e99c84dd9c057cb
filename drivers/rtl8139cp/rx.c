// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTL8139C+: the receive ring (C+ mode descriptors).
 *
 * The chip owns a descriptor while its OWN bit is set. It processes the ring in
 * order and stops at the first descriptor that it does not own. The last
 * descriptor has EOR.
 */
#include <linux/if_vlan.h>
#include <linux/slab.h>

#include "rtl8139cp.h"

/*
 * Receive buffers. Only the functions of this section depend on their type.
 */

static unsigned int cp_rx_buffer_size(const struct cp_rx_ring *ring)
{
	return ring->max_data + ETH_HLEN;
}

/* Maps @skb as the slot's buffer. On failure frees @skb and returns false. */
static bool cp_rx_buffer_set(struct cp *cp, const struct cp_rx_ring *ring,
			     struct cp_rx_slot *slot, struct sk_buff *skb)
{
	dma_addr_t dma = dma_map_single(cp->dev, skb->data,
					cp_rx_buffer_size(ring),
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

static bool cp_rx_buffer_fill(struct cp *cp, const struct cp_rx_ring *ring,
			      struct cp_rx_slot *slot, gfp_t gfp)
{
	struct sk_buff *skb;

	skb = __netdev_alloc_skb_ip_align(cp->queue.netdev,
					  cp_rx_buffer_size(ring), gfp);
	return skb && cp_rx_buffer_set(cp, ring, slot, skb);
}

static void cp_rx_buffer_unmap(struct cp *cp, const struct cp_rx_ring *ring,
			       dma_addr_t dma)
{
	dma_unmap_single(cp->dev, dma, cp_rx_buffer_size(ring),
			 DMA_FROM_DEVICE);
}

/* Recycled heads are too small for a large MTU. Not inlined: it keeps registers
 * free where frames are taken.
 */
static noinline struct sk_buff *
cp_rx_buffer_large(struct cp *cp, const struct cp_rx_ring *ring)
{
	return netdev_alloc_skb_ip_align(cp->queue.netdev,
					 cp_rx_buffer_size(ring));
}

static struct sk_buff *cp_rx_buffer_new(struct cp *cp,
					const struct cp_rx_ring *ring)
{
	if (unlikely(ring->max_data > CP_RX_BUF_SIZE - ETH_HLEN))
		return cp_rx_buffer_large(cp, ring);
	return irqmod_rx_alloc(&cp->queue, CP_RX_BUF_SIZE);
}

static void cp_rx_buffer_free(struct cp *cp, const struct cp_rx_ring *ring,
			      struct cp_rx_slot *slot)
{
	if (!slot->skb)
		return;
	cp_rx_buffer_unmap(cp, ring, slot->dma);
	dev_kfree_skb_any(slot->skb);
	slot->skb = NULL;
}

/* Returns the frame of @len bytes in the slot's buffer as an skb. Short frames
 * are copied and the buffer stays in place. It is synced for the device, though it
 * was only read: some CPUs discard cached lines only then (MIPS 24K, ARM926). Long
 * frames are delivered in their buffer, which is replaced here or, with @later,
 * by cp_rx_refill(). Returns NULL without memory; the buffer then stays as well.
 */
static struct sk_buff *cp_rx_buffer_take(struct cp *cp, struct cp_rx_slot *slot,
					 struct cp_desc *desc, unsigned int len,
					 bool later)
{
	const struct cp_rx_ring *ring = &cp->rx;
	struct sk_buff *fresh, *skb = slot->skb;
	dma_addr_t dma = slot->dma;

	if (len <= READ_ONCE(cp->rx_copybreak)) {
		/* It is limited so, and the compiler inlines a short copy. */
		if (len > CP_RX_BUF_SIZE)
			__builtin_unreachable();
		skb = irqmod_rx_alloc(&cp->queue, len);
		if (unlikely(!skb))
			return NULL;
		if (unlikely(slot->sync))
			dma_sync_single_for_cpu(cp->dev, dma, len,
						DMA_FROM_DEVICE);
		__skb_put_data(skb, slot->data, len);
		if (unlikely(slot->sync))
			dma_sync_single_for_device(cp->dev, dma, len,
						   DMA_FROM_DEVICE);
		return skb;
	}

	if (later) {
		slot->skb = NULL;
	} else {
		fresh = cp_rx_buffer_new(cp, ring);
		if (unlikely(!fresh || !cp_rx_buffer_set(cp, ring, slot, fresh)))
			return NULL;
		desc->addr = cpu_to_le64(slot->dma);
	}
	cp_rx_buffer_unmap(cp, ring, dma);
	__skb_put(skb, len);
	return skb;
}

/*
 * The receive ring.
 */

static void cp_rx_give(struct cp_desc *desc, const struct cp_rx_slot *slot)
{
	desc->opts2 = 0;
	/* Complete the descriptor before handing it to the chip. */
	dma_wmb();
	WRITE_ONCE(desc->opts1, slot->give);
}

/* Refills in ring order until memory runs out, or the chip has rx_limit
 * descriptors. In deferred mode rx_take may interrupt this function: rx_take
 * updates taken, this function given.
 */
void cp_rx_refill(struct irqmod_queue *queue)
{
	struct cp *cp = cp_of_queue(queue);
	struct cp_rx_ring *ring = &cp->rx;
	u32 spare = ring->count - min(READ_ONCE(queue->rx_limit), ring->count);

	queue->rx_dry = false;
	/* Acquire: see the slot as rx_take left it. */
	while (smp_load_acquire(&ring->taken) - ring->given > spare) {
		struct cp_rx_slot *slot = &ring->slot[ring->dirty];
		struct cp_desc *desc = &ring->desc[ring->dirty];

		if (!slot->skb && !cp_rx_buffer_fill(cp, ring, slot, GFP_ATOMIC)) {
			queue->rx_dry = true;
			return;
		}
		desc->addr = cpu_to_le64(slot->dma);
		cp_rx_give(desc, slot);
		if (++ring->dirty == ring->count)
			ring->dirty = 0;
		/* Release: complete the slot before rx_take may use it. */
		smp_store_release(&ring->given, ring->given + 1);
	}
}

bool cp_rx_pending(struct irqmod_queue *queue)
{
	const struct cp_rx_ring *ring = &cp_of_queue(queue)->rx;

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

/* Whether GRO may merge the frame. */
static bool cp_rx_is_flow(const struct sk_buff *skb, u32 status)
{
	u32 pid = status & CP_RX_PID;

	return pid != CP_RX_PID_UDP &&
	       (pid == CP_RX_PID_TCP || irqmod_is_flow(skb));
}

int cp_rx_take(struct irqmod_queue *queue, int budget)
{
	struct cp *cp = cp_of_queue(queue);
	struct net_device *netdev = queue->netdev;
	struct cp_rx_ring *ring = &cp->rx;
	unsigned int errors = 0, no_buffer = 0, bytes = 0;
	unsigned int next = ring->next;
	bool later = queue->rx_deferred;
	int taken;
	u32 given;

	/* Slots without a buffer still show their old frame: do not take it
	 * for a new one.
	 */
	if (unlikely(later || ring->given != ring->taken)) {
		if (!later) {
			cp_rx_refill(queue);
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
		/* Read OWN before the rest of the descriptor. */
		dma_rmb();
		opts2 = le32_to_cpu(desc->opts2);
		len = (status & CP_RX_LEN) - ETH_FCS_LEN;
		if (++next == ring->count)
			next = 0;

		if (unlikely((status & CP_RX_JUDGE) != CP_RX_WHOLE ||
			     len - ETH_HLEN > ring->max_data)) {
			/* A frame that is too long has several segments. */
			if (status & CP_LS) {
				cp_rx_error(cp, status);
				errors++;
			}
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
		if (unlikely(cp_rx_is_flow(skb, status)))
			irqmod_deliver_flow(queue, skb);
		else
			irqmod_deliver(queue, skb);
	}

	ring->next = next;
	if (unlikely(later))
		/* Release: pairs with cp_rx_refill(). */
		smp_store_release(&ring->taken, ring->taken + taken);
	else
		ring->dirty = next;

	if (taken) {
		struct irqmod_rx_stats *stats = &queue->rx_stats;

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

/* The size of a buffer. The chip's unit is 8 bytes. */
unsigned int cp_rx_size(unsigned int mtu)
{
	unsigned int size = mtu + ETH_HLEN + ETH_FCS_LEN + 2 * VLAN_HLEN;

	return max_t(unsigned int, ALIGN(size, 8), CP_RX_BUF_SIZE);
}

int cp_rx_alloc(struct cp *cp, struct cp_rx_ring *ring, unsigned int count)
{
	unsigned int i, size = cp_rx_size(cp->port.netdev->mtu);

	*ring = (struct cp_rx_ring){ .count = count,
				     .max_data = size - ETH_HLEN };
	ring->slot = kcalloc(count, sizeof(*ring->slot), GFP_KERNEL);
	ring->desc = cp_desc_alloc(cp, count, &ring->dma);
	if (!ring->slot || !ring->desc)
		goto failed;

	for (i = 0; i < count; i++) {
		struct cp_rx_slot *slot = &ring->slot[i];

		slot->give = cpu_to_le32(CP_OWN | size |
					 (i == count - 1 ? CP_EOR : 0));
		if (!cp_rx_buffer_fill(cp, ring, slot, GFP_KERNEL))
			goto failed;
	}
	return 0;

failed:
	cp_rx_free(cp, ring);
	return -ENOMEM;
}

/* Called with the chip stopped. */
void cp_rx_free(struct cp *cp, struct cp_rx_ring *ring)
{
	unsigned int i;

	for (i = 0; ring->slot && i < ring->count; i++)
		cp_rx_buffer_free(cp, ring, &ring->slot[i]);
	kfree(ring->slot);
	cp_desc_free(cp, ring->count, ring->desc, ring->dma);
	ring->slot = NULL;
	ring->desc = NULL;
}

/* Called with the chip stopped, before it starts at descriptor 0. Gives it the
 * whole ring.
 */
void cp_rx_reset(struct cp *cp)
{
	struct cp_rx_ring *ring = &cp->rx;

	memset(ring->desc, 0, ring->count * sizeof(*ring->desc));
	ring->next = 0;
	ring->dirty = 0;
	ring->given = 0;
	ring->taken = ring->count;
	cp_rx_refill(&cp->queue);
}

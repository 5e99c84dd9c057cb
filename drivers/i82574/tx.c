// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit rings (7.2). The last descriptor of each packet has the RS bit: the chip
 * then marks it as done, and raises the queue's TX cause. A packet that needs a
 * checksum or is to be segmented has a context descriptor before its own, unless that
 * of the last one will do.
 */
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/tcp.h>

#include "i82574.h"

/* The chip needs 17 bytes, and pads the rest (TCTL_PSP). */
#define TX_SHORTEST	17
#define TX_COMMAND	(TXD_DEXT | TXD_TYPE_DATA | TXD_IFCS)

static __always_inline void tx_unmap(struct i82574_tx_ring *ring, struct i82574_tx_slot *slot)
{
	unsigned int len = dma_unmap_len(slot, len);

	if (slot->page && len)
		dma_unmap_page(ring->dev, dma_unmap_addr(slot, dma), len,
			       DMA_TO_DEVICE);
	else if (len)
		dma_unmap_single(ring->dev, dma_unmap_addr(slot, dma), len,
				 DMA_TO_DEVICE);
	dma_unmap_len_set(slot, len, 0);
}

/* Frees what was sent, or never will be, outside of a reclaim. */
static void tx_drop(struct i82574_tx_slot *slot)
{
	if (slot->kind == TX_SKB)
		dev_kfree_skb_any(slot->skb);
	else if (slot->kind == TX_XDP || slot->kind == TX_XDP_OWN)
		xdp_return_frame(slot->frame);
}

void i82574_tx_free(struct i82574_queue *q, struct i82574_tx_ring *ring)
{
	unsigned int i = ring->dirty;

	for (; ring->slot && ring->done != ring->filled; ring->done++) {
		tx_unmap(ring, &ring->slot[i]);
		tx_drop(&ring->slot[i]);
		i = i82574_next(i, ring->count);
	}
	if (ring->desc)
		dma_free_coherent(ring->dev, ring->count * sizeof(*ring->desc),
				  ring->desc, ring->dma);
	if (ring->copies)
		dma_free_coherent(ring->dev, ring->count * TX_COPY_BYTES,
				  ring->copies, ring->copies_dma);
	kvfree(ring->slot);
	*ring = (struct i82574_tx_ring){ };
}

int i82574_tx_alloc(struct i82574_queue *q, struct i82574_tx_ring *ring,
		    unsigned int count)
{
	*ring = (struct i82574_tx_ring){ .count = count };
	ring->dev = &q->nic->pdev->dev;
	ring->tail = q->nic->regs + TDT(q->queue.index);
	ring->slot = kvcalloc(count, sizeof(*ring->slot), GFP_KERNEL);
	ring->desc = dma_alloc_coherent(ring->dev, count * sizeof(*ring->desc),
					&ring->dma, GFP_KERNEL);
	ring->copies = dma_alloc_coherent(ring->dev, count * TX_COPY_BYTES,
					  &ring->copies_dma, GFP_KERNEL);
	if (ring->slot && ring->desc && ring->copies)
		return 0;
	i82574_tx_free(q, ring);
	return -ENOMEM;
}

/* Before the transmitter is enabled: an empty ring. What was on it is dropped. */
void i82574_tx_start(struct i82574_queue *q)
{
	struct i82574_tx_ring *ring = &q->tx;
	unsigned int n = q->queue.index;

	for (; ring->done != ring->filled; ring->done++) {
		tx_unmap(ring, &ring->slot[ring->dirty]);
		tx_drop(&ring->slot[ring->dirty]);
		ring->dirty = i82574_next(ring->dirty, ring->count);
	}
	memset(ring->slot, 0, ring->count * sizeof(*ring->slot));
	memset(ring->desc, 0, ring->count * sizeof(*ring->desc));
	ring->next = 0;
	ring->dirty = 0;
	ring->context = 0;
	i82574_write(q->nic, TDBAL(n), lower_32_bits(ring->dma));
	i82574_write(q->nic, TDBAH(n), upper_32_bits(ring->dma));
	i82574_write(q->nic, TDLEN(n), ring->count * sizeof(*ring->desc));
	i82574_write(q->nic, TDH(n), 0);
	i82574_write(q->nic, TDT(n), 0);
}

unsigned int i82574_tx_outstanding(struct irqmod_queue *queue)
{
	const struct i82574_tx_ring *ring = &to_i82574(queue)->tx;

	return READ_ONCE(ring->filled) - READ_ONCE(ring->done);
}

/* One is always free: a ring whose head is its tail is empty. */
static unsigned int tx_room(const struct i82574_tx_ring *ring)
{
	/* Acquire: pairs with i82574_tx_reclaim(), which has read the slots. */
	u32 done = smp_load_acquire(&ring->done);

	return ring->count - 1 - (READ_ONCE(ring->filled) - done);
}

unsigned int i82574_tx_room(struct irqmod_queue *queue)
{
	return tx_room(&to_i82574(queue)->tx);
}

unsigned int i82574_tx_bytes(struct irqmod_queue *queue)
{
	const struct i82574_tx_ring *ring = &to_i82574(queue)->tx;
	unsigned int i = ring->dirty, bytes = 0;
	u32 done;

	for (done = ring->done; done != ring->filled; done++) {
		if (ring->slot[i].kind != TX_NOTHING)
			bytes += ring->slot[i].bytes;
		i = i82574_next(i, ring->count);
	}
	return bytes;
}

/* The queue is locked. */
void i82574_tx_kick(struct i82574_queue *q)
{
	if (unlikely(irqmod_instrument(q->nic->lost_doorbells, 0))) {
		q->nic->lost_doorbells--;
		return;
	}
	/* writel() orders the descriptors before the doorbell. */
	writel(q->tx.next, q->tx.tail);
}

/* The descriptors that a packet needs, besides a context. */
static unsigned int tx_parts(const struct sk_buff *skb)
{
	unsigned int i, parts = (skb_headlen(skb) + TX_PART_BYTES - 1) >> TX_PART_SHIFT;

	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++)
		parts += (skb_frag_size(&skb_shinfo(skb)->frags[i]) +
			  TX_PART_BYTES - 1) >> TX_PART_SHIFT;
	return parts;
}

/* Fills the next descriptors with @len mapped bytes. Returns the last one's index, and
 * the number of descriptors is added to *@used.
 */
static unsigned int tx_put(struct i82574_tx_ring *ring, unsigned int *next,
			   unsigned int *used, dma_addr_t dma, unsigned int len,
			   bool page, const struct i82574_packet *packet)
{
	unsigned int i = *next, last = i, part;
	bool first = true;

	do {
		struct i82574_tx_desc *desc = &ring->desc[i];
		struct i82574_tx_slot *slot = &ring->slot[i];

		part = min(len, TX_PART_BYTES);
		desc->addr = cpu_to_le64(dma);
		desc->command = cpu_to_le32(packet->command | part);
		desc->options = cpu_to_le32(packet->options);
		/* All of them are mapped as one. */
		dma_unmap_addr_set(slot, dma, dma);
		dma_unmap_len_set(slot, len, first ? len : 0);
		slot->page = page;
		slot->kind = TX_NOTHING;
		first = false;
		dma += part;
		len -= part;
		last = i;
		i = i82574_next(i, ring->count);
		++*used;
	} while (unlikely(len));
	*next = i;
	return last;
}

static void tx_put_context(struct i82574_tx_ring *ring, unsigned int *next,
			   unsigned int *used, const struct i82574_packet *packet)
{
	struct i82574_tx_desc *desc = &ring->desc[*next];
	struct i82574_tx_slot *slot = &ring->slot[*next];

	desc->addr = cpu_to_le64(packet->context);
	desc->command = cpu_to_le32(packet->context_command);
	desc->options = cpu_to_le32(packet->context_options);
	dma_unmap_len_set(slot, len, 0);
	slot->kind = TX_NOTHING;
	*next = i82574_next(*next, ring->count);
	++*used;
	/* A context for segments has a length, and serves that packet alone. */
	ring->context = packet->context_command & TXD_TSE ? 0 : packet->context;
}

/* Forgets the descriptors from @first on, of which the chip knows nothing. */
static void tx_undo(struct i82574_tx_ring *ring, unsigned int first,
		    unsigned int used)
{
	ring->context = 0;
	for (; used; used--) {
		tx_unmap(ring, &ring->slot[first]);
		first = i82574_next(first, ring->count);
	}
}

/* Maps the parts of a packet, and fills their descriptors. Returns the last one's index,
 * or -ENOMEM.
 */
static int tx_map(struct i82574_tx_ring *ring, const struct sk_buff *skb,
		  unsigned int *next, unsigned int *used,
		  const struct i82574_packet *packet)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int f, len = skb_headlen(skb);
	dma_addr_t dma;
	int last;

	dma = dma_map_single(ring->dev, skb->data, len, DMA_TO_DEVICE);
	if (unlikely(dma_mapping_error(ring->dev, dma)))
		return -ENOMEM;
	last = tx_put(ring, next, used, dma, len, false, packet);
	for (f = 0; f < info->nr_frags; f++) {
		len = skb_frag_size(&info->frags[f]);
		if (!len)
			continue;
		dma = skb_frag_dma_map(ring->dev, &info->frags[f], 0, len,
				       DMA_TO_DEVICE);
		if (unlikely(dma_mapping_error(ring->dev, dma)))
			return -ENOMEM;
		last = tx_put(ring, next, used, dma, len, true, packet);
	}
	return last;
}

/* A full ring although the queue was not stopped: a reclaim saw room, and packets have used
 * it before it woke the queue, or another device's frames have (XDP).
 */
static netdev_tx_t tx_busy(struct i82574_queue *q)
{
	irqmod_tx_full(&q->queue, TX_RESERVE);
	i82574_tx_kick(q);
	return NETDEV_TX_BUSY;
}

static void tx_vlan(const struct sk_buff *skb, u32 *command, u32 *options)
{
	if (likely(!skb_vlan_tag_present(skb)))
		return;
	*command |= TXD_VLE;
	*options |= (u32)skb_vlan_tag_get(skb) << TXD_VLAN_SHIFT;
}

/* Copies a short packet to the ring. Behind the data is at least the shared info of an
 * sk_buff or of an XDP frame.
 */
static __always_inline void tx_put_copy(struct i82574_queue *q, const void *data,
					unsigned int len, u32 command, u32 options)
{
	struct i82574_tx_ring *ring = &q->tx;
	unsigned int i = ring->next;
	struct i82574_tx_slot *slot = &ring->slot[i];
	struct i82574_tx_desc *desc = &ring->desc[i];
	u8 *copy = ring->copies + i * TX_COPY_BYTES;

	/* A fixed size is copied without a call; the chip sends @len bytes only. */
	if (len <= 64)
		memcpy(copy, data, 64);
	else
		memcpy(copy, data, len);
	desc->addr = cpu_to_le64(ring->copies_dma + i * TX_COPY_BYTES);
	desc->command = cpu_to_le32(command | TX_COMMAND | TXD_EOP | TXD_RS | len);
	desc->options = cpu_to_le32(options);
	dma_unmap_len_set(slot, len, 0);
	slot->bytes = max_t(u32, len, ETH_ZLEN);
	slot->packets = 1;
	slot->slots = 1;
	slot->kind = TX_COPIED;
	irqmod_tx_sent(&q->queue, slot->bytes);
	ring->next = i82574_next(i, ring->count);
	/* Pairs with i82574_tx_reclaim(). */
	smp_store_release(&ring->filled, ring->filled + 1);
}

/* A short packet: it is copied to the ring, and freed. */
static netdev_tx_t tx_copy(struct i82574_queue *q, struct sk_buff *skb)
{
	unsigned int room = tx_room(&q->tx);
	u32 command = 0, options = 0;

	if (unlikely(!room))
		return tx_busy(q);
	tx_vlan(skb, &command, &options);
	if (unlikely(skb_shinfo(skb)->tx_flags & SKBTX_ANY_TSTAMP))
		skb_tx_timestamp(skb);
	tx_put_copy(q, skb->data, skb->len, command, options);
	if (irqmod_tx_queued(&q->queue, room - 1, TX_RESERVE))
		i82574_tx_kick(q);
	napi_consume_skb(skb, !irqs_disabled());
	return NETDEV_TX_OK;
}

/* Says how much a packet is on the wire, with padding, without FCS. */
static void tx_measure(const struct sk_buff *skb, struct i82574_tx_slot *slot)
{
	unsigned int packets = skb_shinfo(skb)->gso_segs;

	slot->packets = 1;
	slot->bytes = max_t(u32, skb->len, ETH_ZLEN);
	if (likely(packets <= 1 || !skb_is_gso(skb)))
		return;
	slot->packets = packets;
	slot->bytes += (packets - 1) * skb_tcp_all_headers(skb);
}

/* The packet from @first on is complete: hands it to the chip, whose doorbell follows. */
static void tx_commit(struct i82574_tx_ring *ring, unsigned int first,
		      unsigned int last, unsigned int used)
{
	ring->slot[first].slots = used;
	ring->desc[last].command |= cpu_to_le32(TXD_EOP | TXD_RS);
	ring->next = i82574_next(last, ring->count);
	/* Pairs with i82574_tx_reclaim(). */
	smp_store_release(&ring->filled, ring->filled + used);
}

static netdev_tx_t tx_mapped(struct i82574_queue *q, struct sk_buff *skb)
{
	struct i82574_packet packet = { .command = TX_COMMAND };
	struct i82574_tx_ring *ring = &q->tx;
	unsigned int first = ring->next, next = first, used = 0;
	struct i82574_tx_slot *slot;
	unsigned int room, needed;
	int last;

	if (unlikely(skb_put_padto(skb, TX_SHORTEST)))
		goto freed;
	room = tx_room(ring);
	needed = tx_parts(skb) + 1;
	if (unlikely(needed > TX_RESERVE)) {
		if (skb_linearize(skb))
			goto drop;
		needed = tx_parts(skb) + 1;
	}
	if (unlikely(room < needed))
		return tx_busy(q);

	if (skb->ip_summed == CHECKSUM_PARTIAL && i82574_tx_offload(skb, &packet))
		goto drop;
	tx_vlan(skb, &packet.command, &packet.options);
	if (unlikely(packet.context &&
		     (packet.command & TXD_TSE || packet.context != ring->context)))
		tx_put_context(ring, &next, &used, &packet);
	last = tx_map(ring, skb, &next, &used, &packet);
	if (unlikely(last < 0)) {
		tx_undo(ring, first, used);
		goto drop;
	}
	slot = &ring->slot[first];
	slot->kind = TX_SKB;
	slot->skb = skb;
	tx_measure(skb, slot);
	/* The packet may be freed as soon as it is committed. */
	if (unlikely(skb_shinfo(skb)->tx_flags & SKBTX_ANY_TSTAMP))
		skb_tx_timestamp(skb);
	irqmod_tx_sent(&q->queue, slot->bytes);
	tx_commit(ring, first, last, used);
	if (irqmod_tx_queued(&q->queue, room - used, TX_RESERVE))
		i82574_tx_kick(q);
	return NETDEV_TX_OK;

drop:
	dev_kfree_skb_any(skb);
freed:
	dev_core_stats_tx_dropped_inc(q->queue.netdev);
	/* This may have been the last packet of a batch. */
	if (!netdev_xmit_more())
		i82574_tx_kick(q);
	return NETDEV_TX_OK;
}

netdev_tx_t i82574_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct i82574_queue *q = &i82574_of(netdev)->queue[skb_get_queue_mapping(skb)];

	irqmod_tx_begin(&q->queue);
	if (skb->len <= TX_COPYBREAK && !skb_is_nonlinear(skb) &&
	    skb->ip_summed != CHECKSUM_PARTIAL && likely(skb->len >= TX_SHORTEST))
		return tx_copy(q, skb);
	return tx_mapped(q, skb);
}

/* The room for an XDP frame, after a reclaim; 0: it cannot be sent. What the stack's next
 * packet may need is left.
 */
static unsigned int tx_room_for_xdp(struct i82574_queue *q, unsigned int len)
{
	unsigned int room;

	/* A handler that reclaims cannot free frames. */
	if (unlikely(!READ_ONCE(q->queue.up) || !q->queue.tx_in_softirq ||
		     len < TX_SHORTEST))
		return 0;
	irqmod_tx_begin(&q->queue);
	room = tx_room(&q->tx);
	return likely(room > TX_RESERVE) ? room : 0;
}

/**
 * i82574_tx_data() - puts a copy of a short XDP frame on the ring
 * @q: the queue; it is locked, and the caller kicks it
 * @data: the frame
 * @len: its bytes, at most TX_COPYBREAK
 *
 * Return: false if there is no room.
 */
bool i82574_tx_data(struct i82574_queue *q, const void *data, unsigned int len)
{
	unsigned int room = tx_room_for_xdp(q, len);

	if (unlikely(!room))
		return false;
	tx_put_copy(q, data, len, 0, 0);
	irqmod_tx_queued(&q->queue, room - 1, TX_RESERVE);
	return true;
}

/**
 * i82574_tx_frame() - puts an XDP frame on the ring
 * @q: the queue; it is locked, and the caller kicks it
 * @frame: the frame
 * @dma: of its data
 * @kind: TX_XDP: it was mapped for us; TX_XDP_OWN: it is always mapped
 *
 * Return: false if there is no room.
 */
bool i82574_tx_frame(struct i82574_queue *q, struct xdp_frame *frame,
		     dma_addr_t dma, enum i82574_kind kind)
{
	struct i82574_packet packet = { .command = TX_COMMAND };
	struct i82574_tx_ring *ring = &q->tx;
	unsigned int first = ring->next, next = first, used = 0, last;
	unsigned int room = tx_room_for_xdp(q, frame->len);
	struct i82574_tx_slot *slot = &ring->slot[first];

	if (unlikely(!room))
		return false;
	last = tx_put(ring, &next, &used, dma, frame->len, false, &packet);
	if (kind == TX_XDP_OWN)
		dma_unmap_len_set(slot, len, 0);
	slot->kind = kind;
	slot->frame = frame;
	slot->packets = 1;
	slot->bytes = max_t(u32, frame->len, ETH_ZLEN);
	irqmod_tx_sent(&q->queue, slot->bytes);
	tx_commit(ring, first, last, used);
	irqmod_tx_queued(&q->queue, room - used, TX_RESERVE);
	return true;
}

/* Frees the packet that begins in a slot. */
static void tx_release(struct irqmod_queue *queue, struct i82574_tx_ring *ring,
		       struct i82574_tx_slot *slot)
{
	if (likely(slot->kind == TX_SKB))
		irqmod_tx_free(queue, slot->skb);
	else
		xdp_return_frame(slot->frame);
}

/* With interrupts disabled no page may return to its pool. In a handler those of XDP's
 * frames would (of the scheme before; the timer frees them); under netpoll a packet's,
 * too, as it frees at once what others queue for a softirq (zap_completion_queue()).
 */
static bool tx_waits(const struct i82574_tx_slot *slot)
{
	if (slot->kind == TX_SKB)
		return slot->skb->pp_recycle && !in_hardirq();
	return slot->kind > TX_SKB;
}

unsigned int i82574_tx_reclaim(struct irqmod_queue *queue)
{
	struct i82574_tx_ring *ring = &to_i82574(queue)->tx;
	bool off = irqs_disabled();
	/* Acquire: pairs with tx_commit(). */
	u32 filled = smp_load_acquire(&ring->filled), done = ring->done;
	unsigned int i = ring->dirty, packets = 0, frames = 0, bytes = 0;

	while (done != filled) {
		struct i82574_tx_slot *slot = &ring->slot[i];
		unsigned int slots = slot->slots, last = i + slots - 1;

		if (last >= ring->count)
			last -= ring->count;
		if (!(READ_ONCE(ring->desc[last].options) & cpu_to_le32(TXD_DD)))
			break;
		if (unlikely(off) && tx_waits(slot))
			break;
		/* The chip has read the packet: see all that it wrote before. */
		dma_rmb();
		packets++;
		frames += slot->packets;
		bytes += slot->bytes;
		done += slots;
		if (slot->kind != TX_COPIED) {
			tx_release(queue, ring, slot);
			while (tx_unmap(ring, &ring->slot[i]), --slots)
				i = i82574_next(i, ring->count);
		}
		i = i82574_next(i, ring->count);
	}
	if (!packets)
		return 0;
	ring->dirty = i;
	/* Release: pairs with tx_room(): the slots may be reused. */
	smp_store_release(&ring->done, done);
	irqmod_tx_completed(queue, packets, bytes);

	u64_stats_update_begin(&queue->tx_stats.syncp);
	u64_stats_add(&queue->tx_stats.packets, frames);
	u64_stats_add(&queue->tx_stats.bytes, bytes);
	u64_stats_update_end(&queue->tx_stats.syncp);
	return packets;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * XDP: a program sees each frame in its page before there is an sk_buff. Frames that it
 * sends, and those that other devices redirect to us, go to the transmit ring of a
 * queue, under its lock, together with the stack's packets. Only in schemes that take
 * frames in softirq; others hand all frames to the stack.
 */
#include <linux/bpf_trace.h>
#include <linux/filter.h>

#include "i82574.h"

/* A short frame: its page stays where it is. */
static bool xdp_send_copy(struct i82574_queue *q, const struct xdp_buff *xdp)
{
	bool sent;

	__netif_tx_lock(q->queue.txq, smp_processor_id());
	txq_trans_cond_update(q->queue.txq);
	sent = i82574_tx_data(q, xdp->data, xdp->data_end - xdp->data);
	__netif_tx_unlock(q->queue.txq);
	return sent;
}

static bool xdp_send(struct i82574_queue *q, struct xdp_buff *xdp)
{
	struct xdp_frame *frame = xdp_convert_buff_to_frame(xdp);
	struct page *page = virt_to_page(xdp->data);
	dma_addr_t dma = page_pool_get_dma_addr(page) +
			 (xdp->data - page_address(page));
	bool sent;

	if (unlikely(!frame))
		return false;
	dma_sync_single_for_device(&q->nic->pdev->dev, dma, frame->len,
				   DMA_BIDIRECTIONAL);
	__netif_tx_lock(q->queue.txq, smp_processor_id());
	txq_trans_cond_update(q->queue.txq);
	sent = i82574_tx_frame(q, frame, dma, TX_XDP_OWN);
	__netif_tx_unlock(q->queue.txq);
	return sent;
}

/**
 * i82574_xdp_run() - runs the program on a frame
 * @q: the queue
 * @slot: the frame's slot
 * @prog: the program
 * @at: where the frame begins in its page; the program may move it
 * @len: its bytes; the same
 * @did: gets what i82574_xdp_flush() has to do
 *
 * Return: true if the frame is not for the stack. Its page is then another one's, or on
 * the ring still.
 */
bool i82574_xdp_run(struct i82574_queue *q, struct i82574_rx_slot *slot,
		    struct bpf_prog *prog, unsigned int *at, unsigned int *len,
		    unsigned int *did)
{
	struct i82574_rx_ring *ring = &q->rx;
	struct net_device *netdev = q->queue.netdev;
	struct page *page = slot->page;
	struct xdp_buff xdp;
	bool taken = false;
	u32 act;

	xdp_init_buff(&xdp, PAGE_SIZE, &ring->xdp);
	xdp_prepare_buff(&xdp, page_address(page), *at, *len, true);
	act = bpf_prog_run_xdp(prog, &xdp);
	switch (act) {
	case XDP_PASS:
		*at = xdp.data - page_address(page);
		*len = xdp.data_end - xdp.data;
		return false;
	case XDP_TX:
		if (xdp.data_end - xdp.data <= TX_COPYBREAK) {
			if (!xdp_send_copy(q, &xdp))
				break;
			*did |= XDP_DID_SEND;
			return true;
		}
		taken = i82574_rx_page_take(ring, slot);
		if (taken && xdp_send(q, &xdp)) {
			*did |= XDP_DID_SEND;
			return true;
		}
		break;
	case XDP_REDIRECT:
		taken = i82574_rx_page_take(ring, slot);
		if (taken && !xdp_do_redirect(netdev, &xdp, prog)) {
			*did |= XDP_DID_REDIRECT;
			return true;
		}
		break;
	case XDP_DROP:
		return true;
	default:
		bpf_warn_invalid_xdp_action(netdev, prog, act);
		fallthrough;
	case XDP_ABORTED:
		break;
	}
	trace_xdp_exception(netdev, prog, act);
	if (taken)
		page_pool_put_full_page(ring->pool, page, true);
	return true;
}

/* The end of a pass. */
void i82574_xdp_flush(struct i82574_queue *q, unsigned int did)
{
	if (did & XDP_DID_REDIRECT)
		xdp_do_flush();
	if (!(did & XDP_DID_SEND))
		return;
	__netif_tx_lock(q->queue.txq, smp_processor_id());
	if (READ_ONCE(q->queue.up))
		i82574_tx_kick(q);
	__netif_tx_unlock(q->queue.txq);
}

static bool xdp_xmit_one(struct i82574_queue *q, struct xdp_frame *frame)
{
	struct device *dev = &q->nic->pdev->dev;
	dma_addr_t dma;

	if (frame->len <= TX_COPYBREAK) {
		if (unlikely(!i82574_tx_data(q, frame->data, frame->len)))
			return false;
		xdp_return_frame_rx_napi(frame);
		return true;
	}
	dma = dma_map_single(dev, frame->data, frame->len, DMA_TO_DEVICE);
	if (unlikely(dma_mapping_error(dev, dma)))
		return false;
	if (likely(i82574_tx_frame(q, frame, dma, TX_XDP)))
		return true;
	dma_unmap_single(dev, dma, frame->len, DMA_TO_DEVICE);
	return false;
}

/* ndo_xdp_xmit: frames that another device redirects to us; returns how many were sent. */
int i82574_xdp_xmit(struct net_device *netdev, int n, struct xdp_frame **frames,
		    u32 flags)
{
	struct i82574 *nic = i82574_of(netdev);
	unsigned int cpu = smp_processor_id();
	struct i82574_queue *q = &nic->queue[cpu % netdev->real_num_tx_queues];
	int sent;

	if (unlikely(flags & ~XDP_XMIT_FLAGS_MASK))
		return -EINVAL;
	if (unlikely(!netif_carrier_ok(netdev) || !READ_ONCE(q->queue.up)))
		return -ENETDOWN;
	__netif_tx_lock(q->queue.txq, cpu);
	txq_trans_cond_update(q->queue.txq);
	for (sent = 0; sent < n; sent++)
		if (!xdp_xmit_one(q, frames[sent]))
			break;
	if (sent && flags & XDP_XMIT_FLUSH)
		i82574_tx_kick(q);
	__netif_tx_unlock(q->queue.txq);
	return sent;
}

static int xdp_set(struct net_device *netdev, struct bpf_prog *prog,
		   struct netlink_ext_ack *extack)
{
	struct i82574 *nic = i82574_of(netdev);
	struct bpf_prog *old = rtnl_dereference(nic->xdp_prog);
	int err;

	if (prog && netdev->mtu + FRAME_OVERHEAD > RX_BUFFER_BYTES) {
		NL_SET_ERR_MSG_MOD(extack, "MTU above 3050: a frame must fit into one buffer");
		return -EOPNOTSUPP;
	}
	/* Pages for XDP are mapped in both directions. */
	if (!prog == !old) {
		rcu_assign_pointer(nic->xdp_prog, prog);
	} else {
		err = i82574_change_rings(nic, nic->rx_count, nic->tx_count,
					  prog, netdev->mtu);
		if (err) {
			NL_SET_ERR_MSG_MOD(extack, "no memory for other buffers");
			return err;
		}
	}
	if (old)
		bpf_prog_put(old);
	return 0;
}

int i82574_xdp(struct net_device *netdev, struct netdev_bpf *bpf)
{
	if (bpf->command != XDP_SETUP_PROG)
		return -EINVAL;
	return xdp_set(netdev, bpf->prog, bpf->extack);
}

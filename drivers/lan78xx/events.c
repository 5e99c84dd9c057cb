// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that needs process context: stalls, the PHY, filters. An event sets its
 * bit in any context. The work clears a bit before it handles the event, so no
 * event is lost.
 */
#include <linux/slab.h>

#include "lan78xx.h"
#include "../compat.h"

#define LATER	(HZ / 50 + 1)

/* Handle the event at once; any context. */
void lan78xx_event(struct lan78xx *np, enum lan78xx_event event)
{
	/* What the event is about comes before it: pairs with lan78xx_take(). */
	smp_mb__before_atomic();
	set_bit(event, &np->events);
	mod_delayed_work(system_percpu_wq, &np->event_work, 0);
}

/* Retry later, after a failure. */
void lan78xx_event_later(struct lan78xx *np, enum lan78xx_event event)
{
	set_bit(event, &np->events);
	schedule_delayed_work(&np->event_work, LATER);
}

static bool lan78xx_gone(int err)
{
	return err == -ENODEV || err == -ESHUTDOWN || err == -EHOSTUNREACH;
}

static bool lan78xx_take(struct lan78xx *np, enum lan78xx_event event)
{
	return test_and_clear_bit(event, &np->events);
}

static void lan78xx_int_submit(struct lan78xx *np)
{
	int err;

	*np->int_status = 0;
	err = usb_submit_urb(np->int_urb, GFP_ATOMIC);
	if (err && err != -EPERM && !lan78xx_gone(err))
		lan78xx_event_later(np, EVENT_INT_SUBMIT);
}

static void lan78xx_int_complete(struct urb *urb)
{
	struct lan78xx *np = urb->context;

	switch (urb->status) {
	case 0:
		if (urb->actual_length >= sizeof(*np->int_status) &&
		    le32_to_cpu(*np->int_status) & INT_PHY)
			lan78xx_event(np, EVENT_PHY);
		break;
	case -ENOENT:
	case -ECONNRESET:
	case -ESHUTDOWN:
	case -ENODEV:
		return;
	case -EPIPE:
		lan78xx_event(np, EVENT_INT_HALT);
		return;
	default:
		lan78xx_event_later(np, EVENT_INT_SUBMIT);
		return;
	}
	lan78xx_int_submit(np);
}

int lan78xx_int_alloc(struct lan78xx *np)
{
	struct usb_host_endpoint *ep = &np->intf->cur_altsetting->endpoint[2];
	unsigned int pipe, bytes;

	if (!usb_endpoint_is_int_in(&ep->desc))
		return -ENODEV;
	pipe = usb_rcvintpipe(np->udev, usb_endpoint_num(&ep->desc));
	bytes = usb_maxpacket(np->udev, pipe);
	if (bytes < sizeof(*np->int_status))
		return -ENODEV;
	np->int_status = kzalloc(bytes, GFP_KERNEL);
	np->int_urb = usb_alloc_urb(0, GFP_KERNEL);
	if (!np->int_status || !np->int_urb) {
		lan78xx_int_free(np);
		return -ENOMEM;
	}
	usb_fill_int_urb(np->int_urb, np->udev, pipe, np->int_status, bytes,
			 lan78xx_int_complete, np, ep->desc.bInterval);
	usb_poison_urb(np->int_urb);	/* until lan78xx_events_start() */
	return 0;
}

void lan78xx_int_free(struct lan78xx *np)
{
	usb_free_urb(np->int_urb);
	kfree(np->int_status);
}

/* Clears a halted endpoint; none of our URBs is queued on it. False: retry. */
static bool lan78xx_clear_halt(struct lan78xx *np, unsigned int pipe,
			       enum lan78xx_event event)
{
	int err = usb_clear_halt(np->udev, pipe);

	if (err && !lan78xx_gone(err))
		lan78xx_event_later(np, event);
	return !err;
}

static void lan78xx_events_work(struct work_struct *work)
{
	struct lan78xx *np = container_of(work, struct lan78xx,
					  event_work.work);
	bool cleared;

	if (lan78xx_take(np, EVENT_RX_HALT)) {
		lan78xx_rx_stop(np);
		cleared = lan78xx_clear_halt(np, usb_rcvbulkpipe(np->udev,
								 EP_BULK_IN),
					     EVENT_RX_HALT);
		lan78xx_rx_start(np, !cleared);
	}
	if (lan78xx_take(np, EVENT_TX_HALT)) {
		lan78xx_tx_stop(np);
		lan78xx_clear_halt(np, usb_sndbulkpipe(np->udev, EP_BULK_OUT),
				   EVENT_TX_HALT);
		lan78xx_tx_start(np);
	}
	if (lan78xx_take(np, EVENT_TX_FLUSH))
		lan78xx_tx_flush(np);
	if (lan78xx_take(np, EVENT_INT_HALT)) {
		usb_poison_urb(np->int_urb);
		cleared = lan78xx_clear_halt(np, np->int_urb->pipe,
					     EVENT_INT_HALT);
		usb_unpoison_urb(np->int_urb);
		if (cleared)
			lan78xx_int_submit(np);
	}
	if (lan78xx_take(np, EVENT_INT_SUBMIT))
		lan78xx_int_submit(np);
	if (lan78xx_take(np, EVENT_RX_FILL))
		lan78xx_rx_fill(np);
	if (lan78xx_take(np, EVENT_PHY))
		lan78xx_phy_event(np);
	if (lan78xx_take(np, EVENT_BURST))
		lan78xx_set_burst(np);
	if (lan78xx_take(np, EVENT_FILTER)) {
		int err = lan78xx_apply_filter(np);

		if (err && !lan78xx_gone(err))
			lan78xx_event_later(np, EVENT_FILTER);
	}
}

void lan78xx_events_init(struct lan78xx *np)
{
	INIT_DELAYED_WORK(&np->event_work, lan78xx_events_work);
}

void lan78xx_events_start(struct lan78xx *np)
{
	usb_unpoison_urb(np->int_urb);
	lan78xx_int_submit(np);
}

/* Called when the receive and transmit URBs are poisoned, before they are freed. */
void lan78xx_events_forget_urbs(struct lan78xx *np)
{
	cancel_delayed_work_sync(&np->event_work);
	clear_bit(EVENT_RX_HALT, &np->events);
	clear_bit(EVENT_TX_HALT, &np->events);
	clear_bit(EVENT_TX_FLUSH, &np->events);
	clear_bit(EVENT_RX_FILL, &np->events);
	if (np->events)
		schedule_delayed_work(&np->event_work, 0);
}

/* Called after the transfers and the PHY have been stopped. */
void lan78xx_events_stop(struct lan78xx *np)
{
	usb_poison_urb(np->int_urb);
	cancel_delayed_work_sync(&np->event_work);
	np->events = 0;
}

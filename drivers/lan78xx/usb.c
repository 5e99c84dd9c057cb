// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register access over endpoint 0. The USB core's functions copy to and from
 * DMA-able memory and reject short replies. Transient failures are retried.
 */
#include <linux/delay.h>
#include <linux/module.h>

#include "lan78xx.h"

IRQMOD_PARAMETER(fail_control, bool, 0644,
		 "For tests: control transfers fail while this is set (default N)");

#define TRIES		3
#define WAIT_QUICK	10	/* reads without a delay */
#define WAIT_TRIES	100	/* further reads, 1 ms apart */

static bool lan78xx_transient(int err)
{
	switch (err) {
	case -EPIPE:		/* stall */
	case -EREMOTEIO:	/* short */
	case -EOVERFLOW:	/* babble */
	case -EILSEQ:
	case -EPROTO:
	case -ETIME:
		return true;
	default:
		return false;
	}
}

static int lan78xx_request(struct lan78xx *np, u8 request, u16 index, void *data, u16 bytes)
{
	const u8 type = USB_TYPE_VENDOR | USB_RECIP_DEVICE;
	int i, err = -EIO;

	if (irqmod_instrument(READ_ONCE(fail_control), false))
		return err;
	for (i = 0; i < TRIES; i++) {
		if (request == REQUEST_WRITE)
			err = usb_control_msg_send(np->udev, 0, request, USB_DIR_OUT | type, 0,
						   index, data, bytes, USB_CTRL_SET_TIMEOUT,
						   GFP_NOIO);
		else
			err = usb_control_msg_recv(np->udev, 0, request, USB_DIR_IN | type, 0,
						   index, data, bytes, USB_CTRL_GET_TIMEOUT,
						   GFP_NOIO);
		if (!lan78xx_transient(err))
			break;
	}
	if (err)
		netdev_dbg(np->netdev, "request %#x of %#x: %d\n", request, index, err);
	return err;
}

int lan78xx_read(struct lan78xx *np, u32 reg, u32 *value)
{
	__le32 word;
	int err;

	err = lan78xx_request(np, REQUEST_READ, reg, &word, sizeof(word));
	if (!err)
		*value = le32_to_cpu(word);
	return err;
}

int lan78xx_write(struct lan78xx *np, u32 reg, u32 value)
{
	__le32 word = cpu_to_le32(value);

	return lan78xx_request(np, REQUEST_WRITE, reg, &word, sizeof(word));
}

/* Sets the bits in @mask to those of @value. */
int lan78xx_update(struct lan78xx *np, u32 reg, u32 mask, u32 value)
{
	u32 now;
	int err;

	err = lan78xx_read(np, reg, &now);
	if (err)
		return err;
	return lan78xx_write(np, reg, (now & ~mask) | (value & mask));
}

int lan78xx_set_all(struct lan78xx *np, const struct lan78xx_setting *settings,
		    unsigned int count)
{
	int err = 0;

	for (; !err && count--; settings++)
		err = settings->mask == ~0 ?
		      lan78xx_write(np, settings->reg, settings->value) :
		      lan78xx_update(np, settings->reg, settings->mask, settings->value);
	return err;
}

/* Waits until the bits in @mask equal @value. */
int lan78xx_wait(struct lan78xx *np, u32 reg, u32 mask, u32 value)
{
	u32 now;
	int i, err;

	for (i = 0; i < WAIT_QUICK + WAIT_TRIES; i++) {
		err = lan78xx_read(np, reg, &now);
		if (err)
			return err;
		if ((now & mask) == value)
			return 0;
		if (i >= WAIT_QUICK)
			usleep_range(1000, 1500);
	}
	return -ETIMEDOUT;
}

int lan78xx_read_stats(struct lan78xx *np, __le32 *counters)
{
	return lan78xx_request(np, REQUEST_STATS, 0, counters,
			       LAN78XX_COUNTERS * sizeof(*counters));
}

// SPDX-License-Identifier: GPL-2.0-only
/* Numbers of URBs and sizes of their transfers, by the bus's speed and the measures. */
#include "lan78xx.h"
#include "../compat.h"

/* A URB can hold the longest frame. The pause levels are those of the kernel's
 * driver; there it has none for full speed.
 */
static const struct lan78xx_speed lan78xx_full_speed = {
	.pool = {
		.rx_bytes = 10 * 1024, .tx_bytes = 10 * 1024,
		.rx_urbs = 10, .tx_urbs = 4,
	},
	.no_pool = {
		.rx_bytes = 12 * 1024, .tx_bytes = TX_CMD_BYTES + FRAME_MAX,
		.rx_urbs = 4, .tx_urbs = 4,
	},
	.pause_on = 8704, .pause_off = 1024,
};

static const struct lan78xx_speed lan78xx_high_speed = {
	.pool = {
		.rx_bytes = 16 * 1024, .tx_bytes = 16 * 1024,
		.rx_urbs = 10, .tx_urbs = 10,
	},
	.no_pool = {
		.rx_bytes = 12 * 1024, .tx_bytes = TX_CMD_BYTES + FRAME_MAX,
		.rx_urbs = 7, .tx_urbs = 59,
	},
	.pause_on = 8704, .pause_off = 1024,
};

static const struct lan78xx_speed lan78xx_super_speed = {
	.pool = {
		.rx_bytes = 32 * 1024, .tx_bytes = 32 * 1024,
		.rx_urbs = 30, .tx_urbs = 10,
	},
	.no_pool = {
		.rx_bytes = 12 * 1024, .tx_bytes = TX_CMD_BYTES + FRAME_MAX,
		.rx_urbs = 4, .tx_urbs = 4,
	},
	.pause_on = 9216, .pause_off = 4096,
};

/* NULL: not a speed of these chips. */
const struct lan78xx_speed *lan78xx_speed_of(const struct usb_device *udev)
{
	switch (udev->speed) {
	case USB_SPEED_FULL:
		return &lan78xx_full_speed;
	case USB_SPEED_HIGH:
		return &lan78xx_high_speed;
	case USB_SPEED_SUPER:
	case USB_SPEED_SUPER_PLUS:
		return &lan78xx_super_speed;
	default:
		return NULL;
	}
}

/* netif_set_tso_max_size() only lowers gso_max_size. If it is at the limit, we raise
 * it with the limit; if ip link has set it to less, it stays. RTNL, or not yet
 * registered.
 */
static void lan78xx_set_tso_size(struct net_device *netdev, unsigned int size)
{
	unsigned int *sizes[] = irqmod_gso_sizes(netdev);
	unsigned int i, before = netdev->tso_max_size;

	netif_set_tso_max_size(netdev, size);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		/* sk_setup_caps() reads it without a lock. */
		if (*sizes[i] == before && size > before)
			WRITE_ONCE(*sizes[i], size);
}

/* Called with the transfers stopped. */
void lan78xx_set_sizes(struct lan78xx *np)
{
	bool rx = lan78xx_has(np, rx_pool), tx = lan78xx_has(np, tx_pool);
	const struct lan78xx_sizes *from;

	from = rx ? &np->speed->pool : &np->speed->no_pool;
	np->sizes.rx_bytes = from->rx_bytes;
	np->sizes.rx_urbs = from->rx_urbs;
	from = tx ? &np->speed->pool : &np->speed->no_pool;
	np->sizes.tx_bytes = from->tx_bytes;
	np->sizes.tx_urbs = from->tx_urbs;
	lan78xx_set_tso_size(np->netdev, tx ? from->tx_bytes - TX_CMD_BYTES :
				      MTU_MAX - MAX_HEADER);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The rings of all queues: for an interface that comes up, and in exchange for others. */
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "i82574.h"

static void rings_free(struct i82574 *nic, struct i82574_rings *rings)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		i82574_rx_free(&nic->queue[i], &rings[i].rx);
		i82574_tx_free(&nic->queue[i], &rings[i].tx);
	}
}

static int rings_alloc(struct i82574 *nic, struct i82574_rings *rings,
		       unsigned int rx_count, unsigned int tx_count, bool xdp)
{
	unsigned int i;
	int err = 0;

	memset(rings, 0, QUEUES * sizeof(*rings));
	for (i = 0; !err && i < QUEUES; i++)
		err = i82574_rx_alloc(&nic->queue[i], &rings[i].rx, rx_count, xdp) ?:
		      i82574_tx_alloc(&nic->queue[i], &rings[i].tx, tx_count);
	if (err)
		rings_free(nic, rings);
	return err;
}

/* The queues get these rings, and the caller theirs. */
static void rings_exchange(struct i82574 *nic, struct i82574_rings *rings)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		swap(nic->queue[i].rx, rings[i].rx);
		swap(nic->queue[i].tx, rings[i].tx);
	}
}

/**
 * i82574_change_rings() - other rings, another program, another MTU
 * @nic: the NIC
 * @rx_count: descriptors of each receive ring
 * @tx_count: and of each transmit ring
 * @prog: the XDP program; NULL: none
 * @mtu: the MTU
 *
 * Without memory nothing changes, and nothing stops. If the chip does not restart, what
 * was asked for is set all the same, and the restart is tried once more.
 *
 * Context: process, under RTNL. Sleeps.
 * Return: 0 or -ENOMEM.
 */
int i82574_change_rings(struct i82574 *nic, unsigned int rx_count,
			unsigned int tx_count, struct bpf_prog *prog,
			unsigned int mtu)
{
	struct i82574_rings *rings = NULL;
	bool up = netif_running(nic->port.netdev), running = nic->running;
	int err;

	if (up) {
		rings = kcalloc(QUEUES, sizeof(*rings), GFP_KERNEL);
		if (!rings)
			return -ENOMEM;
		err = rings_alloc(nic, rings, rx_count, tx_count, prog);
		if (err) {
			kfree(rings);
			return err;
		}
		i82574_down(&nic->port);
		rings_exchange(nic, rings);
		rings_free(nic, rings);
		kfree(rings);
	}
	nic->rx_count = rx_count;
	nic->tx_count = tx_count;
	rcu_assign_pointer(nic->xdp_prog, prog);
	WRITE_ONCE(nic->port.netdev->mtu, mtu);
	if (!up)
		irqmod_set_rings(&nic->port, rx_count, tx_count);
	if (running && i82574_up(&nic->port))
		irqmod_reset(&nic->port);
	return 0;
}

/* RTNL */
int i82574_queues_open(struct i82574 *nic)
{
	struct i82574_rings *rings = kcalloc(QUEUES, sizeof(*rings), GFP_KERNEL);
	int err;

	if (!rings)
		return -ENOMEM;
	err = rings_alloc(nic, rings, nic->rx_count, nic->tx_count,
			  rtnl_dereference(nic->xdp_prog));
	if (!err)
		rings_exchange(nic, rings);
	kfree(rings);
	return err;
}

void i82574_queues_close(struct i82574 *nic)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		i82574_rx_free(&nic->queue[i], &nic->queue[i].rx);
		i82574_tx_free(&nic->queue[i], &nic->queue[i].tx);
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * RTL8139C+: wake-up by link, magic packet, and frames to us, to all and to groups.
 * The chip's bits are set all the time; PME# is enabled by the PCI core, if the
 * device may wake the machine, while that sleeps (device_set_wakeup_enable()).
 */
#include "rtl8139cp.h"

/* RTNL */
void cp_wake_write(struct irqmod_port *port)
{
	struct cp *cp = cp_of_port(port);
	u8 config3, config5;

	config3 = readb(cp->regs + CP_CONFIG3) &
		  ~(CP_CONFIG3_MAGIC | CP_CONFIG3_LINKUP);
	if (port->wol & WAKE_MAGIC)
		config3 |= CP_CONFIG3_MAGIC;
	if (port->wol & WAKE_PHY)
		config3 |= CP_CONFIG3_LINKUP;

	config5 = readb(cp->regs + CP_CONFIG5) &
		  ~(CP_CONFIG5_BWF | CP_CONFIG5_MWF | CP_CONFIG5_UWF);
	if (port->wol & WAKE_BCAST)
		config5 |= CP_CONFIG5_BWF;
	if (port->wol & WAKE_MCAST)
		config5 |= CP_CONFIG5_MWF;
	if (port->wol & WAKE_UCAST)
		config5 |= CP_CONFIG5_UWF;

	cp_hw_unlock(cp);
	writeb(config3, cp->regs + CP_CONFIG3);
	writeb(config5, cp->regs + CP_CONFIG5);
	cp_hw_lock(cp);
}

/* A reset makes the chip forget what it receives. */
void cp_sleep(struct irqmod_port *port)
{
	if (!port->wol)
		return;
	cp_hw_accept(cp_of_port(port));
	cp_wake_write(port);
}

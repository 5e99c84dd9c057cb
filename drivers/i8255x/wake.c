// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wake-up by magic packet, 82558 and later. The chip looks for the packet while it
 * is in a low-power state; the PCI core enables PME# if the device may wake the
 * machine (device_set_wakeup_enable()).
 */
#include "i8255x.h"

/* At the probe: as the EEPROM says. */
void i8255x_wake_init(struct i8255x *np)
{
	struct irqmod_port *port = &np->port;

	if (np->chip >= I82558 && device_can_wakeup(&np->pdev->dev))
		port->wol_supported = WAKE_MAGIC;
	if (irqmod_eeprom_word(&np->eeprom, EEPROM_ID) & EEPROM_ID_WAKE)
		port->wol = port->wol_supported;
	device_set_wakeup_enable(&np->pdev->dev, port->wol);
	pci_pme_active(np->pdev, false);
}

/* A reset makes the chip forget address and configuration. */
void i8255x_sleep(struct irqmod_port *port)
{
	struct i8255x *np = i8255x_of(port);
	struct i8255x_cb *cb = &np->shared->block.cb;
	int err;

	if (!port->wol)
		return;
	err = i8255x_hw_reset(np);
	if (!err) {
		memcpy(cb->address, np->netdev->dev_addr, ETH_ALEN);
		err = i8255x_execute(np, CB_IA_SETUP);
	}
	if (!err) {
		i8255x_config(np, cb->config);
		cb->config[19] &= ~CONFIG19_NO_MAGIC;
		err = i8255x_execute(np, CB_CONFIGURE);
	}
	if (err)
		netdev_warn(np->netdev, "will not wake the machine: %pe\n",
			    ERR_PTR(err));
}

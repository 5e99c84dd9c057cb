// SPDX-License-Identifier: GPL-2.0-only
/* The NVM, 64 words, through EERD (10.2.2.4). ethtool sees its bytes. */
#include <linux/io.h>
#include <linux/iopoll.h>

#include "i82574.h"

#define NVM_WAIT_US	(10 * USEC_PER_MSEC)

/* RTNL, or the probe. */
int i82574_nvm_read(struct i82574 *nic, unsigned int word, u16 *value)
{
	u32 answer;

	i82574_write(nic, EERD, EE_START | word << EE_ADDRESS_SHIFT);
	if (read_poll_timeout(i82574_read, answer, answer & EE_DONE, 10,
			      NVM_WAIT_US, false, nic, EERD))
		return -EIO;
	*value = answer >> EE_DATA_SHIFT;
	return 0;
}

/**
 * i82574_nvm_check() - whether the NVM can be trusted
 * @nic: the NIC
 *
 * Return: 0; -EIO if it does not answer; -EAGAIN if its checksum is wrong.
 */
int i82574_nvm_check(struct i82574 *nic)
{
	u16 value, sum = 0;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < NVM_WORDS; i++) {
		err = i82574_nvm_read(nic, i, &value);
		sum += value;
	}
	return err ?: sum == NVM_SUM ? 0 : -EAGAIN;
}

int i82574_get_eeprom_len(struct net_device *netdev)
{
	return 2 * NVM_WORDS;
}

int i82574_get_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom,
		      u8 *bytes)
{
	struct i82574 *nic = i82574_of(netdev);
	unsigned int i;
	u16 value = 0;
	int err = 0;

	eeprom->magic = nic->pdev->vendor | (u32)nic->pdev->device << 16;
	for (i = eeprom->offset; !err && i < eeprom->offset + eeprom->len; i++) {
		err = i82574_nvm_read(nic, i / 2, &value);
		*bytes++ = i & 1 ? value >> 8 : value;
	}
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The NVM, 64 words, through EERD and EEWR (10.2.2.4). ethtool sees its bytes. */
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include "i82574.h"

#define NVM_WAIT_US	(100 * USEC_PER_MSEC)	/* a write, too */

static int nvm_access(struct i82574 *nic, u32 reg, unsigned int word, u16 *value)
{
	u32 command = EE_START | word << EE_ADDRESS_SHIFT, answer;

	if (reg == EEWR)
		command |= (u32)*value << EE_DATA_SHIFT;
	i82574_write(nic, reg, command);
	if (read_poll_timeout(i82574_read, answer, answer & EE_DONE, 10,
			      NVM_WAIT_US, false, nic, reg))
		return -EIO;
	if (reg == EERD)
		*value = answer >> EE_DATA_SHIFT;
	return 0;
}

/* Process context. */
int i82574_nvm_read(struct i82574 *nic, unsigned int word, u16 *value)
{
	int err;

	mutex_lock(&nic->nvm_lock);
	err = nvm_access(nic, EERD, word, value);
	mutex_unlock(&nic->nvm_lock);
	return err;
}

static int nvm_read_all(struct i82574 *nic, u16 *words, u16 *sum)
{
	unsigned int i;
	int err = 0;

	for (*sum = 0, i = 0; !err && i < NVM_WORDS; i++) {
		err = nvm_access(nic, EERD, i, &words[i]);
		*sum += words[i];
	}
	return err;
}

/**
 * i82574_nvm_check() - whether the NVM can be trusted
 * @nic: the NIC
 *
 * Return: 0; -EIO if it does not answer; -EAGAIN if its checksum is wrong.
 */
int i82574_nvm_check(struct i82574 *nic)
{
	u16 words[NVM_WORDS], sum;
	int err;

	mutex_lock(&nic->nvm_lock);
	err = nvm_read_all(nic, words, &sum);
	mutex_unlock(&nic->nvm_lock);
	return err ?: sum == NVM_SUM ? 0 : -EAGAIN;
}

int i82574_get_eeprom_len(struct net_device *netdev)
{
	return 2 * NVM_WORDS;
}

/* e1000e's, so that its tools work. */
static u32 nvm_magic(const struct i82574 *nic)
{
	return nic->pdev->vendor | (u32)nic->pdev->device << 16;
}

int i82574_get_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom,
		      u8 *bytes)
{
	struct i82574 *nic = i82574_of(netdev);
	unsigned int i;
	u16 value = 0;
	int err = 0;

	eeprom->magic = nvm_magic(nic);
	for (i = eeprom->offset; !err && i < eeprom->offset + eeprom->len; i++) {
		err = i82574_nvm_read(nic, i / 2, &value);
		*bytes++ = i & 1 ? value >> 8 : value;
	}
	return err;
}

/* Writes the words that change, and the checksum. */
static int nvm_put(struct i82574 *nic, const u16 *old, u16 *words)
{
	unsigned int i;
	u16 sum = 0;
	int err = 0;

	for (i = 0; i < NVM_SUM_AT; i++)
		sum += words[i];
	words[NVM_SUM_AT] = NVM_SUM - sum;
	for (i = 0; !err && i < NVM_WORDS; i++)
		if (words[i] != old[i])
			err = nvm_access(nic, EEWR, i, &words[i]);
	return err;
}

/* Not if it is flash memory, which is written in another way. */
int i82574_set_eeprom(struct net_device *netdev, struct ethtool_eeprom *eeprom,
		      u8 *bytes)
{
	struct i82574 *nic = i82574_of(netdev);
	u16 old[NVM_WORDS], words[NVM_WORDS], sum;
	unsigned int i, at;
	int err;

	if (eeprom->magic != nvm_magic(nic))
		return -EFAULT;
	if ((i82574_read(nic, EEC) & EEC_FLASH) == EEC_FLASH)
		return -EOPNOTSUPP;
	mutex_lock(&nic->nvm_lock);
	err = nvm_read_all(nic, old, &sum);
	memcpy(words, old, sizeof(words));
	for (i = 0; i < eeprom->len; i++) {
		at = eeprom->offset + i;
		words[at / 2] &= at & 1 ? 0x00ff : 0xff00;
		words[at / 2] |= at & 1 ? bytes[i] << 8 : bytes[i];
	}
	if (!err)
		err = nvm_put(nic, old, words);
	mutex_unlock(&nic->nvm_lock);
	return err;
}

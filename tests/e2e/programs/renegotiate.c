// SPDX-License-Identifier: GPL-2.0-or-later
/* Has the PHY of eth0 negotiate anew, by writes of its registers: only 10 Mbit/s is advertised. */
#include <linux/if.h>
#include <linux/mii.h>
#include <linux/sockios.h>
#include <sys/syscall.h>

static long call(long number, long a, long b, long c)
{
	long result;

	asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
	struct ifreq request = { .ifr_name = "eth0" };
	struct mii_ioctl_data *mii = (struct mii_ioctl_data *)&request.ifr_ifru;
	long socket = call(SYS_socket, AF_INET, SOCK_DGRAM, 0);
	long failed = call(SYS_ioctl, socket, SIOCGMIIPHY, (long)&request);

	mii->reg_num = MII_ADVERTISE;
	mii->val_in = ADVERTISE_CSMA | ADVERTISE_10HALF | ADVERTISE_10FULL;
	failed |= call(SYS_ioctl, socket, SIOCSMIIREG, (long)&request);
	mii->reg_num = MII_BMCR;
	mii->val_in = BMCR_ANENABLE | BMCR_ANRESTART;
	failed |= call(SYS_ioctl, socket, SIOCSMIIREG, (long)&request);
	call(SYS_exit, failed != 0, 0, 0);
}

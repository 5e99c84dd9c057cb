// SPDX-License-Identifier: GPL-2.0-or-later
/* A packet socket that nobody reads. One IP packet in EVERY, chosen at random, is queued on it until its buffer is full. */
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <sys/syscall.h>

#define AF_PACKET	17
#define SOCK_RAW	3
#define SOL_SOCKET	1
#define SO_ATTACH_FILTER 26

static long call(long number, long a, long b, long c, long d, long e)
{
	register long r10 asm("r10") = d, r8 asm("r8") = e;
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
		     : "rcx", "r11", "memory");
	return result;
}

void _start(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)SKF_AD_OFF + SKF_AD_RANDOM),
		BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, EVERY),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };
	long socket = call(SYS_socket, AF_PACKET, SOCK_RAW, __builtin_bswap16(ETH_P_IP), 0, 0);

	if (socket < 0 || call(SYS_setsockopt, socket, SOL_SOCKET, SO_ATTACH_FILTER, (long)&program, sizeof(program)))
		call(SYS_exit, 1, 0, 0, 0, 0);
	for (;;)
		call(SYS_pause, 0, 0, 0, 0, 0);
}

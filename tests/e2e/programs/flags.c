// SPDX-License-Identifier: GPL-2.0-or-later
/* RFLAGS after a CMPXCHG16B that is preceded, in the same translated block, by an addition of a large number. */
static void say(unsigned long x)
{
	char text[17];
	for (int i = 0; i < 16; i++)
		text[i] = "0123456789abcdef"[x >> (60 - 4 * i) & 15];
	text[16] = '\n';
	asm volatile("syscall" :: "a"(1), "D"(1), "S"(text), "d"(17) : "rcx", "r11", "memory");
}

void _start(void)
{
	static unsigned long pair[2] __attribute__((aligned(16)));
	unsigned long flags, number = 0x123456780fffff00;
	asm volatile("pushf\n popf\n"		/* the block ends, and with it what QEMU puts off */
		     "add %[n], %[n]\n"
		     "xor %%eax, %%eax\n xor %%edx, %%edx\n xor %%ebx, %%ebx\n xor %%ecx, %%ecx\n"
		     "add %[n], %[n]\n"
		     "lock cmpxchg16b (%[p])\n"
		     "pushf\n pop %[f]"
		     : [f] "=&r"(flags), [n] "+&r"(number) : [p] "r"(pair) : "rax", "rbx", "rcx", "rdx", "cc", "memory");
	say(flags);
	asm volatile("syscall" :: "a"(60), "D"(0));
}

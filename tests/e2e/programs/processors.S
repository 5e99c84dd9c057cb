/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A BIOS that measures with the time-stamp counter, which is virtual time in ns, and prints hexadecimal numbers to port 0xe9: a loop;
 * the loop while a second processor executes it, too; the second processor's time; 1,000 round trips of a number between them; ten ticks
 * of a timer, waited for with HLT, while the second processor executes the loop; its time; twenty ticks; the time at the end. With one
 * processor only the loop, the ticks (and 0), and the time at the end.
 */
.set BASE, 0x7c00
.set AP, 0x8000
.set STATE, 0x9000	/* 1: the second processor is there; 2: it is to begin */
.set DONE, 0x9004
.set ITS_TIME, 0x9008
.set PING, 0x900c
.set PONG, 0x9010
.set TICKS, 0x9014
.set IPI, 0xfee00300	/* the local APIC's interrupt command */
.code16
start:
	cli
	xor %ax, %ax
	mov %ax, %ds
	mov %ax, %ss
	mov $0x7000, %sp
	/* FS reaches 4 GB from now on, also in real mode. */
	lgdt gdtr - start + BASE
	mov %cr0, %eax
	or $1, %al
	mov %eax, %cr0
	mov $8, %bx
	mov %bx, %fs
	and $0xfe, %al
	mov %eax, %cr0
	mov $(ap - start + BASE), %si
	mov $AP, %di
	xor %ax, %ax
	mov %ax, %es
	mov $(ap_end - ap), %cx
	cld
	rep movsb
	movl $0, STATE
	movl $0, DONE
	movl $0, ITS_TIME
	movl $0, PING
	movl $0, PONG
	call measured
	call print
	/* INIT to all others, a while, and the start-up interrupt. */
	movl $IPI, %ebx
	movl $0x000c4500, %fs:(%ebx)
	movl $200000, %ecx
1:	decl %ecx
	jnz 1b
	movl $(0x000c4600 | AP >> 12), %fs:(%ebx)
	movl $100000, %ecx
2:	cmpl $1, STATE
	je 3f
	decl %ecx
	jnz 2b
	jmp ticks
3:	movl $2, STATE
	call measured
	call print
4:	cmpl $1, DONE
	jne 4b
	mov ITS_TIME, %eax
	call print
	rdtsc
	mov %eax, %esi
	mov $1000, %ecx
	xor %edx, %edx
5:	inc %edx
	mov %edx, PING
6:	cmp %edx, PONG
	jne 6b
	decl %ecx
	jnz 5b
	rdtsc
	sub %esi, %eax
	call print
	/* Ten ticks of the PIT at 1 kHz, halted in between, while the second processor executes the loop; the local APIC passes them on. */
ticks:
	movl $0xfee000f0, %ebx
	movl $0x1ff, %fs:(%ebx)
	movl $0xfee00350, %ebx
	movl $0x700, %fs:(%ebx)
	movw $(tick - start + BASE), 8 * 4
	movw $0, 8 * 4 + 2
	mov $0x11, %al
	out %al, $0x20
	mov $8, %al
	out %al, $0x21
	mov $4, %al
	out %al, $0x21
	mov $1, %al
	out %al, $0x21
	mov $0xfe, %al
	out %al, $0x21
	mov $0x34, %al
	out %al, $0x43
	mov $(1193 & 0xff), %al
	out %al, $0x40
	mov $(1193 >> 8), %al
	out %al, $0x40
	movl $0, TICKS
	rdtsc
	mov %eax, %esi
	movl $3, STATE
	sti
8:	hlt
	cmpl $10, TICKS
	jb 8b
	cli
	rdtsc
	sub %esi, %eax
	call print
	mov ITS_TIME, %eax
	call print
	sti
9:	hlt
	cmpl $20, TICKS
	jb 9b
	cli
	rdtsc
	sub %esi, %eax
	call print
end:	rdtsc
	call print
	mov $0xf4, %dx
	out %al, %dx
7:	hlt
	jmp 7b

measured:
	rdtsc
	mov %eax, %esi
	movl $1000000, %ecx
1:	decl %ecx
	jnz 1b
	rdtsc
	sub %esi, %eax
	ret

print:	mov $8, %cx
1:	rol $4, %eax
	push %ax
	and $15, %al
	add $'0', %al
	cmp $'9', %al
	jbe 2f
	add $('A' - '9' - 1), %al
2:	out %al, $0xe9
	pop %ax
	loop 1b
	mov $'\n', %al
	out %al, $0xe9
	ret

ap:	cli
	xor %ax, %ax
	mov %ax, %ds
	movl $1, STATE
1:	cmpl $2, STATE
	jne 1b
	rdtsc
	mov %eax, %esi
	movl $1000000, %ecx
2:	decl %ecx
	jnz 2b
	rdtsc
	sub %esi, %eax
	mov %eax, ITS_TIME
	movl $1, DONE
	xor %ebx, %ebx
	mov $1000, %ecx
3:	inc %ebx
4:	cmp %ebx, PING
	jne 4b
	mov %ebx, PONG
	decl %ecx
	jnz 3b
6:	cmpl $3, STATE
	jne 6b
	rdtsc
	mov %eax, %esi
	movl $1000000, %ecx
7:	decl %ecx
	jnz 7b
	rdtsc
	sub %esi, %eax
	mov %eax, ITS_TIME
5:	hlt
	jmp 5b
ap_end:
tick:	incl TICKS
	push %ax
	mov $0x20, %al
	out %al, $0x20
	pop %ax
	iret

.p2align 3
gdt:	.quad 0
	.quad 0x00cf92000000ffff
gdtr:	.word 15
	.long gdt - start + BASE
code_end:

.org 0xff00
	xor %ax, %ax
	mov %ax, %es
	mov $0xf000, %ax
	mov %ax, %ds
	xor %si, %si
	mov $BASE, %di
	mov $(code_end - start), %cx
	cld
	rep movsb
	ljmp $0, $BASE
.org 0xfff0
	ljmp $0xf000, $0xff00
.org 0xffff
	.byte 0

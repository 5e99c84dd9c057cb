#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# load: 2x everywhere
# may log: ^(NOHZ tick-stop error: local softirq work is pending|IRQ fixup: irq \d+ move in progress)
# long
# Under traffic the processor that takes the interrupts goes offline, and comes back. The others take over; afterwards hosts
# answer. The messages are the kernel's own: docs/use/findings.md.
. "${0%/*}/tap.sh"

ONLINE=/sys/devices/system/cpu/cpu1/online
TIMES=20

# Numbers of the interfaces' interrupts; that of USB is the controller's.
numbers() { sed -n "s/^ *\([0-9]*\):.* \($IF0\|$IF1\|xhci[-_]hcd\).*/\1/p" /proc/interrupts; }

# to_processor_1: all of them.
to_processor_1() { for number in $(numbers); do echo 2 >"/proc/irq/$number/smp_affinity" || return; done; }

# Interrupts that processor 1 has taken.
taken() { awk -v names="$IF0|$IF1|xhci[-_]hcd" '$0 ~ names { taken += $3 } END { print taken + 0 }' /proc/interrupts; }

has_taken() { [ "$(taken)" -gt "$1" ] || { echo "$(taken), as before"; return 1; }; }

goes_and_comes()
{
	for _ in $(seq $TIMES); do
		to_processor_1 || return
		usleep 200000
		echo 0 >$ONLINE || return
		usleep 50000
		echo 1 >$ONLINE || return
	done
}

if [ ! -e $ONLINE ]; then
	skip "hotplug" "the DUT has one processor"
	done_testing
	exit
fi

before=$(taken)
check "a processor goes offline and comes back $TIMES times" goes_and_comes
check "it has taken interrupts" has_taken "$before"
for peer in $PEER0 $PEER1; do check "$peer answers" reaches "$peer"; done
done_testing

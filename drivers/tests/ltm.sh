#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# loads: usbmon
# What the driver writes to the chip of the latency that it tolerates. The model's memories are blank: nothing is tolerated.
. "${0%/*}/tap.sh"
only_for irqmod_lan78xx

ip link set "$IF0" down
cat /sys/kernel/debug/usb/usbmon/0u >/tmp/usbmon &
watching=$!
usleep 200000
ip link set "$IF0" up
check "a host answers" reaches "$PEER0"
kill $watching
for register in 00e0 00e4 00e8 00ec 00f0 00f4; do
	check "register $register is written" grep -q " s 40 a0 0000 $register 0004 4 = 00000000" /tmp/usbmon
done
done_testing

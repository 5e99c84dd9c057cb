#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# loads: irqlab_pci_error
# A PCI error stops the interface and a reset brings it back, with its settings: up, down, under traffic and after a suspend.
# A function that is lost can be removed, and found again if it answers after all.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_i82574 irqmod_rtl8139cp
only_with_reset
function=$(device "$IF0")
was=$(address "$IF0")
rings=$(ring "$IF0" RX)
# error STEP: one of drivers/pci_error.
error() { alone sh -c "echo $function >/sys/module/irqlab_pci_error/parameters/$1"; }
mask() { register "$IF0" 3 1; } # of interrupt causes

for state in up down; do
	ip link set "$IF0" $state
	[ "$DRIVER/$state" != irqmod_i8255x/down ] || masked=$(mask)
	check "$state: a fatal error" error freeze
	fails "$state: ... no host answers" ping -c 1 -W 1 "$PEER0"
	[ $state = up ] || fails "$state: ... the interface cannot be brought up" ip link set "$IF0" up
	[ $state = down ] || check "$state: ... it can be brought down" ip link set "$IF0" down
	check "$state: ... another fatal error" error freeze
	check "$state: recovered" error recover
	[ -z "$masked" ] || check "$state: ... causes are masked" same "$(mask)" "$masked"
	check "$state: ... brought up" ip link set "$IF0" up
	check "$state: ... a host answers" reaches "$PEER0"
	check "$state: ... the rings are as before" same "$(ring "$IF0" RX)" "$rings"
done

ping -q -c 1000 -i 0.002 "$PEER0" >/dev/null 2>&1 &
for i in 1 2 3 4 5; do
	check "$i: a fatal error under traffic" error freeze
	usleep 20000
	check "$i: ... recovered" error recover
	check "$i: ... a host answers" reaches "$PEER0"
done
wait

# A suspend uses the configuration that the driver saved.
echo devices >/sys/power/pm_test
echo 0 >/sys/module/suspend/parameters/pm_test_delay
check "suspend and resume" sh -c "echo mem >/sys/power/state"
check "a fatal error after that" error freeze
check "... recovered" error recover
check "... a host answers" reaches "$PEER0"

# The administrator resets the function before the recovery does: the driver starts, and is started again.
check "a fatal error" error freeze
printf '\007\000' | dd of="/sys/bus/pci/devices/$function/config" bs=1 seek=4 conv=notrunc 2>/dev/null # it answers after all
check "... reset by sysfs" alone sh -c "echo 1 >/sys/bus/pci/devices/$function/reset"
check "... a host answers" reaches "$PEER0"
check "... recovered" error recover
check "... a host answers again" reaches "$PEER0"

check "lost" error fail
fails "... no host answers" ping -c 1 -W 1 "$PEER0"
check "... removed from the bus" sh -c "echo 1 >/sys/bus/pci/devices/$function/remove"
check "... the bus is rescanned" rescan
check "... the interface has its address again" ip addr add "$was" dev "$IF0"
check "... brought up" ip link set "$IF0" up
check "... a host answers" reaches "$PEER0"
done_testing

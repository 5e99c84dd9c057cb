#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# load: 2x
# for: every combination
# long
# At twice the capacity of the combination, interfaces are unbound from the driver and bound again; then a device is removed
# from the PCI bus and rediscovered.
. "${0%/*}/tap.sh"

driver() { readlink -f "/sys/class/net/$1/device/driver"; }
gone() { [ ! -e "/sys/class/net/$1" ]; }

# back INTERFACE ADDRESS: configures the interface as before.
back()
{
	schemes "$1" "$RX" "$TX" && ip addr add "$2" dev "$1" && ip link set "$1" up
}

for i in $IF1 $IF0; do
	was=$(address "$i") device=$(device "$i") driver=$(driver "$i")
	check "$RX/$TX: $i: unbind" sh -c "echo $device >$driver/unbind"
	check "$RX/$TX: $i is gone" gone "$i"
	check "$RX/$TX: $i: bind" sh -c "echo $device >$driver/bind"
	check "$RX/$TX: $i is back" back "$i" "$was"
	frames_arrive "$RX/$TX: frames arrive after $i was unbound"
done

if [ -e "/sys/class/net/$IF1/device/remove" ]; then
	was=$(address "$IF1") device=$(device "$IF1")
	check "$RX/$TX: $IF1: removed from the bus" sh -c "echo 1 >/sys/bus/pci/devices/$device/remove"
	check "$RX/$TX: $IF1 is gone" gone "$IF1"
	check "$RX/$TX: the bus is rescanned" rescan
	check "$RX/$TX: $IF1 is back" back "$IF1" "$was"
	frames_arrive "$RX/$TX: frames arrive after $IF1 was removed"
fi
reaches_loaded "$RX/$TX: a host answers" "$PEER1"
done_testing

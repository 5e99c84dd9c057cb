#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ethtool shows the registers, up and down, also under traffic.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_rtl8139cp

case $DRIVER in
irqmod_i8255x) size=716 ;; # the SCB, 29 registers of the PHY, 596 bytes that the chip dumps
*) size=256 ;;
esac
length() { ethtool -d "$1" raw on | wc -c; }
# The receive mode: bit 0 of byte 15 of the configuration, of RCR.
promiscuous()
{
	case $DRIVER in
	irqmod_i8255x) value=0x$(register "$1" $((120 + 15)) 1) ;;
	*) value=0x$(register "$1" 68 1) ;;
	esac
	echo $((value & 1))
}

for i in $IF0 $IF1; do
	check "$i: all registers" same "$(length "$i")" $size
done
# QEMU's model does not dump.
if [ "$DRIVER/$TIMED" != irqmod_i8255x/0 ]; then
	check "the receive mode" same "$(promiscuous "$IF0")" 0
	ip link set "$IF0" promisc on
	check "... promiscuous" same "$(promiscuous "$IF0")" 1
	ip link set "$IF0" promisc off
	check "... and no longer" same "$(promiscuous "$IF0")" 0
fi
ping -c 2000 -i 0.001 -s 1000 "$PEER0" >/tmp/ping 2>&1 &
for _ in 1 2 3 4 5 6 7 8 9 10; do length "$IF0" >/dev/null; done
wait
check "no frame is lost meanwhile" grep -q "2000 packets received" /tmp/ping
ip link set "$IF0" down
check "registers of an interface that is down" same "$(length "$IF0")" $size
ip link set "$IF0" up
check "a host answers" reaches "$PEER0"
done_testing

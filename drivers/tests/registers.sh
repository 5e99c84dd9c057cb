#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ethtool shows the registers, up and down, also under traffic, and while something else reads the PHY.
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

# What may say where a frame was lost.
losses()
{
	grep . "/sys/class/net/$IF0/statistics/"*_errors "/sys/class/net/$IF0/statistics/"*_dropped
	ethtool -S "$IF0"
	grep -h "^Ip:\|^Icmp:" /proc/net/snmp
	cat /proc/net/raw
}
lossless()
{
	losses >/tmp/after
	grep -q " $count packets received" /tmp/ping && return
	tail -n 3 /tmp/ping
	diff /tmp/before /tmp/after
	return 1
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
# On a slow host ping itself may not run for so long that replies do not fit into its socket.
count=2000 interval=0.001
[ "$PATIENCE" -le 2 ] || count=200 interval=0.01
losses >/tmp/before
ping -c $count -i $interval -s 1000 "$PEER0" >/tmp/ping 2>&1 &
for _ in 1 2 3 4 5 6 7 8 9 10; do length "$IF0" >/dev/null; done
wait
check "no frame is lost meanwhile" lossless
ip link set "$IF0" down
check "registers of an interface that is down" same "$(length "$IF0")" $size
ip link set "$IF0" up
check "a host answers" reaches "$PEER0"
# The work that looks at the link, which `ethtool -r` starts, reads the PHY while its registers are dumped: 28 to 17, which do
# not change.
if [ "$DRIVER" = irqmod_i8255x ]; then
	phy() { register "$IF0" 4 48; }
	looks() { while [ -e /tmp/looks ]; do ethtool -r "$IF0"; done; }
	unchanged()
	{
		touch /tmp/looks
		looks & looks & looks &
		dumps=100
		while [ $dumps -gt 0 ] && same "$(phy)" "$before"; do dumps=$((dumps - 1)); done
		rm /tmp/looks
		wait
		return $dumps
	}
	before=$(phy)
	check "the PHY's registers do not change while the link is looked at" unchanged
	check "a host answers" reaches "$PEER0"
fi
done_testing

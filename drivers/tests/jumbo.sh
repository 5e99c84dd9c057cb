#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: wire
# An MTU above 1500: large frames pass in both directions, copied and in their buffers, with other rings, and the MTU goes back.
. "${0%/*}/tap.sh"

there() { ip netns exec peer "$@"; }
largest=$(ip -d link show "$IF0" | sed -n 's/.*maxmtu \([0-9]*\).*/\1/p')
if [ "$largest" -le 1500 ]; then
	skip "${0##*/}" "the largest MTU is $largest"
	done_testing
	exit
fi
mtu() { ip link set "$IF0" mtu "$1" && there ip link set "$IF1" mtu "$1"; }
ip netns add peer
ip link set "$IF1" netns peer
ip addr flush dev "$IF0"
ip addr add 192.0.2.1/24 dev "$IF0"
ip link set "$IF0" up
there ip addr add 192.0.2.2/24 dev "$IF1"
there ip link set "$IF1" up
check "the peer answers" reaches 192.0.2.2
case $DRIVER in irqmod_*) check "more than 4000 bytes are possible" test "$largest" -gt 4000 ;; esac
fails "more than that" ip link set "$IF0" mtu $((largest + 1))
# Frames above 4096 bytes trip the watchdog of the RTL8139C+. The tester's model of it cuts frames at 2 KB.
sizes="2000 4078"
[ "$largest" -ge 4078 ] || sizes=2000
[ "$largest" -ge 2000 ] || sizes=$largest
case $DRIVER/$TIMED in *8139cp/1) sizes=2000 ;; esac
for size in $sizes; do
	check "MTU $size" mtu "$size"
	check "... large frames pass" ping -q -c 20 -i 0.01 -s $((size - 28)) 192.0.2.2
	check "... and small ones" ping -q -c 20 -i 0.01 -s 20 192.0.2.2
	if [ "$DRIVER" = irqmod_rtl8139cp ]; then
		check "... other rings" ethtool -G "$IF0" rx 16 tx 40
		check "... large frames pass" ping -q -c 20 -i 0.01 -s $((size - 28)) 192.0.2.2
		check "... the rings of before" ethtool -G "$IF0" rx 64 tx 64
	fi
done
ip link set "$IF0" down
ip link set "$IF0" up
check "large frames pass after the interface was down" reaches 192.0.2.2
check "... of the full size" ping -q -c 5 -i 0.01 -s $((size - 28)) 192.0.2.2
check "MTU 1500" mtu 1500
check "... frames pass" ping -q -c 20 -i 0.01 -s 1472 192.0.2.2
done_testing

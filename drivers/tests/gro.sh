#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# needs: wire
# GRO merges the segments of a TCP connection while ethtool -K says so, whether or not the chip has verified their checksums: the
# stack then gets fewer packets than the interface.
. "${0%/*}/tap.sh"
only_for irqmod_i82574 irqmod_lan78xx irqmod_rtl8139cp

there() { ip netns exec peer "$@"; }
echo 0 >/proc/sys/net/ipv4/ip_forward
check "a namespace" ip netns add peer
check "$IF1 moves there" ip link set "$IF1" netns peer
ip addr flush dev "$IF0"
ip addr add 192.0.2.1/24 dev "$IF0"
there ip link set lo up
there ip addr add 192.0.2.2/24 dev "$IF1"
check "$IF1 comes up there" there ip link set "$IF1" up
check "it answers" reaches 192.0.2.2
iperf3 -s -D -I /tmp/iperf3.pid
usleep 500000

frames() { cat "/sys/class/net/$IF0/statistics/rx_packets"; }
packets() { awk '/^Ip: [0-9]/ { print $4 }' /proc/net/snmp; }
# merged: frames for each packet of the stack, in percent.
merged()
{
	frames=$(frames) packets=$(packets)
	there iperf3 -c 192.0.2.1 -t 1 >$SAID 2>&1 || { cat $SAID; return; }
	echo $(((($(frames) - frames) * 100) / ($(packets) - packets)))
}
# Segments stay in GRO between polls that follow each other.
echo 2 >"/sys/class/net/$IF0/napi_defer_hard_irqs"
echo 500000 >"/sys/class/net/$IF0/gro_flush_timeout"
for rx in napi dim; do
	among $rx "$RX_SCHEMES" || continue
	check "$rx" put "$IF0" rx_scheme $rx
	check "gro on" ethtool -K "$IF0" gro on
	share=$(merged)
	check "... merges: $share % frames" test "$share" -ge 150
	check "checksums off" ethtool -K "$IF0" rx off
	share=$(merged)
	check "... merges: $share % frames" test "$share" -ge 150
	check "checksums on" ethtool -K "$IF0" rx on
	check "gro off" ethtool -K "$IF0" gro off
	share=$(merged)
	check "... merges nothing: $share % frames" test "$share" -le 101
done
kill "$(cat /tmp/iperf3.pid)"
done_testing

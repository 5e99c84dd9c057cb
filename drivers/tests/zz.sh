#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# needs: wire
. "${0%/*}/tap.sh"
SECONDS_EACH=1
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
there iperf3 -s -D -I /tmp/iperf3.pid
usleep 500000
bandwidth() { iperf3 -c 192.0.2.2 -t $SECONDS_EACH -f m 2>&1 | tee $SAID | sed -n 's,.* \([0-9.]*\) Mbits/sec.*receiver.*,\1,p'; }
one()
{
	schemes "$IF0" napi "$1"
	there sh -c "echo off >$(file "$IF1" tx_scheme); echo napi >$(file "$IF1" rx_scheme); echo $1 >$(file "$IF1" tx_scheme)"
	ethtool -S $IF0 | grep -E "interrupts|reclaims|packets" | grep queue >/tmp/a
	echo "# $1: $(bandwidth)"
	ethtool -S $IF0 | grep -E "interrupts|reclaims|packets" | grep queue >/tmp/b
	diff /tmp/a /tmp/b | grep "^[<>]" | sed 's/^/# /'
}
one interrupt
check "100" ethtool -s "$IF0" advertise 0x008
check "... there, too" there ethtool -s "$IF1" advertise 0x008
sleep 4
ethtool $IF0 | grep Speed | sed 's/^/# /'
one interrupt
one off
one coalesce
done_testing

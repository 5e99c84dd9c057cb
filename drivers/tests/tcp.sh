#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# needs: wire
# long
# TCP between two namespaces, over the wire that connects the interfaces, in every combination. No transmit scheme may slow a
# local sender down: each reaches at least 0.9 times the bandwidth of the best one with the same receive scheme. At 1 Gbit/s the
# processor would be the limit, and the cheapest scheme the fastest: a gigabit NIC negotiates 100 Mbit/s.
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
if [ "$DRIVER" = irqmod_i82574 ]; then
	check "100 Mbit/s" ethtool -s "$IF0" advertise 0x008
	check "... there, too" there ethtool -s "$IF1" advertise 0x008
fi
check "it answers" reaches 192.0.2.2
there iperf3 -s -D -I /tmp/iperf3.pid
usleep 500000

# Mbit/s counted by the receiver.
bandwidth() { iperf3 -c 192.0.2.2 -t $SECONDS_EACH -f m 2>&1 | tee $SAID | sed -n 's,.* \([0-9.]*\) Mbits/sec.*receiver.*,\1,p'; }

for rx in $RX_SCHEMES; do
	measured=
	best=0
	for one in $COMBINATIONS; do
		tx=${one#*/}
		[ "${one%/*}" = "$rx" ] || continue
		schemes "$IF0" "$rx" "$tx"
		there sh -c "echo off >$(file "$IF1" tx_scheme); echo $rx >$(file "$IF1" rx_scheme); echo $tx >$(file "$IF1" tx_scheme)"
		mbps=$(bandwidth)
		if [ -n "$mbps" ]; then
			ok "$rx/$tx: $mbps Mbit/s"
		else
			not_ok "$rx/$tx: iperf3"
			sed 's/^/# /' $SAID
			mbps=0
		fi
		measured="$measured $tx:$mbps"
		best=$(awk "BEGIN { print ($mbps > $best) ? $mbps : $best }")
	done
	for one in $measured; do
		share=$(awk "BEGIN { printf \"%.2f\", ($best > 0) ? ${one#*:} / $best : 0 }")
		if awk "BEGIN { exit !($share >= 0.9) }"; then
			ok "$rx/${one%:*}: $share of the best"
		else
			not_ok "$rx/${one%:*}: $share of the best, $best Mbit/s"
		fi
	done
done
kill "$(cat /tmp/iperf3.pid)"
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# A single packet does not stay on the ring: with any combination of schemes, the driver soon reclaims all packets sent.
. "${0%/*}/tap.sh"

freed()
{
	ethtool -S "$1" | sed -n 's/^ *tx_reclaims_[a-z]*: //p' | { sum=0; while read -r x; do sum=$((sum + x)); done; echo $sum; }
}

# settled: a packet is sent, and everything that was sent is soon reclaimed.
settled()
{
	before_sent=$(cat "/sys/class/net/$IF0/statistics/tx_packets") before_freed=$(freed "$IF0")
	ping -c 1 -W 1 "$PEER0" >/dev/null
	usleep 20000
	sent=$(($(cat "/sys/class/net/$IF0/statistics/tx_packets") - before_sent)) freed=$(($(freed "$IF0") - before_freed))
	[ "$sent" -ge 1 ] && [ "$freed" = "$sent" ]
}

reaches "$PEER0"
for one in $COMBINATIONS; do
	schemes "$IF0" "${one%/*}" "${one#*/}"
	usleep 20000
	# Once with the instruction clock. A slow host may take longer than 20 ms for anything.
	tries=$((PATIENCE / 2))
	until settled || [ $tries -le 1 ]; do tries=$((tries - 1)); done
	if [ "$sent" -ge 1 ] && [ "$freed" = "$sent" ]; then
		ok "$one: $sent sent, $freed reclaimed"
	else
		not_ok "$one: $sent sent, $freed reclaimed"
	fi
done
done_testing

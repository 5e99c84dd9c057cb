#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# load: 2x
# for: every combination
# long
# Interfaces go down and up under twice the load the combination can take.
. "${0%/*}/tap.sh"

for cycle in 1 2 3 4 5; do
	for i in $IF0 $IF1; do
		check "$RX/$TX: $i down, $cycle" ip link set "$i" down
		check "$RX/$TX: $i up, $cycle" ip link set "$i" up
	done
	before=$(counter "$IF0" rx_packets)
	sleep 1
	after=$(counter "$IF0" rx_packets)
	if [ "$after" -gt "$before" ]; then ok "$RX/$TX: frames arrive, $cycle"; else not_ok "$RX/$TX: frames arrive, $cycle"; fi
done
done_testing

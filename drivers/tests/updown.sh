#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# load: 2x
# for: every combination
# long
# Interfaces go down and up at twice the capacity of the combination.
. "${0%/*}/tap.sh"

for cycle in 1 2 3; do
	for i in $IF0 $IF1; do
		check "$RX/$TX: $i down, $cycle" ip link set "$i" down
		check "$RX/$TX: $i up, $cycle" ip link set "$i" up
	done
	frames_arrive "$RX/$TX: frames arrive, $cycle"
done
done_testing

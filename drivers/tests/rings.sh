#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# load: 2x
# for: every combination
# long
# The ring sizes change at twice the capacity of the combination.
. "${0%/*}/tap.sh"

most=$(ring_max "$IF0" RX)
now=$(ring "$IF0" RX)
for i in $IF0 $IF1; do check "$RX/$TX: $i: tx-frames for the smallest ring" ethtool -C "$i" tx-frames 8; done
for size in $SMALL_RING "$most" $((2 * SMALL_RING)); do
	for i in $IF0 $IF1; do
		[ "$size" = "$now" ] || check "$RX/$TX: $i: rings of $size" ethtool -G "$i" rx "$size" tx "$size"
	done
	now=$size
	frames_arrive "$RX/$TX: frames arrive with rings of $size"
done
for i in $IF0 $IF1; do check "$RX/$TX: $i reports these rings" test "$(ring "$i" RX)/$(ring "$i" TX)" = "$now/$now"; done
done_testing

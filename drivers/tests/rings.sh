#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# load: 2x
# for: every combination
# long
# Rings change their sizes under twice the load the combination can take.
. "${0%/*}/tap.sh"

most=$(ring_max "$IF0" RX)
for i in $IF0 $IF1; do check "$RX/$TX: $i: tx-frames that fit the smallest ring" ethtool -C "$i" tx-frames 8; done
for size in 16 "$most" 32 $((most / 2)) 64; do
	for i in $IF0 $IF1; do
		[ "$(ring "$i" RX)" = "$size" ] && continue
		check "$RX/$TX: $i: rings of $size" ethtool -G "$i" rx "$size" tx "$size"
	done
	if [ "$(ring "$IF0" RX)/$(ring "$IF1" TX)" = "$size/$size" ]; then ok "... they are"; else not_ok "... they are"; fi
	before=$(counter "$IF0" rx_packets)
	sleep 1
	after=$(counter "$IF0" rx_packets)
	if [ "$after" -gt "$before" ]; then ok "$RX/$TX: frames arrive"; else not_ok "$RX/$TX: frames arrive"; fi
done
done_testing

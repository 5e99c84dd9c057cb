#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# load: 2x
# for: every combination
# long
# At twice the capacity of the combination, some allocations for received frames fail: these frames are dropped and counted,
# and the others are received.
. "${0%/*}/tap.sh"

FAIL=/sys/module/$ENGINE/parameters/fail_heads
more() { [ "$(counter "$IF0" rx_no_buffer)" -gt "$1" ]; }
same() { sleep 1; [ "$(counter "$IF0" rx_no_buffer)" = "$1" ] || { echo "$1 -> $(counter "$IF0" rx_no_buffer)"; return 1; }; }

for every in 3 1; do
	had=$(counter "$IF0" rx_no_buffer)
	check "$RX/$TX: allocations fail, one in $every" sh -c "echo $every >$FAIL"
	[ $every = 1 ] || frames_arrive "$RX/$TX: frames arrive"
	sleep 1
	check "$RX/$TX: drops are counted" more "$had"
	note "rx_no_buffer: $had, then $(counter "$IF0" rx_no_buffer)"
done
check "$RX/$TX: allocations succeed again" sh -c "echo 0 >$FAIL"
sleep 1
check "$RX/$TX: no more drops for lack of memory" same "$(counter "$IF0" rx_no_buffer)"
frames_arrive "$RX/$TX: frames arrive again"
reaches_loaded "$RX/$TX: a host answers" "$PEER1"
done_testing

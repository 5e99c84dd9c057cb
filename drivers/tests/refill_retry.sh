#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# load: 2x
# timer: while refills find no memory, the ring runs dry. Passes that find no frame then refill it; without them it stays dry.
. "${0%/*}/tap.sh"

FAIL=/sys/module/$ENGINE/parameters/fail_refills
if [ ! -e "$(file "$IF0" rx_timer_without)" ]; then
	skip "refills" "the device has no timer"
	done_testing
	exit
fi

received() { cat "/sys/class/net/$IF0/statistics/rx_packets"; }
# Nothing arrives in half a second.
still()
{
	usleep 200000
	before=$(received)
	usleep 500000
	same "$before" "$(received)"
}

for i in $IF0 $IF1; do schemes "$i" timer off; done
for refill in softirq poll half; do
	put "$IF0" rx_timer_refill $refill
	for without in nothing retry; do
		put "$IF0" rx_timer_without $without
		frames_arrive "$refill, without $without: frames arrive"
		echo 1 >"$FAIL"
		check "... no refill finds memory: the ring runs dry" still
		echo 0 >"$FAIL"
		if [ $without = retry ]; then
			check "... it stays dry, though there is memory again" still
		else
			frames_arrive "... frames arrive again"
		fi
	done
	put "$IF0" rx_timer_without nothing
done
put "$IF0" rx_timer_refill softirq
frames_arrive "the scheme started again: frames arrive"
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# timer, howto: while refills find no memory, the ring runs dry. Passes that find no frame then refill it; without them it stays dry.
. "${0%/*}/tap.sh"

FAIL=/sys/module/$ENGINE/parameters/fail_refills
if [ ! -e "$(file "$IF0" rx_timer_without)" ]; then
	skip "refills" "the device has no timer"
	done_testing
	exit
fi

# Each answer takes a descriptor, until there is none.
runs_dry()
{
	size=$(ring "$IF0" RX)
	left=$((2 * ${size:-64})) # USB: more than its transfers
	while [ $left -gt 0 ]; do
		left=$((left - 1))
		ping -c 1 -W $((PATIENCE / 2)) "$PEER0" >/dev/null 2>&1 || return 0
	done
	return 1
}

# No frame is received. `fails reaches` would take minutes where hosts have much time to answer.
dry() { ! ping -q -c 3 -W $((PATIENCE / 2)) "$PEER0"; }

for i in $IF0 $IF1; do schemes "$i" timer off; done
ethtool -G "$IF0" rx 64 2>/dev/null # fewer frames to run dry
for refill in softirq poll half; do
	put "$IF0" rx_timer_refill $refill
	for without in nothing retry; do
		put "$IF0" rx_timer_without $without
		check "$refill, without $without: a host answers" reaches "$PEER0"
		echo 1 >"$FAIL"
		check "... no refill finds memory: the ring runs dry" runs_dry
		check "... and stays so" dry
		echo 0 >"$FAIL"
		if [ $without = retry ]; then
			check "... though there is memory again" dry
		else
			check "... there is memory again: a host answers" reaches "$PEER0"
		fi
	done
	put "$IF0" rx_timer_without nothing
done
put "$IF0" rx_timer_refill softirq
check "the scheme started again: a host answers" reaches "$PEER0"

# howto: without memory a timer tries again, so that not one more frame is lost.
schemes "$IF0" howto off
check "howto: a host answers" reaches "$PEER0"
echo 1 >"$FAIL"
check "... no refill finds memory: the ring runs dry" runs_dry
echo 0 >"$FAIL"
sleep 1
check "... there is memory again: the first answer is received" ping -q -c 1 -W "$PATIENCE" "$PEER0"
done_testing

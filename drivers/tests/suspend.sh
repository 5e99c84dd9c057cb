#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# load: 2x
# for: every combination
# long
# The machine suspends at twice the capacity of the combination. With pm_test only the drivers suspend and resume, so no
# wake-up source is needed. QEMU's xHCI forgets its state: a USB device is reset when the machine resumes.
. "${0%/*}/tap.sh"

# up INTERFACE: it has a link, soon. phylib looks once a second, and sees it the second time. Under overload each process waits
# long: starts none.
up()
{
	tries=$((PATIENCE * 4))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		{ read -r carrier <"/sys/class/net/$1/carrier"; } 2>/dev/null && [ "$carrier" = 1 ] && return
		usleep 500000
	done
	echo "no link"
	return 1
}

suspended=$(cat /sys/power/suspend_stats/success)
echo devices >/sys/power/pm_test
echo 0 >/sys/module/suspend/parameters/pm_test_delay
for cycle in 1 2 3; do
	check "$RX/$TX: suspend and resume, $cycle" sh -c 'echo mem >/sys/power/state'
	for i in $IF0 $IF1; do check "$RX/$TX: $i is up, $cycle" up "$i"; done
	frames_arrive "$RX/$TX: frames arrive, $cycle"
done
ip link set "$IF1" down
check "$RX/$TX: suspend and resume with $IF1 down" sh -c 'echo mem >/sys/power/state'
check "$RX/$TX: $IF1 up" ip link set "$IF1" up
frames_arrive "$RX/$TX: frames arrive after that"
check "$RX/$TX: all suspends succeeded" test "$(cat /sys/power/suspend_stats/success)" = $((suspended + 4))
done_testing

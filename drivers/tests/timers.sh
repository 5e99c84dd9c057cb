#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# The scheme timer: interfaces with the same period poll at the same time, also if they were brought up at different times, or if
# the period has changed meanwhile.
. "${0%/*}/tap.sh"

if ! grep -q 'hres_active *: 1$' /proc/timer_list; then
	skip "they poll together" "timers expire with the tick: the kernel lacks CONFIG_HIGH_RES_TIMERS"
	done_testing
	exit
fi
case $DRIVER in
*lan78xx) tx=interrupt ;;
*) tx=off ;;
esac
# When the timers expire, in ns: a line for each.
expiries() { sed -n '/rx_timer_over/{n;s/.*expires at \([0-9]*\)-.*/\1/p}' /proc/timer_list; }
set -- "/sys/class/net/$IF0/queues/rx-"* "/sys/class/net/$IF1/queues/rx-"*
timers=$#
# polls_together: a timer whose function runs is not listed, and one may have expired between the two readings.
polls_together()
{
	tries=10
	while :; do
		# shellcheck disable=SC2046 # words
		set -- $(expiries)
		[ $# = "$timers" ] && break
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "$# timers: $*"; return 1; }
		usleep 1234
	done
	period_ns=$(($(coalesce "$IF0" rx-usecs) * 1000))
	for at in "$@"; do same $(((at - $1) % period_ns)) 0 || return; done
}

for i in $IF0 $IF1; do
	check "$i: timer" schemes "$i" timer $tx
	check "$i: down" ip link set "$i" down
done
for i in $IF0 $IF1; do
	check "$i: up" ip link set "$i" up
	usleep 12345
done
check "they poll together" polls_together
for usecs in 300 213; do
	for i in $IF0 $IF1; do
		check "$i: every $usecs us" ethtool -C "$i" rx-usecs $usecs
		usleep 12345
	done
	check "... together" polls_together
done
check "a host answers" reaches "$PEER0"
done_testing

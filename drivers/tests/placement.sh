#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: irqmod_loop
# may log: ^hrtimer: interrupt took
# The periodic timers of a scheme run where the queue's interrupts are taken, not where the process ran that chose the scheme: a
# device without hardware (../loop), whose two queues interrupt on the first two processors.
IF0=irqloop0
. "${0%/*}/tap.sh"
only_for irqmod_i8255x # what is tested is the engine; the chip's driver does nothing

TIMERS="ifpoll_tick|rx_timer_over|hybrid_window"
last=$(($(nproc) - 1))
if [ $last -lt 2 ]; then
	skip "placement" "needs 3 processors (--functional --cpus 4)"
	done_testing
	exit
fi
# The processors of the timers. One whose function runs is not listed.
places() { awk -v timers="$TIMERS" '/^cpu:/ { cpu = $2 } $0 ~ timers { print cpu }' /proc/timer_list | sort | tr '\n' ' '; }
placed()
{
	tries=20
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		found=$(places)
		[ "$found" != "0 1 " ] || return 0
		usleep 12345
	done
	echo "timers on $found"
	return 1
}

put $IF0 tx_scheme off
check "up" ip link set $IF0 up
usleep 100000
for rx in hybrid timer ifpoll; do
	among $rx "$RX_SCHEMES" || continue
	check "$rx: chosen on processor $last" taskset -c "$last" sh -c "echo $rx >$(file $IF0 rx_scheme)"
	check "... its timers are where the interrupts are" placed
	check "... down and up from there" taskset -c "$last" sh -c "ip link set $IF0 down; ip link set $IF0 up"
	check "... they are there again" placed
done
check "unload" rmmod irqmod_loop
done_testing

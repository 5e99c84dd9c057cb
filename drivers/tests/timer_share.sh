#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# load: 2x
# The scheme timer: timers of the same period expire together, and their passes share the kernel's backlog. The pass of an
# overloaded interface leaves room for the other's, whichever was started last.
. "${0%/*}/tap.sh"

BACKLOG=/proc/sys/net/core/netdev_max_backlog # its greatest length, in frames
FEW=8 # fewer than arrive in a period

case $DRIVER in
*lan78xx) tx=interrupt ;;
*) tx=off ;;
esac
for i in $IF0 $IF1; do check "$i: timer" schemes "$i" timer $tx; done
before=$(cat $BACKLOG)
check "a backlog of $FEW frames" sh -c "echo $FEW >$BACKLOG"
for last in $IF0 $IF1; do
	check "$last: down" ip link set "$last" down
	check "$last: up" ip link set "$last" up
	frames_arrive "... frames arrive"
	reaches_loaded "... a host answers on the other interface" "$PEER1"
done
check "the backlog as before" sh -c "echo $before >$BACKLOG"
done_testing

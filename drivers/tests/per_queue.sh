#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# ethtool --per-queue: what ethtool -C sets, for one of several queues.
. "${0%/*}/tap.sh"
only_for irqmod_i82574

# of QUEUE NAME: a setting of a queue.
of()
{
	ethtool --per-queue "$IF0" queue_mask "$((1 << $1))" --show-coalesce | sed -n "s/^$2:[[:space:]]*//p"
}
# one QUEUE NAME VALUE...: sets them.
one()
{
	queue=$1
	shift
	ethtool --per-queue "$IF0" queue_mask "$((1 << queue))" --coalesce "$@"
}
# interval QUEUE: what the chip has (EITR), in units of 256 ns, lowest byte first.
interval() { register "$IF0" $((140 + 16 * $1)) 4; }

check "a scheme with a period" schemes "$IF0" itr coalesce
usecs=$(coalesce "$IF0" rx-usecs)
check "the second queue waits longer" one 1 rx-usecs 200 tx-usecs 300 tx-frames 16
check "... it does" same "$(of 1 rx-usecs) $(of 1 tx-usecs) $(of 1 tx-frames)" "200 300 16"
check "... the first one does not" same "$(of 0 rx-usecs)" "$usecs"
check "the first queue" one 0 rx-usecs 100
check "... ethtool -c shows it" same "$(coalesce "$IF0" rx-usecs)" 100
check "... the second has its own still" same "$(of 1 rx-usecs)" 200
check "... the chip waits 390 and 781 units" same "$(interval 0) $(interval 1)" "86010000 0d030000"
for state in down up; do check "$state" ip link set "$IF0" $state; done
check "kept" same "$(of 0 rx-usecs) $(of 1 rx-usecs) $(of 1 tx-frames)" "100 200 16"
check "a host answers" reaches "$PEER0"
# ethtool says that these fail, but ends with 0.
refused() { one "$@" 2>&1 | grep -q "Cannot set"; }
check "too short is refused" refused 1 rx-usecs 9
check "no frame, too" refused 1 tx-frames 0
check "adaptive-rx, too: it is a setting of all" refused 1 adaptive-rx on
fails "there is no third queue" one 2 rx-usecs 50
check "... nothing has changed" same "$(of 0 rx-usecs) $(of 1 rx-usecs) $(of 1 tx-usecs) $(of 1 tx-frames)" "100 200 300 16"
check "ethtool -C" ethtool -C "$IF0" rx-usecs 150 tx-frames 8
check "... sets both" same "$(of 0 rx-usecs) $(of 1 rx-usecs) $(of 0 tx-frames) $(of 1 tx-frames)" "150 150 8 8"
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A queue that is not used any more: the kernel's watchdog, which looks at it, too, has nothing to say.
. "${0%/*}/tap.sh"
only_for irqmod_i82574

pass() { ping -c "$1" -W "$PATIENCE" "$PEER0"; }

check "frames pass" pass 1
check "one queue" ethtool -L "$IF0" combined 1
# A timeout is reported when a queue has been stopped for 5 s.
check "frames pass for longer than a timeout" pass 12
check "two queues" ethtool -L "$IF0" combined 2
check "frames pass with both" pass 1
done_testing

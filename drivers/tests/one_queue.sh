#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A queue that is not used any more: the kernel's watchdog, which looks at it, too, has nothing to say.
. "${0%/*}/tap.sh"
only_for irqmod_i82574

pass() { ping -c "$1" -W "$PATIENCE" "$PEER0"; }
up()
{
	ip link set "$IF0" up
	tries=$((PATIENCE * 10))
	until ping -c 1 -W 1 "$PEER0" >/dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return
	done
}
one_while_down() { ip link set "$IF0" down && ethtool -L "$IF0" combined 1 && up; }
sent() { ethtool -S "$IF0" | sed -n 's/^ *queue1_tx_packets: //p'; }

check "frames pass" pass 1
check "one queue" ethtool -L "$IF0" combined 1
# A timeout is reported when a queue has been stopped for 5 s.
check "frames pass for longer than a timeout" pass 12
check "two queues" ethtool -L "$IF0" combined 2
check "one again, while it is down" one_while_down
check "frames pass for longer than a timeout" pass 12
ip link set "$IF0" down
check "up again" up
check "frames pass for longer than a timeout" pass 12
before=$(sent)
check "two queues" ethtool -L "$IF0" combined 2
for _ in $(seq 16); do pass 1 >/dev/null; done # the kernel chooses a queue for each socket
check "the second one sends again" test "$(sent)" -gt "$before"
done_testing

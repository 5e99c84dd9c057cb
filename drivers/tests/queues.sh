#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# loads: irqmod_loop
# may log: ^hrtimer: interrupt took
# Two queues of one port, with every combination of schemes: a device without hardware (../loop) receives on each queue what is
# sent there, and warns of everything that touches its rings after the stop. Its hardware runs in timers, one for each queue. When
# several are due, one after the other, they hold up the timers of the schemes. The kernel logs that, with the instruction clock too.
IF0=irqloop0
. "${0%/*}/tap.sh"
only_for irqmod_i8255x # what is tested is the engine; the chip's driver does nothing

QUEUES=2

statistics() { ethtool -S $IF0 >/tmp/queues.now; }

# moved COUNTER: it has grown for every queue since /tmp/queues.before.
moved()
{
	awk -v counter="$1:" -v queues="$QUEUES" '
		NR == FNR { before[$1] = $2; next }
		sub(/^ *queue[0-9]+_/, "") && $1 == counter {
			found++
			name = "queue" (found - 1) "_" $1
			if ($2 <= before[name]) { print name " stays at " before[name]; failed = 1 }
		}
		END { exit failed || found != queues }
	' /tmp/queues.before /tmp/queues.now
}

# grows COUNTER: the same, within PATIENCE.
grows()
{
	ethtool -S $IF0 >/tmp/queues.before
	tries=$((PATIENCE * 10))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		usleep 100000
		statistics
		moved "$1" >$SAID && return
	done
	cat $SAID
	return 1
}

# back: each frame that has been sent comes back.
back()
{
	echo Y >/sys/module/irqmod_loop/parameters/paused
	tries=$((PATIENCE * 10))
	left=1
	while [ "$left" -gt 0 ] && [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		usleep 100000
		statistics
		left=$(awk '
			match($1, /^queue[0-9]+_/) {
				queue = substr($1, 1, RLENGTH)
				name = substr($1, RLENGTH + 1)
				if (name == "sent:") way[queue] += $2
				if (name == "received:" || name == "cleared:") way[queue] -= $2
			}
			END { for (queue in way) if (way[queue] > 0) left += way[queue]; print left + 0 }
		' /tmp/queues.now)
	done
	echo N >/sys/module/irqmod_loop/parameters/paused
	[ "$left" = 0 ] || { echo "$left are missing"; return 1; }
}

# sums: each counter of the port is the sum of those of the queues.
sums()
{
	statistics
	awk '
		sub(/^ *queue[0-9]+_/, "") { if ($1 ~ /^[rt]x_/) sum[$1] += $2; next }
		{ port[$1] = $2 }
		END {
			for (name in sum) {
				file = "/sys/class/net/'$IF0'/statistics/" substr(name, 1, length(name) - 1)
				if (!(name in port)) getline port[name] <file
				if (sum[name] != port[name]) { print name " " port[name] ", not " sum[name]; failed = 1 }
			}
			exit failed
		}
	' /tmp/queues.now
}

# still: nothing is counted for 0.3 s, within PATIENCE. A sender counts its frame as sent until the interface has refused it, so a
# look at the wrong moment sees one more.
still()
{
	tries=$((PATIENCE * 3))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		statistics
		cp /tmp/queues.now /tmp/queues.before
		usleep 300000
		statistics
		cmp /tmp/queues.before /tmp/queues.now && return
	done
	diff /tmp/queues.before /tmp/queues.now
	return 1
}

check "up" ip link set $IF0 up
check "the queues have counters of their own" grows received
for rx in $RX_SCHEMES; do
	for tx in $TX_SCHEMES; do
		echo "$COMBINATIONS" | grep -qxF "$rx/$tx" || continue
		check "$rx/$tx" schemes $IF0 "$rx" "$tx"
		check "... frames of each queue arrive" grows received
		check "... and its packets are reclaimed" grows tx_packets
		check "... and none is lost, by the change of scheme neither" back
	done
	check "$rx: down" ip link set $IF0 down
	check "... nothing moves" still
	check "... and each counter is the sum of those of the queues" sums
	check "$rx: up" ip link set $IF0 up
	check "... frames of each queue arrive" grows received
done
# One queue is stopped, and the others go on; so do changes of the scheme.
STOP=/sys/module/irqmod_loop/parameters/stop_queue
# only_second: of the queues the second one receives.
only_second()
{
	ethtool -S $IF0 >/tmp/queues.before
	usleep 300000
	statistics
	! QUEUES=1 moved received && sed -i '/queue0_/d' /tmp/queues.before /tmp/queues.now &&
		sed -i 's/queue1_/queue0_/' /tmp/queues.before /tmp/queues.now && QUEUES=1 moved received
}
for rx in napi de hybrid timer; do
	among $rx "$RX_SCHEMES" || continue
	check "$rx" schemes $IF0 "$rx" interrupt
	check "... the first queue is stopped" sh -c "echo 0 >$STOP"
	check "... the second goes on" only_second
	check "... another scheme" put $IF0 rx_scheme napi
	check "... it does, too" only_second
	check "$rx again" put $IF0 rx_scheme "$rx"
	check "... the first queue is started" sh -c "echo -1 >$STOP"
	check "... both receive" grows received
done
check "stopped" sh -c "echo 0 >$STOP"
check "down and up" sh -c "ip link set $IF0 down; ip link set $IF0 up"
check "... both receive" grows received
check "unload" rmmod irqmod_loop
done_testing

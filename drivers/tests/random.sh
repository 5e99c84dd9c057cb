#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# load: 2x everywhere
# loads: netconsole
# may log: ^(printk: |netpoll: |netconsole: )
# may log: ^Microchip LAN88xx \S+ (Failed to (Set Register|get current page|write (TR (low|high) data|data in reg))|Link change process failed -19$)
# may log: ^NOHZ tick-stop error: local softirq work is pending
# long
# Changes at random, for each interface by a process of its own: schemes and their settings, rings, coalescing, the receive
# mode, the MTU, threaded NAPI, the link, the interface, the driver; the device is removed from the bus and found again. Meanwhile
# frames pass both ways, a socket polls the driver and echoes, netconsole sends, and counters are read. What fails
# because another process was faster is expected; afterwards hosts answer. The socket must have polled, and netconsole
# must have sent. The order of the changes is given by SEED. The kernel's PHY driver complains if the device goes away while it
# sets up the PHY.
. "${0%/*}/tap.sh"

RUNS=/tmp/random.runs
AWAY=/tmp/random.away
CONSOLE=/sys/kernel/config/netconsole/random
LASTS=${LASTS:-30} # seconds
SEED=${SEED:-1}

# pick N: a number below N in $picked.
pick()
{
	SEED=$(((SEED * 1103515245 + 12345) & 0x7fffffff))
	picked=$(((SEED >> 8) % $1))
}

# one_of WORD...: one of them in $word; fails if there is none, since the interface is away.
one_of()
{
	[ $# -gt 0 ] || return
	pick $#
	shift $picked
	word=$1
}

# change_scheme INTERFACE FILE
change_scheme()
{
	words=$(get "$1" "$2" | tr -d '[]')
	# shellcheck disable=SC2086 # several words
	one_of $words && put "$1" "$2" "$word"
}

# change_setting INTERFACE: any file of the engine; the schemes are among them.
change_setting()
{
	one_of "$(file "$1" "")"*
	name=${word##*/}
	value=$(get "$1" "$name")
	words=$(echo "$value" | tr -d '[]')
	# shellcheck disable=SC2086 # several words
	case $value in
	*\[*) one_of $words ;;
	"" | *[!0-9]*) return ;;
	*) one_of $((value / 2)) $((value * 2)) $((value + 1)) "$value" ;;
	esac
	put "$1" "$name" "$word"
}

# replug INTERFACE: disconnects all devices of its USB root hub, and waits until they are back, with the names that they had.
# (A single port can be disabled, too, but QEMU does not report the device when the port is enabled again.)
replug()
{
	first=$(device "$IF0")
	hub=$(basename "$(readlink -f "/sys/class/net/$1/device/../..")")
	echo "${hub#usb}-0:1.0" >/sys/bus/usb/drivers/hub/unbind
	echo "${hub#usb}-0:1.0" >/sys/bus/usb/drivers/hub/bind
	tries=$((PATIENCE * 10))
	while [ $tries -gt 0 ] && ! { [ -e "/sys/class/net/$IF0" ] && [ -e "/sys/class/net/$IF1" ]; }; do
		tries=$((tries - 1))
		usleep 100000
	done
	[ "$(device "$IF0")" = "$first" ] && return
	for i in $IF0 $IF1; do ip link set "$i" down; done
	ip link set "$IF0" name other && ip link set "$IF1" name "$IF0" && ip link set other name "$IF1"
}

# take_away INTERFACE: one at a time, so that its name stays the same.
take_away()
{
	mkdir $AWAY || return
	pick 3
	device=$(device "$1") driver=$(readlink -f "/sys/class/net/$1/device/driver")
	if [ $picked = 0 ] && [ -e "/sys/bus/pci/devices/$device/remove" ]; then
		others 0
		echo 1 >"/sys/bus/pci/devices/$device/remove"
		echo 1 >/sys/bus/pci/rescan
		others 1
	elif [ $picked = 0 ] && [ -e "/sys/bus/usb/devices/$device" ]; then
		replug "$1"
	else
		echo "$device" >"$driver/unbind"
		echo "$device" >"$driver/bind"
	fi
	rmdir $AWAY
}

# change INTERFACE ADDRESS
change()
{
	pick 24
	case $picked in
	0 | 1 | 2 | 3 | 4 | 5) change_scheme "$1" rx_scheme ;;
	6 | 7 | 8) change_scheme "$1" tx_scheme ;;
	9 | 10 | 11) change_setting "$1" ;;
	12) one_of 16 32 64 128 && ethtool -G "$1" rx "$word" tx "$word" ;;
	13) one_of 1 4 8 16 && ethtool -C "$1" tx-frames "$word" ;;
	14) one_of 50 250 1000 && ethtool -C "$1" tx-usecs "$word" ;;
	15) one_of 50 200 1000 && ethtool -C "$1" rx-usecs "$word" ;;
	16) one_of on off && ip link set "$1" promisc "$word" ;;
	17) one_of on off && ip link set "$1" allmulticast "$word" ;;
	18) one_of 600 1000 1500 && ip link set "$1" mtu "$word" ;;
	19) one_of 0 1 && echo "$word" >"/sys/class/net/$1/threaded" ;;
	20) one_of on off && ethtool -K "$1" gro "$word" ;;
	21) ethtool -r "$1" ;;
	22) ip link set "$1" down && ip link set "$1" up ;;
	23) take_away "$1" ;;
	esac
	ip addr replace "$2" dev "$1"
	ip link set "$1" up
}

# changes INTERFACE ADDRESS SEED
changes()
{
	SEED=$3 made=0
	while [ -e $RUNS ]; do
		change "$1" "$2"
		made=$((made + 1))
	done >/dev/null 2>&1
	echo $made >"$RUNS.$1"
}

read_counters()
{
	for i in $IF0 $IF1; do
		ip -s link show "$i"
		ethtool -S "$i"
		ethtool "$i"
		ethtool -d "$i"
	done
}

# Starts netconsole on $IF0 anew, which ends with its interface, and sends. Counts the messages for which it was on and $IF0 had a
# carrier.
log_to_network()
{
	rmdir $CONSOLE
	mkdir $CONSOLE || return
	echo "$IF0" >$CONSOLE/dev_name
	address "$IF0" | sed 's,/.*,,' >$CONSOLE/local_ip
	echo "$PEER0" >$CONSOLE/remote_ip
	echo "$MAC0" >$CONSOLE/remote_mac
	echo 1 >$CONSOLE/enabled || return
	for _ in 1 2 3 4 5 6 7 8; do
		echo "<6>random: a message for the network" >/dev/kmsg
		[ "$(cat $CONSOLE/enabled "/sys/class/net/$IF0/carrier")" = "1
1" ] && logged=$((logged + 1))
		usleep 50000
	done
}

# Frames that a process has polled.
polled()
{
	grep TcpExt: /proc/net/netstat | {
		read -r names
		read -r values
		# shellcheck disable=SC2086 # several words
		set -- $values
		for name in $names; do
			[ "$name" != BusyPollRxPackets ] || echo "$1"
			shift
		done
	}
}

again() { while [ -e $RUNS ]; do "$@"; done >/dev/null 2>&1; }
log()
{
	logged=0
	again log_to_network
	echo $logged >$RUNS.logged
}
some() { [ "$1" -gt 0 ]; }

# A socket without a peer polls only the NAPI from which its first datagram has come, and schemes make NAPIs anew: open it often.
receive() { timeout 1 irqlab-guest udp-receive --port 9 --echo --busy-poll 1000; }

mount -t configfs none /sys/kernel/config 2>/dev/null
dmesg -n 7
was0=$(address "$IF0") was1=$(address "$IF1")
: >$RUNS
changes "$IF0" "$was0" "$SEED" &
changes "$IF1" "$was1" $((SEED + 1)) &
again read_counters &
log &
again receive &
sleep "$LASTS"
rm $RUNS
wait
rmdir $CONSOLE 2>/dev/null
polled=$(polled) logged=$(cat $RUNS.logged)
note "$polled frames polled by a process, $logged messages by netconsole"
note "$(cat "$RUNS.$IF0") and $(cat "$RUNS.$IF1") changes"
[ "$LOADED" = 0 ] || check "a process has polled frames" some "$polled"
check "netconsole has sent" some "$logged"

for i in $IF0 $IF1; do
	[ "$i" = "$IF0" ] && was=$was0 || was=$was1
	put "$i" rx_weight 64
	ip link set "$i" mtu 1500
	ip addr replace "$was" dev "$i"
	check "$i is up" ip link set "$i" up
	check "$i: one pair of schemes" schemes "$i" napi interrupt
	echo 0 >"/sys/class/net/$i/threaded"
done
for peer in $PEER0 $PEER1; do check "$peer answers" reaches "$peer"; done
done_testing

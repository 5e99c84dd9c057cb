#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# needs: wire
# may log: ^xhci_hcd \S+ (ERROR Transfer event TRB DMA ptr not part of current TD|Looking for event-dma)
# may log: ^xhci_hcd \S+ (WARN Successful completion on short TX|bad transfer trb length \d+ in event trb)$
# long
# For USB: schemes and switches change under traffic between two namespaces, over the wire that connects the interfaces; jumbo
# frames and offloads; unsupported schemes are rejected; the device is unbound under traffic, and the machine suspends.
. "${0%/*}/tap.sh"

if [ ! -d "/sys/class/net/$IF0/irqmod_usb" ]; then
	skip "usb" "$DRIVER drives no USB device"
	done_testing
	exit
fi

MEASURES="tx_pool rx_pool tx_packing poll_resubmit overflow_queue adaptive_burst"
BOUND=/sys/bus/usb/drivers/$DRIVER
there() { ip netns exec peer "$@"; }
measure() { echo "/sys/class/net/$1/irqmod_usb/$2"; }
set_measure() { echo "$3" >"$(measure "$1" "$2")"; }
gso_sizes() { ip -d link show "$IF0" | grep -o 'gso[a-z0-9_]*_max_size [0-9]*'; }
gone() { [ ! -e "/sys/class/net/$1" ]; }
received() { cat "/sys/class/net/$IF0/statistics/rx_bytes"; }

# refused FILE VALUE WHY
refused()
{
	before=$(cat "$1")
	if echo "$2" 2>/dev/null >"$1"; then not_ok "$1: $2 is rejected"; fi
	(echo "$2" >"$1") 2>$SAID
	if grep -q "$3" $SAID; then ok "${1##*/}: $2 is rejected: $3"; else not_ok "${1##*/}: $2: $(cat $SAID)"; fi
	check "... and nothing changed" same "$(cat "$1")" "$before"
}

# flows WHAT: TCP makes progress in both directions. The more patience is needed, the fewer bytes are expected. After a restart
# of the interface, which takes more than a second, TCP may wait for its timer for some seconds.
ENOUGH=$((4000000 / PATIENCE))
flows()
{
	before=$(received)
	tries=$((PATIENCE * 12))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		usleep 250000
		if [ $(($(received) - before)) -gt $ENOUGH ]; then
			ok "$1"
			return
		fi
	done
	not_ok "$1: $(($(received) - before)) bytes in $PATIENCE s"
}

configure()
{
	ip addr replace 192.0.2.1/24 dev "$IF0"
	ip link set "$IF0" up
}

check "napi is the default" same "$(chosen "$IF0" rx_scheme)" napi
check "a host controller interrupts for each transfer" same "$(get "$IF0" tx_scheme)" "[interrupt]"
for name in $REFUSED_RX; do refused "$(file "$IF0" rx_scheme)" "$name" "not supported"; done
for name in $REFUSED_TX; do refused "$(file "$IF0" tx_scheme)" "$name" "not supported"; done
refused "$(file "$IF0" rx_scheme)" nonsense "Invalid argument"
for name in $MEASURES gro; do
	check "$name is on" same "$(cat "$(measure "$IF0" "$name")")" 1
	for value in 2 -1 x; do refused "$(measure "$IF0" "$name")" $value "Invalid argument"; done
done
check "tx_queue is off" same "$(cat "$(measure "$IF0" tx_queue)")" 0
refused "$(measure "$IF0" gro)" 0 "busy"
check "rx-usecs" ethtool -C "$IF0" rx-usecs 34
check "... is kept" same "$(coalesce "$IF0" rx-usecs)" 34
fails "rx-usecs beyond the register" ethtool -C "$IF0" rx-usecs 1093
fails "tx-usecs" ethtool -C "$IF0" tx-usecs 100

sizes=$(gso_sizes)
largest=$(gso_sizes | sed -n '1s/.* //p')
check "without tx_pool" set_measure "$IF0" tx_pool 0
check "... large sends are smaller" test "$(gso_sizes)" != "$sizes"
check "with tx_pool" set_measure "$IF0" tx_pool 1
check "... they are as large as before" same "$(gso_sizes)" "$sizes"
check "a smaller size" ip link set "$IF0" gso_max_size 4000
sizes=$(gso_sizes)
set_measure "$IF0" tx_pool 0
set_measure "$IF0" tx_pool 1
check "... is kept" same "$(gso_sizes)" "$sizes"
check "the largest size again" ip link set "$IF0" gso_max_size "$largest"

echo 0 >/proc/sys/net/ipv4/ip_forward
check "a namespace" ip netns add peer
check "$IF1 moves there" ip link set "$IF1" netns peer
ip addr flush dev "$IF0"
configure
there ip link set lo up
there ip addr add 192.0.2.2/24 dev "$IF1"
check "$IF1 comes up there" there ip link set "$IF1" up
check "it answers" reaches 192.0.2.2

there iperf3 -s -D -I /tmp/iperf3.pid
usleep 500000
iperf3 -c 192.0.2.2 --bidir -t 1000 >/tmp/iperf3.out 2>&1 &
client=$!
flows "TCP flows"

for rx in $RX_SCHEMES napi; do
	check "$rx under traffic" put "$IF0" rx_scheme "$rx"
	flows "$rx: TCP flows"
	for name in $MEASURES; do
		for value in 0 1; do
			check "$rx: $name becomes $value under traffic" set_measure "$IF0" "$name" $value
			flows "$rx: TCP flows with $name $value"
		done
	done
done
for value in 1 0 1; do
	check "tx_queue becomes $value under traffic" set_measure "$IF0" tx_queue $value
	flows "tx_queue $value: TCP flows"
done
for name in $MEASURES; do
	check "tx_queue, $name becomes 0" set_measure "$IF0" "$name" 0
	flows "tx_queue, without $name: TCP flows"
done
set_measure "$IF0" tx_queue 0
for name in $MEASURES; do check "all switches off: $name" set_measure "$IF0" "$name" 0; done
for rx in $RX_SCHEMES; do
	check "$rx with all switches off" put "$IF0" rx_scheme "$rx"
	flows "$rx with all switches off: TCP flows"
done
for offload in tso tx rx; do
	check "without $offload" ethtool -K "$IF0" $offload off
	flows "without $offload: TCP flows"
done
ethtool -K "$IF0" tso on tx on rx on >/dev/null
for name in $MEASURES; do set_measure "$IF0" "$name" 1; done
put "$IF0" rx_scheme napi
ip link set "$IF0" down
check "gro off, while down" set_measure "$IF0" gro 0
configure
check "... a host answers" reaches 192.0.2.2
flows "without gro: TCP flows"
ip link set "$IF0" down
set_measure "$IF0" gro 1
configure
check "with gro, a host answers" reaches 192.0.2.2
flows "with gro: TCP flows"

check "MTU 9000" ip link set "$IF0" mtu 9000
check "... of the peer" there ip link set "$IF1" mtu 9000
check "jumbo frames" ping -c 1 -W 1 -s 8900 192.0.2.2
ip link set "$IF0" mtu 1500
there ip link set "$IF1" mtu 1500
flows "MTU 1500 again: TCP flows"

for rx in $RX_SCHEMES; do
	usb=$(device "$IF0")
	check "$rx: unbind under traffic" sh -c "echo $usb >$BOUND/unbind"
	check "$rx: $IF0 is gone" gone "$IF0"
	check "$rx: bind" sh -c "echo $usb >$BOUND/bind"
	check "$rx: the scheme" put "$IF0" rx_scheme "$rx"
	configure
	check "$rx: a host answers" reaches 192.0.2.2
	flows "$rx: TCP flows again"
done
put "$IF0" rx_scheme napi

echo devices >/sys/power/pm_test
echo 0 >/sys/module/suspend/parameters/pm_test_delay
for cycle in 1 2 3; do
	check "suspend and resume, $cycle" sh -c 'echo mem >/sys/power/state'
	check "$IF0 answers, $cycle" reaches 192.0.2.2
	flows "TCP flows after that, $cycle"
done
check "all suspends succeeded" test "$(cat /sys/power/suspend_stats/success)" = 3
kill $client "$(cat /tmp/iperf3.pid)"
for name in $REFUSED_TX; do
	refused "$(file "$IF0" tx_scheme)" "$name" "not supported"
	check "... and the log says why" dmesg_ends "this hardware does not support $name"
done
done_testing

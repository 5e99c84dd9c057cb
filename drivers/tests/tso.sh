#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: wire
# loads: 8021q
# Segmentation by the chip: TCP flows with it and without, also over a VLAN, and the chip gets packets larger than the MTU.
. "${0%/*}/tap.sh"
only_with tx-tcp-segmentation

there() { ip netns exec peer "$@"; }
statistic() { cat "/sys/class/net/$IF0/statistics/$1"; }
feature() { ethtool -k "$IF0" | sed -n 's/^tcp-segmentation-offload: \([a-z]*\).*/\1/p'; }
# flows WHAT ADDRESS: TCP makes progress.
flows()
{
	check "$1: TCP flows" iperf3 -c "$2" -n 2M
}
# Bytes of a packet, on average. irqmod_rtl8139cp counts a packet that the chip segments once, irqmod_lan78xx its segments.
size()
{
	packets=$(statistic tx_packets) bytes=$(statistic tx_bytes)
	flows "$1" "$2"
	average=$((($(statistic tx_bytes) - bytes) / ($(statistic tx_packets) - packets)))
}

ip netns add peer
ip link set "$IF1" netns peer
ip addr flush dev "$IF0"
ip addr add 192.0.2.1/24 dev "$IF0"
ip link set "$IF0" up
there ip link set lo up
there ip addr add 192.0.2.2/24 dev "$IF1"
there ip link set "$IF1" up
check "the peer answers" reaches 192.0.2.2
there iperf3 -s -D
usleep 500000
check "without TSO" ethtool -K "$IF0" tso off
size "without TSO" 192.0.2.2
check "packets are no larger than the MTU" test $average -le 1514
check "TSO" ethtool -K "$IF0" sg on tx on tso on
check "... is on" same "$(feature)" on
size "TSO" 192.0.2.2
if [ "$DRIVER" = irqmod_rtl8139cp ]; then
	check "packets are larger than the MTU: $average" test $average -gt 1600
	fails "a ring that is too short for it" ethtool -G "$IF0" tx 16
	check "an MTU that is too large for it" ip link set "$IF0" mtu 4000
	check "... TSO is off" same "$(feature)" off
	ip link set "$IF0" mtu 1500
	check "... and comes back" same "$(feature)" on
fi
ip link add link "$IF0" name v0 type vlan id 5
there ip link add link "$IF1" name v1 type vlan id 5
ip addr add 198.51.100.1/24 dev v0
there ip addr add 198.51.100.2/24 dev v1
ip link set v0 up
there ip link set v1 up
flows "TSO over a VLAN" 198.51.100.2
check "tags in the data" ethtool -K "$IF0" txvlan off
flows "TSO over a VLAN, the tag in the data" 198.51.100.2
check "tags by the chip" ethtool -K "$IF0" txvlan on
# The chip does not insert a provider's tags. The stack puts them into the data, and the chip does not look behind them.
ip link add link "$IF0" name q0 type vlan proto 802.1ad id 6
there ip link add link "$IF1" name q1 type vlan proto 802.1ad id 6
ip addr add 203.0.113.1/24 dev q0
there ip addr add 203.0.113.2/24 dev q1
ip link set q0 up
there ip link set q1 up
size "TSO over a provider's VLAN" 203.0.113.2
[ "$DRIVER" != irqmod_rtl8139cp ] || check "packets are no larger than the MTU: $average" test $average -le 1522
check "a provider's tag in the data" ip link set q0 type vlan reorder_hdr off
flows "TSO over a provider's VLAN, the tag in the data" 203.0.113.2
for tx in $TX_SCHEMES; do
	put "$IF0" tx_scheme "$tx" 2>/dev/null || continue
	flows "TSO with $tx" 192.0.2.2
done
done_testing

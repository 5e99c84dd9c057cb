#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: wire
# loads: pktgen
# Whether the chip strips VLAN tags changes while frames of a VLAN arrive. None of them is taken for a frame without a tag. With
# an earlier driver this failed on two processors (--functional --cpus 2), not on one.
. "${0%/*}/tap.sh"
only_with rx-vlan-offload

# Datagrams that arrived without a tag: nobody listens at their port.
untagged() { awk '/^Udp:/ { if (!at) { for (i = 1; i <= NF; i++) if ($i == "NoPorts") at = i } else print $at }' /proc/net/snmp; }
received() { cat "/sys/class/net/$IF0/statistics/rx_packets"; }

ip addr flush dev "$IF0"
ip addr flush dev "$IF1"
ip addr add 192.0.2.1/24 dev "$IF0"
ip link set "$IF0" up
ip link set "$IF1" up
# Otherwise the chip drops frames of VLANs that do not exist here.
ethtool -K "$IF0" rx-vlan-filter off 2>/dev/null
usleep 3000000
pg kpktgend_0 "add_device $IF1"
for word in "count 100" "pkt_size 100" "delay 100000" "dst 192.0.2.1" "src_min 192.0.2.2" "src_max 192.0.2.2" \
	"dst_mac $(cat "/sys/class/net/$IF0/address")"; do pg "$IF1" "$word"; done
before=$(untagged)
pg pgctrl start
usleep 500000
check "datagrams without a tag are counted" test $(($(untagged) - before)) -gt 0
for word in "vlan_id 5" "count 0" "delay 10000"; do pg "$IF1" "$word"; done
before=$(untagged) frames=$(received)
pg_on
for i in 1 2 3 4 5 6 7 8 9 10; do
	usleep 20000
	check "tags stay, $i" ethtool -K "$IF0" rxvlan off
	usleep 20000
	check "tags are stripped, $i" ethtool -K "$IF0" rxvlan on
done
usleep 20000
pg_off
check "frames with a tag arrived" test $(($(received) - frames)) -gt 100
check "none was taken for one without" same $(($(untagged) - before)) 0
pg kpktgend_0 rem_device_all
done_testing

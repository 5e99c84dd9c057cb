#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: wire
# loads: 8021q
# A VLAN has the same MTU as the interface: frames of 1518 bytes and FCS pass, both ways.
. "${0%/*}/tap.sh"

there() { ip netns exec peer "$@"; }
ip netns add peer
ip link set "$IF1" netns peer
ip addr flush dev "$IF0"
ip link set "$IF0" up
there ip link set "$IF1" up
check "a VLAN" ip link add link "$IF0" name v0 type vlan id 5
check "... of the peer" there ip link add link "$IF1" name v1 type vlan id 5
ip addr add 192.0.2.1/24 dev v0
there ip addr add 192.0.2.2/24 dev v1
ip link set v0 up
there ip link set v1 up
check "the same MTU" same "$(cat /sys/class/net/v0/mtu)" 1500
check "the peer answers" reaches 192.0.2.2
check "frames of the full size pass" ping -q -c 20 -i 0.01 -s 1472 192.0.2.2
done_testing

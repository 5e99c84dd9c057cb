#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The MAC address changes while the interface is up: frames to the new one are received, and it is kept.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_i82574 irqmod_rtl8139cp irqmod_lan78xx

was=$(cat "/sys/class/net/$IF0/address")
new=02:12:34:56:78:9a
check "a host answers" reaches "$PEER0"
check "another address" ip link set "$IF0" address $new
ip neigh flush dev "$IF0"
check "a host answers it" reaches "$PEER0"
ip link set "$IF0" down
ip link set "$IF0" up
check "kept" same "$(cat "/sys/class/net/$IF0/address")" $new
check "a host still answers" reaches "$PEER0"
fails "a multicast address" ip link set "$IF0" address 01:00:5e:00:00:01
check "the address of before" ip link set "$IF0" address "$was"
check "a host answers that" reaches "$PEER0"
done_testing

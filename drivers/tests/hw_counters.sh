#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The chip's own counters: they agree with the driver's, and nothing is lost when the chip is reset.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x

hw() { counter "$IF0" "hw_$1"; }
statistic() { cat "/sys/class/net/$IF0/statistics/$1"; }
check "a host answers" reaches "$PEER0"
# QEMU's models do not count pause and TCO frames.
check "all counters" same "$(ethtool -S "$IF0" | grep -c ' hw_')" $((TIMED ? 21 : 16))
check "frames received" same "$(hw rx_good)" "$(statistic rx_packets)"
check "frames sent" same "$(hw tx_good)" "$(statistic tx_packets)"
before=$(hw rx_good)
ip link set "$IF0" down
check "kept when the interface goes down" same "$(hw rx_good)" "$before"
ip link set "$IF0" up
check "a host answers again" reaches "$PEER0"
ethtool -G "$IF0" rx 64
check "... with other rings" reaches "$PEER0"
check "nothing is lost, received" same "$(hw rx_good)" "$(statistic rx_packets)"
check "nothing is lost, sent" same "$(hw tx_good)" "$(statistic tx_packets)"
check "dropped frames" same "$(($(hw rx_resource_errors) + $(hw rx_overrun_errors)))" "$(statistic rx_missed_errors)"
done_testing

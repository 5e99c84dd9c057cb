#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rx-fcs and rx-all change what the chip hands over, while frames pass.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x

# Bits of the configuration.
bit() { echo $((0x$(register "$IF0" $((120 + $1)) 1) >> $2 & 1)); }
statistic() { cat "/sys/class/net/$IF0/statistics/$1"; }
# Bytes received per frame, while large ones arrive.
mean()
{
	packets=$(statistic rx_packets) bytes=$(statistic rx_bytes)
	ping -q -c 20 -i 0.01 -s 1472 "$PEER0" >/dev/null
	echo $((($(statistic rx_bytes) - bytes) / ($(statistic rx_packets) - packets)))
}
features="rx-fcs rx-all"
# QEMU's model drops all frames then.
if [ "$TIMED" = 0 ]; then
	skip "rx-fcs" "QEMU's model cannot"
	features="rx-all"
fi
reaches "$PEER0" # and knows its MAC address
bytes=$(mean)
for feature in $features; do
	check "$feature" ethtool -K "$IF0" "$feature" on
	# QEMU's model does not dump.
	if [ "$TIMED" = 1 ]; then
		case $feature in
		rx-fcs) check "... the FCS goes to memory" same "$(bit 18 2)" 1 ;;
		rx-all)
			check "... frames with errors, too" same "$(bit 6 7)" 1
			check "... and short ones" same "$(bit 7 0)" 0
			;;
		esac
	fi
	check "... a host answers" reaches "$PEER0"
	check "... large frames pass, counted without their FCS" same "$(mean)" "$bytes"
	ip link set "$IF0" down
	ip link set "$IF0" up
	check "... a host answers after the interface was down" reaches "$PEER0"
	check "without $feature" ethtool -K "$IF0" "$feature" off
	check "... a host answers" reaches "$PEER0"
done
if [ "$TIMED" = 1 ]; then
	check "the FCS stays in the chip" same "$(bit 18 2)" 0
	check "short frames are dropped" same "$(bit 7 0)" 1
fi
done_testing

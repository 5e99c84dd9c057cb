#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ethtool sets which messages the driver logs, and links are announced only if asked for.
. "${0%/*}/tap.sh"
only_for irqmod_i8255x irqmod_i82574 irqmod_rtl8139cp

level() { ethtool "$IF0" | sed -n 's/.*Current message level: \(0x[0-9a-f]*\).*/\1/p'; }
flap()
{
	dmesg -c >/dev/null
	ip link set "$IF0" down
	ip link set "$IF0" up
	reaches "$PEER0"
}

check "links are announced" flap
check "... in the log" sh -c "dmesg | grep -q '$IF0: link up'"
check "no messages" ethtool -s "$IF0" msglvl 0
check "... is kept" same $(($(level))) 0
check "a link comes up" flap
check "... without a message" sh -c "! dmesg | grep -q '$IF0: link up'"
check "only of links" ethtool -s "$IF0" msglvl link on
check "a link comes up again" flap
check "... with a message" sh -c "dmesg | grep -q '$IF0: link up'"
done_testing

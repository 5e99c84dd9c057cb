#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# needs: engine
# What the kernel expects of any driver: statistics of its standard groups, settings for the network's administrator only, a budget
# that leaves the chip descriptors, figures that end with what they are about.
. "${0%/*}/tap.sh"

# group NAME FIELD: ethtool -S has this field of a standard group.
group() { ethtool -S "$IF0" --groups "$1" | grep "$2"; }
# Without the capability, in a user namespace: the file can be opened, since root owns it.
unprivileged() { unshare -U sh -c "echo $2 >$(file "$IF0" "$1")" 2>&1 | grep "not permitted"; }

check "eth-mac: frames sent" group eth-mac FramesTransmittedOK
check "eth-mac: frames received" group eth-mac FramesReceivedOK
fails "ethtool -S does not repeat the kernel's counters" sh -c "ethtool -S $IF0 | grep -E \"^ *[rt]x_(packets|bytes|errors):\""
if ethtool -S "$IF0" | grep -q "hw_tx_pause"; then
	check "pause frames sent" sh -c "ethtool -I -a $IF0 | grep tx_pause_frames"
	check "pause frames received" sh -c "ethtool -I -a $IF0 | grep rx_pause_frames"
fi
[ "$DRIVER" != irqmod_lan78xx ] || check "rmon: sizes of frames" group rmon rx-rmon-etherStatsPkts64Octets

check "without CAP_NET_ADMIN: rx_scheme" unprivileged rx_scheme napi
check "... tx_scheme" unprivileged tx_scheme interrupt
check "... rx_weight" unprivileged rx_weight 5
check "... rx_cliff_pps" unprivileged rx_cliff_pps 5

if ethtool -g "$IF0" >/dev/null 2>&1; then
	most=$(ring "$IF0" RX)
	expected=$((most / 2 < 64 ? most / 2 : 64))
	check "the budget is half the ring, at most 64" same "$(get "$IF0" rx_weight)" "$expected"
	check "a ring of $SMALL_RING" ethtool -G "$IF0" rx $SMALL_RING
	check "... and it follows" same "$(get "$IF0" rx_weight)" $((SMALL_RING / 2))
	check "... until it is set" put "$IF0" rx_weight 7
	check "a ring of $most" ethtool -G "$IF0" rx "$most"
	check "... and it is kept" same "$(get "$IF0" rx_weight)" 7
fi

if among interrupt "$RX_SCHEMES" && among poll "$TX_SCHEMES"; then
	check "the transmit scheme is poll" same "$(chosen "$IF0" tx_scheme)" poll
	check "a receive scheme that it does not go together with" put "$IF0" rx_scheme interrupt
	check "... makes it off" same "$(chosen "$IF0" tx_scheme)" off
	check "napi" put "$IF0" rx_scheme napi
	check "... makes it poll again" same "$(chosen "$IF0" tx_scheme)" poll
	check "coalesce" put "$IF0" tx_scheme coalesce
	check "de" put "$IF0" rx_scheme de
	check "... keeps what has been chosen" same "$(chosen "$IF0" tx_scheme)" coalesce
fi
# The 82574 has its own moderation, and so others.
on=dim off=napi
[ "$DRIVER" != irqmod_i82574 ] || on=aim off=itr
if among $on "$RX_SCHEMES"; then
	check "adaptive-rx" ethtool -C "$IF0" adaptive-rx on
	check "... chooses $on" same "$(chosen "$IF0" rx_scheme)" $on
	check "... and says so" sh -c "ethtool -c $IF0 | grep '^Adaptive RX: on'"
	check "... not any more" ethtool -C "$IF0" adaptive-rx off
	check "... is $off" same "$(chosen "$IF0" rx_scheme)" $off
fi
check "hybrid" put "$IF0" rx_scheme hybrid
check "... estimates a rate" sh -c "ping -q -c 200 -i 0.002 $PEER0 >/dev/null; [ \$(cat $(file "$IF0" rx_rate_pps)) -gt 0 ]"
check "napi" put "$IF0" rx_scheme napi
check "... estimates none" same "$(get "$IF0" rx_rate_pps)" 0
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What makes no sense is refused with a line that says what is allowed, and the old setting stays.
. "${0%/*}/tap.sh"

# refused FILE VALUE
refused()
{
	before=$(get "$IF0" "$1")
	dmesg -c >/dev/null
	if put "$IF0" "$1" "$2" 2>$SAID; then
		not_ok "$1 '$2' is refused"
	elif ! grep -q 'Invalid argument' $SAID; then
		not_ok "$1 '$2' is EINVAL: $(cat $SAID)"
	else
		ok "$1 '$2' is EINVAL"
	fi
	if [ "$(get "$IF0" "$1")" = "$before" ]; then ok "... and $before stays"; else not_ok "... and $before stays"; fi
	said=$(dmesg | grep "$1")
	if [ -n "$said" ]; then ok "... and the log says: ${said##*: }"; else not_ok "... and the log says what is allowed"; fi
}

# ethtool_refuses SHOW SET...: ethtool fails and says why; what it shows stays.
ethtool_refuses()
{
	show=$1
	shift
	before=$(ethtool "$show" "$IF0")
	if ethtool "$@" >$SAID 2>&1; then not_ok "ethtool $*: refused"; else ok "ethtool $*: refused: $(head -n 1 $SAID)"; fi
	if [ "$(ethtool "$show" "$IF0")" = "$before" ]; then ok "... and all stays"; else not_ok "... and all stays"; fi
}

for direction in rx tx; do
	for value in nonsense NAPI 'napi off' 1; do refused ${direction}_scheme "$value"; done
done
for value in 0 -1 x 100000; do refused rx_weight $value; done
for value in 0 -1 x; do refused rx_cliff_pps $value; done
for value in 1000 -1 x; do refused rx_epsilon_permille $value; done
for value in 0 -1 x; do refused rx_rate_window_ms $value; done
for value in nonsense 1 NOTHING; do refused rx_timer_without $value; done

for which in rx tx; do
	ethtool_refuses -g -G "$IF0" $which 3
	ethtool_refuses -g -G "$IF0" $which 0
	ethtool_refuses -g -G "$IF0" $which $(($(ring_max "$IF0" RX) + 1))
done
ethtool_refuses -c -C "$IF0" tx-frames 0
ethtool_refuses -c -C "$IF0" tx-frames $(($(ring "$IF0" TX) + 1))
ethtool_refuses -c -C "$IF0" rx-usecs 0
ethtool_refuses -c -C "$IF0" tx-usecs 0
check "a host still answers" reaches "$PEER0"
done_testing

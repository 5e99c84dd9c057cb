# SPDX-License-Identifier: GPL-2.0-only
# TAP for a busybox shell. A test sources this, calls check, refused, ..., and ends with done_testing.
#
# The lab sets DRIVER, ENGINE (module names), IF0, IF1 (interfaces), PEER0, PEER1 (hosts that answer there), MAC0, MODULES (where the
# module files are) and, if the test is run for every combination of schemes, RX and TX.

RX_SCHEMES="interrupt de napi hybrid timer adaptive"
TX_SCHEMES="interrupt coalesce off"
SAID=/tmp/tap.said # what the last command said
n=0

# The programs, not busybox's applets of that name.
ip() { /bin/ip "$@"; }

ok() { n=$((n + 1)); echo "ok $n - $*"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $*"; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
note() { echo "# $*"; }
done_testing() { echo "1..$n"; }

# check WHAT COMMAND...: the command succeeds.
check()
{
	what=$1
	shift
	if "$@" >$SAID 2>&1; then
		ok "$what"
	else
		not_ok "$what"
		sed 's/^/# /' $SAID
	fi
}

# fails WHAT COMMAND...: the command does not.
fails()
{
	what=$1
	shift
	if "$@" >$SAID 2>&1; then
		not_ok "$what"
	else
		ok "$what"
	fi
}

file() { echo "/sys/class/net/$1/irqmod/$2"; }
get() { cat "$(file "$1" "$2")"; }
put() { echo "$3" >"$(file "$1" "$2")"; }
# The choice of a list.
chosen() { get "$1" "$2" | sed 's/.*\[\(.*\)\].*/\1/'; }
counter() { ethtool -S "$1" | sed -n "s/^ *$2: //p"; }
coalesce() { ethtool -c "$1" | sed -n "s/^$2:[[:space:]]*//p"; }
ring() { ethtool -g "$1" | sed -n "/Current/,\$s/^$2:[[:space:]]*//p"; }
ring_max() { ethtool -g "$1" | sed -n "1,/Current/s/^$2:[[:space:]]*//p"; }

# frames_arrive WHAT: within two seconds, $IF0 receives some. With few processes: under overload each waits long.
frames_arrive()
{
	read -r before <"/sys/class/net/$IF0/statistics/rx_packets"
	for _ in 1 2 3 4; do
		usleep 500000
		read -r after <"/sys/class/net/$IF0/statistics/rx_packets"
		if [ "$after" -gt "$before" ]; then
			ok "$1"
			return
		fi
	done
	not_ok "$1"
}

# schemes INTERFACE RX TX
schemes() { put "$1" rx_scheme "$2" && put "$1" tx_scheme "$3"; }

# reaches HOST: it answers within some seconds (links come up, neighbours are found).
reaches()
{
	for _ in 1 2 3 4 5; do
		ping -c 1 -W 1 "$1" >/dev/null 2>&1 && return 0
	done
	return 1
}

# reaches_loaded WHAT HOST: the same under twice the load. With an interrupt a frame that is a livelock, in which nobody is
# answered: no test of the driver.
reaches_loaded()
{
	if [ "$RX" = interrupt ]; then
		skip "$1" "receive livelock"
	else
		check "$1" reaches "$2"
	fi
}

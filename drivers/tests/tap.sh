# SPDX-License-Identifier: GPL-2.0-only
# TAP for a busybox shell. A test sources this file, calls check, fails, ..., and ends with done_testing.
#
# The lab sets DRIVER and ENGINE (module names), IF0 and IF1 (interfaces), PEER0 and PEER1 (hosts that answer there), MAC0,
# MODULES (directory of the module files), COMBINATIONS (RX/TX, one a line), TIMED (1: the NIC takes time to transmit), LOADED (1:
# the lab offers the load that the test asks for), PATIENCE (below) and, if the test runs for every combination of schemes, RX and
# TX. Also, from the schemes' declarations: NAPI_RX (those that use NAPI), MASKED_TX (those that need a receive scheme that masks
# RX), LIMITED_TX (those with byte queue limits), REFUSED_RX and REFUSED_TX (those that the hardware does not support).

# The schemes of the driver, if it is ours.
RX_SCHEMES=$(tr -d '[]' 2>/dev/null <"/sys/class/net/$IF0/irqmod/rx_scheme")
TX_SCHEMES=$(tr -d '[]' 2>/dev/null <"/sys/class/net/$IF0/irqmod/tx_scheme")
# Those that can be combined, as RX/TX: of the combinations that the sources allow, those that this kernel's build has.
COMBINATIONS=$(for rx in $RX_SCHEMES; do for tx in $TX_SCHEMES; do echo "$rx/$tx"; done; done | grep -xF "$COMBINATIONS")
SAID=/tmp/tap.said # output of the last command
# Seconds in which something must happen that the DUT does at once. With the instruction clock 2 are enough. Without it the
# DUT's time is the host's, and a debug kernel on a busy host needs many.
PATIENCE=${PATIENCE:-2}
# A small ring, which each driver allows.
SMALL_RING=16
[ "$DRIVER" != irqmod_i82574 ] || SMALL_RING=64
n=0

# The programs, not busybox's applets of the same names.
ip() { /bin/ip "$@"; }
tc() { /bin/tc "$@"; }

ok() { n=$((n + 1)); echo "ok $n - $*"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $*"; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
note() { echo "# $*"; }
done_testing() { echo "1..$n"; }
# pg FILE COMMAND: to pktgen. Who adds a device removes it again.
pg() { echo "$2" >"/proc/net/pktgen/$1" || echo "pktgen refuses: $2"; }
pg_runs() { grep -q "^Running: [^ ]" /proc/net/pktgen/kpktgend_*; }
# pg_on, pg_off: pktgen sends without end ("count 0") from here on, and no more. It forgets a stop that comes before its thread
# has begun, and would then send for ever.
pg_on()
{
	pg pgctrl start &
	sender=$!
	tries=$((PATIENCE * 100))
	until pg_runs; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "Bail out! pktgen does not start"; exit 1; }
		usleep 10000
	done
}
pg_off()
{
	while pg_runs; do
		pg pgctrl stop
		usleep 10000
	done
	wait "$sender"
}

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

# fails WHAT COMMAND...: the command fails.
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

# only_for DRIVER...: ends the test if the driver is none of these.
only_for()
{
	for name in "$@"; do [ "$DRIVER" != "$name" ] || return 0; done
	skip "${0##*/}" "for $*"
	done_testing
	exit
}

# only_with FEATURE: ends the test if the interface cannot switch this feature of ethtool -k.
only_with()
{
	! ethtool -k "$IF0" | grep -q "^[[:space:]]*$1: .*\[fixed\]" || { skip "${0##*/}" "ethtool -k: $1 [fixed]"; done_testing; exit; }
}

# only_with_reset: sets RESET, the file that resets the PCI function; ends the test if there is none.
only_with_reset()
{
	RESET=/sys/class/net/$IF0/device/reset
	[ ! -e "$RESET" ] || return 0
	skip "${0##*/}" "this chip cannot be reset by its configuration space"
	done_testing
	exit
}

# dmesg_ends TEXT: so does the kernel's last message.
dmesg_ends() { dmesg | tail -n 1 | grep -q "$1\$" || { dmesg | tail -n 1; return 1; }; }
# among WORD LIST
among() { case " $2 " in *" $1 "*) ;; *) return 1 ;; esac; }
same() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }

# bytes OFFSET COUNT COMMAND...: bytes of the command's output, in hexadecimal digits.
bytes()
{
	from=$1 count=$2
	shift 2
	"$@" | tail -c +$((from + 1)) | head -c "$count" | hexdump -v -e '1/1 "%02x"'
}
register() { bytes "$2" "$3" ethtool -d "$1" raw on; }

file() { echo "/sys/class/net/$1/irqmod/$2"; }
# files INTERFACE CONDITION...: the names of those for which `find` holds the condition.
files()
{
	at=$1
	shift
	find "/sys/class/net/$at/irqmod" -type f "$@" | sed 's,.*/,,' | sort
}
# Files have one line. Without processes: to start one takes far longer in the DUT than all that a driver does.
get() { IFS= read -r got <"/sys/class/net/$1/irqmod/$2" && echo "$got"; }
put() { echo "$3" >"/sys/class/net/$1/irqmod/$2"; }
# The active entry of a list.
chosen()
{
	got=
	IFS= read -r got <"/sys/class/net/$1/irqmod/$2"
	got=${got#*"["}
	echo "${got%%"]"*}"
}
counter() { ethtool -S "$1" | sed -n "s/^ *$2: //p"; }
coalesce() { ethtool -c "$1" | sed -n "s/^$2:[[:space:]]*//p"; }
ring() { ethtool -g "$1" | sed -n "/Current/,\$s/^$2:[[:space:]]*//p"; }
ring_max() { ethtool -g "$1" | sed -n "1,/Current/s/^$2:[[:space:]]*//p"; }

# frames_arrive WHAT: $IF0 receives frames. Starts few processes, since each waits long under overload.
frames_arrive()
{
	read -r before <"/sys/class/net/$IF0/statistics/rx_packets"
	tries=$((PATIENCE * 2))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		usleep 500000
		read -r after <"/sys/class/net/$IF0/statistics/rx_packets"
		if [ "$after" -gt "$before" ]; then
			ok "$1"
			return
		fi
	done
	not_ok "$1"
	{
		ip -s link show "$IF0"
		grep -E "CPU|$IF0|xhci" /proc/interrupts
		ethtool -S "$IF0"
		ethtool -d "$IF0" raw on | hexdump -C
	} 2>&1 | sed 's/^/# /'
}

# Of an interface: its IPv4 address, and the name of its device on the bus.
address() { ip -4 addr show dev "$1" | sed -n 's/^ *inet \([^ ]*\).*/\1/p'; }
device() { basename "$(readlink -f "/sys/class/net/$1/device")"; }

revision() { cat "/sys/class/net/$1/device/revision"; } # of its chip

# The other processors: 1: they run, 0: they do not.
others()
{
	for cpu in /sys/devices/system/cpu/cpu[0-9]*/online; do
		[ ! -e "$cpu" ] || echo "$1" >"$cpu" || return
	done
}

# alone COMMAND...: with the other processors offline. When a card's registers enter or leave the memory map, QEMU can misdirect
# what other processors read and write in that moment (docs/use/findings.md).
alone()
{
	others 0 && "$@"
	code=$?
	others 1 && return $code
}
rescan() { alone sh -c "echo 1 >/sys/bus/pci/rescan"; } # finds devices of the PCI bus

# schemes INTERFACE RX TX; "own": a driver that has no schemes to choose from. The first write fails if the present TX scheme
# cannot be combined with RX; the last one repeats it.
schemes()
{
	[ "$2/$3" = own/own ] && return
	put "$1" rx_scheme "$2" 2>/dev/null
	put "$1" tx_scheme "$3" && put "$1" rx_scheme "$2"
}

# reaches HOST: the host answers within some seconds (links must come up and neighbours be resolved).
reaches()
{
	tries=$((PATIENCE + 3))
	while [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		ping -c 1 -W $((PATIENCE / 2)) "$1" >/dev/null 2>&1 && return 0
	done
	return 1
}

# reaches_loaded WHAT HOST: the same under overload. With one interrupt per frame this is a livelock, in which no ping is
# answered whatever the driver does: skip it. No declaration says which schemes do so.
reaches_loaded()
{
	if [ "$RX" = interrupt ]; then
		skip "$1" "receive livelock"
	else
		check "$1" reaches "$2"
	fi
}

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by scripts that run commands in a Debian tree, whatever Debian this is. A run takes place in a mount and PID namespace
# of its own: when it ends, however it ends, its processes and mounts are gone, and the tree is removed.
#   need PACKAGE=COMMAND...              installs Debian packages unless the commands are there
#   new_scratch NAME                     an empty directory for a tree, $scratch/root, removed when the script ends
#   bootstrap SUITE PACKAGES [SUITE...]  Debian of that suite in the tree; also with packages from further suites
#   in_tree [--net] COMMAND...           runs a command in the tree, in $home (--net: without any network)
#   as_root COMMAND...                   runs a command outside the tree that may change the tree's files
export LC_ALL=C.UTF-8

mirror=${IRQLAB_MIRROR:-http://deb.debian.org}
home=/ # in the tree

# Whoever is not root becomes root of a user namespace.
userns=()
((EUID == 0)) || userns=(--user --map-root-user --map-auto)
scratch=
inside=
mkdir -p build

# Removes the tree and, first, whatever still runs in it.
clean_up() {
	if [[ $inside ]]; then
		kill -KILL "$inside" 2>/dev/null || true # and with it, by --kill-child, the namespace's first process
		wait "$inside" 2>/dev/null || true
	fi
	if [[ $scratch ]]; then
		for _ in {1..50}; do # the namespace may take a moment to be gone
			! as_root rm -rf "$scratch" 2>/dev/null || break
			sleep 0.1
		done
		[[ ! -e $scratch ]] || echo "irqlab: $scratch could not be removed" >&2
		scratch=
	fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need() {
	local pair packages=() sudo=()
	for pair; do
		command -v "${pair#*=}" >/dev/null || packages+=("${pair%=*}")
	done
	((${#packages[@]})) || return 0
	if ((EUID)); then
		command -v sudo >/dev/null || {
			echo "irqlab: there is no sudo; as root, run: apt-get install ${packages[*]}" >&2
			exit 2
		}
		sudo=(sudo)
	fi
	echo "  installing ${packages[*]}"
	"${sudo[@]}" "$PWD/scripts/packages" --as-root "${packages[@]}" >build/packages.log 2>&1 || {
		tail -n 15 build/packages.log >&2
		echo "irqlab: apt-get failed; all it said is in build/packages.log" >&2
		exit 2
	}
}

as_root() {
	if ((EUID)); then unshare "${userns[@]}" "$@"; else "$@"; fi
}

# How names are resolved and whose certificates are trusted is the host's affair; both are mounted, so neither stays in the tree.
in_tree() {
	local flags=("${userns[@]}" --mount --pid --fork --kill-child)
	if [[ $1 == --net ]]; then
		flags+=(--net)
		shift
	fi
	local names=(TERM http_proxy https_proxy no_proxy PIP_INDEX_URL PIP_CERT PYTEST_ARGS) name
	local variables=(HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
	for name in "${names[@]}"; do
		if [[ ${!name-} ]]; then variables+=("$name=${!name}"); fi
	done
	# shellcheck disable=SC2016 # the variables are those of the inner shell
	unshare "${flags[@]}" bash -euc '
		root=$1 home=$2
		shift 2
		mount --bind "$root" "$root" # bubblewrap needs a root that is a mount point
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --rbind /sys "$root/sys"
		for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
			[[ ! -e $file ]] || mount --bind "$(readlink -f $file)" "$root$file"
		done
		exec chroot "$root" env -i --chdir="$home" "$@"
	' in_tree "$scratch/root" "$home" "${variables[@]}" "$@" &
	inside=$!
	local code=0
	wait "$inside" || code=$?
	inside=
	return $code
}

new_scratch() {
	need uidmap=newuidmap
	scratch=$(mktemp -d "$PWD/build/$1.XXXXXX")
	mkdir "$scratch/root"
}

bootstrap() {
	local suite=$1 include=$2 more sources=()
	shift 2
	for more in "$suite" "$suite-updates" "$@"; do sources+=("deb $mirror/debian $more main"); done
	need mmdebstrap=mmdebstrap
	mmdebstrap --quiet --variant=apt --include="ca-certificates,$include" \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		"$suite" "$scratch/base.tar" "${sources[@]}" \
		"deb $mirror/debian-security $suite-security main" >build/mmdebstrap.log 2>&1 || {
		tail -n 15 build/mmdebstrap.log >&2
		echo "irqlab: mmdebstrap failed; all it said is in build/mmdebstrap.log" >&2
		exit 2
	}
	as_root tar -x -C "$scratch/root" -f "$scratch/base.tar" --exclude='./dev/*'
	rm "$scratch/base.tar"
	rm -f "$scratch/root/etc/resolv.conf"
	touch "$scratch/root/etc/resolv.conf"
}

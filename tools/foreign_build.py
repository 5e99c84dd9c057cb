# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds our drivers for machines with 32 bits, with big-endian processors, and with both; shows the compiler's warnings.

    apt-get install linux-source-6.12 gcc make flex bison bc libelf-dev gcc-powerpc-linux-gnu
    tar xf /usr/src/linux-source-6.12.tar.xz
    python -m tools.foreign_build linux-source-6.12 [BUILD]

BUILD (default: build/foreign-build) keeps the prepared kernels. The modules are compiled, not loaded: there is no such DUT.
Exit code 1 if there are warnings, or if a kernel cannot be configured as the drivers need it. `make lint` looks for missing
conversions of byte order with sparse.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.pages import ROOT

ARCHES = {
    "i386": ("i386", "", "CONFIG_SMP=y CONFIG_M586=y CONFIG_SUSPEND=y"),
    "i386, 64-bit DMA addresses": (
        "i386",
        "",
        "CONFIG_SMP=y CONFIG_M686=y CONFIG_HIGHMEM64G=y CONFIG_X86_PAE=y CONFIG_SUSPEND=y",
    ),
    "powerpc": ("powerpc", "powerpc-linux-gnu-", "CONFIG_PPC_BOOK3S_32=y CONFIG_PPC_PMAC=y CONFIG_SMP=y"),
    "powerpc, one processor": ("powerpc", "powerpc-linux-gnu-", "CONFIG_PPC_BOOK3S_32=y CONFIG_PPC_82xx=y CONFIG_EP8248E=y"),
    "powerpc64": (
        "powerpc",
        "powerpc-linux-gnu-",
        "CONFIG_PPC64=y CONFIG_PPC_BOOK3S_64=y CONFIG_PPC_PSERIES=y CONFIG_CPU_BIG_ENDIAN=y CONFIG_SMP=y CONFIG_SUSPEND=y",
    ),
}
"""Name -> the kernel's name, the compiler's prefix, and configuration that the processor needs. Suspending is there, because the
two PowerPCs with 32 bits cannot."""
CONFIG = """CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y CONFIG_MODULES=y CONFIG_NET=y CONFIG_INET=y CONFIG_PCI=y CONFIG_NETDEVICES=y
CONFIG_ETHERNET=y CONFIG_NET_CORE=y CONFIG_MII=m CONFIG_VLAN_8021Q=m CONFIG_USB_SUPPORT=y CONFIG_USB=m CONFIG_USB_NET_DRIVERS=m
CONFIG_USB_LAN78XX=m CONFIG_VIRTIO_MENU=y CONFIG_VIRTIO_PCI=m CONFIG_VIRTIO_NET=m CONFIG_DIMLIB=m CONFIG_NETCONSOLE=m
CONFIG_PM=y CONFIG_BQL=y CONFIG_HIGH_RES_TIMERS=y CONFIG_IRQ_WORK=y CONFIG_FW_LOADER=y CONFIG_SYSFS=y CONFIG_PRINTK=y CONFIG_BUG=y
CONFIG_NET_VENDOR_INTEL=y CONFIG_E100=m CONFIG_NET_VENDOR_REALTEK=y CONFIG_8139CP=m
CONFIG_EEPROM_93CX6=m"""
"""What the drivers' sources ask for. VIRTIO_NET is there because it selects DIMLIB, which has no prompt."""
MODULES = ("irqmod/irqmod", "i8255x/irqmod_i8255x", "rtl8139cp/irqmod_rtl8139cp", "lan78xx/irqmod_lan78xx")
"""Paths in drivers/. The cost model and the loop are for the lab, which is x86-64."""
MISSING = re.compile(r"__u?(div|mod)(di|ti)3|__bad_\w+")
"""What the compiler calls for divisions with 64 bits; the kernel has none of it for 32 bits."""
TOOLS = {
    "make": "make",
    "gcc": "gcc",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "powerpc-linux-gnu-gcc": "gcc-powerpc-linux-gnu",
}
"""Program -> Debian's package of it."""
COMPLAINT = re.compile(r"\b(warning|error)\b", re.IGNORECASE)


def run(*command: str, cwd: Path) -> str:
    """The output of a command. Exits with it if it fails."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-4000:]}")
    return done.stdout


def configure(tree: Path, home: Path, make: tuple[str, ...], wanted: list[str]) -> None:
    """Prepares a kernel, unless it has been prepared with this configuration. Exits if the kernel cannot have a part of it."""
    text = "\n".join([*wanted, ""])
    if (home / "wanted").exists() and (home / "wanted").read_text() == text:
        return
    (home / "wanted.new").write_text(text)
    run(*make, "-s", f"KCONFIG_ALLCONFIG={home / 'wanted.new'}", "allnoconfig", cwd=tree)
    missing = set(wanted) - set((home / ".config").read_text().splitlines())
    if missing:
        sys.exit(f"{home / '.config'} lacks {' '.join(sorted(missing))}: something that these depend on is not wanted")
    run(*make, "-s", "modules_prepare", cwd=tree)
    (home / "wanted.new").rename(home / "wanted")


def warnings(tree: Path, build: Path, arch: str) -> list[str]:
    """Builds the drivers for an architecture."""
    name, prefix, own = ARCHES[arch]
    home = build / re.sub(r"\W+", "-", arch)
    home.mkdir(parents=True, exist_ok=True)
    make = ("make", f"-j{os.cpu_count()}", f"O={home}", f"ARCH={name}", *([f"CROSS_COMPILE={prefix}"] if prefix else []))
    configure(tree, home, make, [*CONFIG.split(), *own.split()])
    drivers = home / "drivers-of-ours"
    shutil.rmtree(drivers, ignore_errors=True)
    shutil.copytree(ROOT / "drivers", drivers)
    objects = [f"{module}.o" for module in MODULES]
    said = run(*make, "W=1", f"M={drivers}", *objects, cwd=tree).splitlines()
    calls = [line for file in objects for line in run(f"{prefix}nm", "-u", file, cwd=drivers).split()]
    return [line for line in said if COMPLAINT.search(line)] + [f"calls {name}" for name in calls if MISSING.fullmatch(name)]


def main() -> None:
    """Prints the warnings of each architecture."""
    if not 2 <= len(sys.argv) <= 3 or not (Path(sys.argv[1]) / "Kbuild").exists():
        print(__doc__)
        sys.exit(0 if sys.argv[1:] == ["--help"] else 2)
    if lacking := [package for program, package in TOOLS.items() if not shutil.which(program)]:
        print(f"foreign-build: programs are missing: apt-get install {' '.join(lacking)}", file=sys.stderr)
        sys.exit(2)
    tree = Path(sys.argv[1]).resolve()
    build = Path(sys.argv[2] if len(sys.argv) == 3 else "build/foreign-build").resolve()
    found = 0
    for arch in ARCHES:
        lines = warnings(tree, build, arch)
        print(f"{arch}: {len(lines) or 'no'} warnings", *lines, sep="\n  ", flush=True)
        found += len(lines)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Drivers of older kernels, built for the DUT's kernel, so that only the driver differs: ``--driver lan78xx_5_10``.

The source is not in this repository. It is taken from the older kernel's package in Debian's archive, and is changed only where
it calls functions that have another name or other arguments since.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import SetupError, archive, debs, drivers
from irqlab.setup.bootable import Kernel
from irqlab.setup.paths import appearing, cache_dir, locked
from irqlab.setup.say import say


@dataclass(frozen=True)
class Older:
    """A driver: ``module`` is its name here, ``package`` one version of a linux-source package in ``release``'s main archive."""

    module: str
    release: str
    package: str
    files: tuple[str, ...]
    """In the kernel's tree; the first is compiled."""
    series: tuple[str, ...]
    """The kernels that it can be built for."""
    changes: tuple[tuple[str, str], ...]
    """Texts of the first file and what replaces them."""

    def builds_for(self, release: str) -> bool:
        """Whether it can be built for the kernel of that release (`uname -r`)."""
        series = re.match(r"\d+\.\d+", release)
        return series is not None and series[0] in self.series


LAN78XX = Older(
    module="lan78xx_5_10",
    release="bullseye",
    package="linux-source-5.10=5.10.223-1",
    files=("drivers/net/usb/lan78xx.c", "drivers/net/usb/lan78xx.h"),
    series=("6.1",),
    changes=(
        ("netif_set_gso_max_size(", "netif_set_tso_max_size("),
        ("usb_maxpacket(dev->udev, dev->pipe_intr, 0)", "usb_maxpacket(dev->udev, dev->pipe_intr)"),
        ("usb_maxpacket(dev->udev, dev->pipe_out, 1)", "usb_maxpacket(dev->udev, dev->pipe_out)"),
        ("ether_addr_copy(dev->net->dev_addr, ", "eth_hw_addr_set(dev->net, "),
        ("ether_addr_copy(netdev->dev_addr, ", "eth_hw_addr_set(netdev, "),
    ),
)
"""The driver as it was before the series that docs/papers/lan78xx.md is about, which is in Linux 5.17."""
ALL = (LAN78XX,)


def find(module: str) -> Older | None:
    """The driver of that name."""
    return next((driver for driver in ALL if driver.module == module.replace("-", "_")), None)


def module_file(target: Kernel, driver: Older) -> Path:
    """The built file of a driver's module. Downloads its source unless it is in the cache. Raises SetupError."""
    if not driver.builds_for(target.release):
        raise SetupError(f"{driver.module} can be built for Linux {', '.join(driver.series)}, not for {target.release}")
    files = {Path(name).name: content for name, content in _source(driver).items()}
    first = Path(driver.files[0]).name
    files[first] = _changed(driver, files[first].decode()).encode()
    folder = {f"{driver.module}/{name}": content for name, content in files.items()}
    folder[f"{driver.module}/Kbuild"] = f"obj-m := {driver.module}.o\n{driver.module}-y := {Path(first).stem}.o\n".encode()
    folder["Kbuild"] = f"obj-m := {driver.module}/\n".encode()
    return drivers.build_files(target, folder) / driver.module / f"{driver.module}.ko"


def _changed(driver: Older, text: str) -> str:
    for old, new in driver.changes:
        if old not in text:
            raise SetupError(f"{driver.package}: {driver.files[0]} has no {old!r}")
        text = text.replace(old, new)
    return text


def _source(driver: Older) -> dict[str, bytes]:
    """The driver's files, by path."""
    home = cache_dir() / "sources/drivers"
    final = home / driver.package.replace("=", "_")
    with locked("sources-drivers"):
        if not all((final / name).is_file() for name in driver.files):
            say(f"fetching the source of {driver.module} (120 MB)")
            package = debs.download(driver.package, archive.of_older(driver.release), home)
            try:
                with appearing(final) as scratch:
                    _unpack(package, driver.files, scratch)
            finally:
                package.unlink()
    return {name: (final / name).read_bytes() for name in driver.files}


def _unpack(package: Path, files: Sequence[str], into: Path) -> None:
    """Unpacks some files of the kernel's tree in a package. Raises SetupError."""
    (into / "package").mkdir()
    debs.extract(package, into / "package")
    tars = list((into / "package").glob("usr/src/*.tar.xz"))
    if len(tars) != 1:
        raise SetupError(f"{package.name} has no single usr/src/*.tar.xz")
    (tar,) = tars
    top = tar.name.removesuffix(".tar.xz")
    names = [f"{top}/{name}" for name in files]
    script = 'tar -x -f "$1" -C "$2" --strip-components=1 "${@:3}"'
    debs.in_base(script, tar, into, *names, failed=f"cannot unpack {tar}")
    shutil.rmtree(into / "package")

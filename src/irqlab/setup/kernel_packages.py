# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels of the distribution: unmodified packages, unpacked but not installed.

Up to 6.18, linux-image-RELEASE holds the kernel and its modules. Later ones are empty, and depend on linux-binary-RELEASE,
linux-modules-RELEASE and linux-base-RELEASE.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import SetupError, archive, debs
from irqlab.setup.bootable import Kernel, unpack_vmlinux
from irqlab.setup.paths import cache_dir
from irqlab.setup.say import say

PREFIX = "linux-image-"
_RELEASE = re.compile(r"(?P<number>\d+\.\d+\.\d[\w.+~]*(?:-\d+)?)-(?P<flavour>rt-)?amd64$")
_SHORT = re.compile(r"(?P<number>\d+(\.\d+)+[\w.+]*?)(?P<flavour>-rt)?$")


@dataclass(frozen=True)
class Offer:
    """A kernel in Debian's archives; ``suite`` is such as trixie-backports."""

    release: str
    version: str
    suite: str

    @property
    def package(self) -> str:
        """Its package."""
        return PREFIX + self.release

    @property
    def series(self) -> str:
        """Such as 6.12."""
        return ".".join(self.release.split(".")[:2])

    @property
    def is_rt(self) -> bool:
        """Whether it is built with PREEMPT_RT."""
        return "-rt-" in self.release

    @property
    def order(self) -> tuple[int, ...]:
        """Sorts kernels by age."""
        return (*(int(number) for number in re.findall(r"\d+", self.release.removesuffix("amd64"))), self.is_rt)


def home() -> Path:
    """The directory of unpacked packages."""
    return cache_dir() / "debs"


def offers(update: bool = True) -> list[Offer]:
    """All kernels in Debian's archives, for amd64 and PREEMPT_RT, oldest first. `update`: from current package lists.

    Without those whose modules the archives no longer have: signed packages stay longer than the unsigned ones they need.
    """
    apt = archive.everything(update)
    found: dict[str, Offer] = {}
    split, modules = (
        {name.removeprefix(prefix) for name in debs.known(prefix, apt)} for prefix in ("linux-binary-", "linux-modules-")
    )
    for name, version, suite in debs.available(PREFIX, apt):
        release = name.removeprefix(PREFIX)
        if _RELEASE.match(release) and (release not in split or release in modules):
            found.setdefault(release, Offer(release, version, suite))
    return sorted(found.values(), key=lambda offer: offer.order)


def resolve(spec: str) -> Kernel:
    """The kernel that a release, the beginning of one, a package or a .deb names; downloaded unless in the cache."""
    if spec.endswith(".deb"):
        deb = Path(spec)
        if not deb.is_file():
            raise SetupError(f"{spec}: no such file")
        return _describe(deb.name.split("_")[0], debs.unpack_file(deb, home()))
    if not (short := _SHORT.match(spec)):
        if kernel := present(spec):
            return kernel
        return _fetch(spec if spec.startswith(PREFIX) else PREFIX + spec)
    fitting = _fitting(short, [offer.release for offer in offers()])
    if not fitting:
        series = dict.fromkeys(offer.series for offer in offers(update=False))
        raise SetupError(f"Debian has no kernel {spec}; there are {', '.join(series)} (irqlab list kernels)")
    return present(fitting[-1]) or _fetch(PREFIX + fitting[-1])


def present(spec: str) -> Kernel | None:
    """As `resolve`, but None if it is not in the cache. Of several that a short specification fits, the newest there."""
    if short := _SHORT.match(spec):
        there = [path.name.split("_")[0].removeprefix(PREFIX) for path in home().glob(f"{PREFIX}*") if path.is_dir()]
        fitting = _fitting(short, sorted(there, key=lambda release: Offer(release, "", "").order))
        spec = fitting[-1] if fitting else spec
    package = spec if spec.startswith(PREFIX) else PREFIX + spec
    root = debs.unpacked(package, home())
    return _describe(package, root) if root else None


def _fitting(short: re.Match[str], releases: list[str]) -> list[str]:
    """The releases whose number begins with that of a short specification, and that have its flavour."""
    found = []
    for release in releases:
        if match := _RELEASE.match(release):
            rest = match["number"].removeprefix(short["number"])
            begins = match["number"].startswith(short["number"]) and not rest[:1].isdigit()
            if begins and bool(match["flavour"]) == bool(short["flavour"]):
                found.append(release)
    return found


def _fetch(package: str) -> Kernel:
    apt = archive.everything()
    depends = debs.depends([package], apt)
    release = package.removeprefix(PREFIX)
    current = [name for name in sorted(depends) if _RELEASE.match(name.removeprefix(PREFIX))]
    if current and not _RELEASE.match(release):  # linux-image-amd64 is empty and depends on the current one
        return resolve(current[0])
    parts = sorted(depends & {f"linux-{part}-{release}" for part in ("base", "binary", "modules")})
    if f"linux-binary-{release}" in parts and f"linux-modules-{release}" not in parts:
        raise SetupError(f"Debian's archives no longer have the modules of {release} (linux-modules-{release})")
    say(f"fetching Linux {release} (70 to 130 MB)")
    return _describe(package, debs.unpack_together([package, *parts], apt, home()))


def _describe(package: str, root: Path) -> Kernel:
    images = sorted([*root.glob("boot/vmlinuz-*"), *root.glob("usr/lib/modules/*/vmlinuz")])
    if len(images) != 1:
        raise SetupError(f"the package {package} has no kernel image")
    image = images[0]
    in_boot = image.parent.name == "boot"
    release = image.name.removeprefix("vmlinuz-") if in_boot else image.parent.name
    trees = [path for path in (root / "lib/modules" / release, root / "usr/lib/modules" / release) if path.is_dir()]
    if not trees:
        raise SetupError(f"the package {package} has no modules for {release}")
    config = root / f"boot/config-{release}" if in_boot else trees[0] / "config"
    vmlinux = root / "vmlinux"
    return Kernel(release, package, debs.version(root), vmlinux, trees[0], config, unpack_vmlinux(image, vmlinux))

# SPDX-License-Identifier: GPL-2.0-or-later
"""Our drivers, installed with DKMS by the commands of drivers/README.md in Debian 12 and 13: `make test-hosts`.

DKMS builds for kernels whose headers are there; nothing is loaded. The lab measures with what DKMS has built.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from irqlab.project import project_dir
from irqlab.setup import archive, debs, kernel, kernel_packages, roots

pytestmark = pytest.mark.long
PACKAGES = (
    "dkms",
    "gcc",
    "make",
    "mawk",
    "coreutils",
    "dash",
    "bash",
    "diffutils",
    "findutils",
    "grep",
    "sed",
    "kmod",
)
CONFIGURATION = (project_dir() / "drivers/dkms.conf").read_text()
VERSION = re.findall(r'^PACKAGE_VERSION="(.*)"', CONFIGURATION, re.MULTILINE)[0]
MODULES = re.findall(r'^BUILT_MODULE_NAME\[.*\]="(.*)"', CONFIGURATION, re.MULTILINE)
NEEDED = re.compile(r"linux-headers-|linux-kbuild-|linux-compiler-")
"""Of what headers depend on."""
HARMLESS = re.compile("Skipping BTF generation|the compiler differs from|You are using:|The kernel was built by:")
"""What the headers' make says about its own host."""


@dataclass(frozen=True)
class Machine:
    """A Debian in which root may write; `release` is the kernel that seems to run."""

    tree: Path

    def run(self, script: str, release: str) -> str:
        """The output of a shell script. It may not fail."""
        (self.tree / "usr/local/bin").mkdir(parents=True, exist_ok=True)
        uname = self.tree / "usr/local/bin/uname"
        uname.write_text(f'#!/bin/sh\n[ "$*" = -r ] && echo {release} || exec /usr/bin/uname "$@"\n')
        uname.chmod(0o755)
        words = [
            *roots.bubblewrap(),
            "--unshare-user",
            "--uid",
            "0",
            "--gid",
            "0",
            "--unshare-net",
            "--unshare-pid",
            "--die-with-parent",
        ]
        words += ["--clearenv", "--setenv", "HOME", "/root", "--setenv", "PATH", "/usr/local/bin:/usr/sbin:/usr/bin"]
        words += ["--bind", str(self.tree), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--chdir", "/root"]
        done = subprocess.run([*words, "sh", "-euc", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def check_installed(self, release: str, where: str) -> None:
        """The drivers are there for a kernel, and udev does not load them."""
        for module in MODULES:
            file = self.run(f"modinfo -k {release} -n {module}", release).strip()
            assert re.fullmatch(rf"/(usr/)?lib/modules/{re.escape(release)}/{where}/(.*/)?{module}\.ko(\.xz)?", file), file
            said = self.run(f"modinfo {file}", release)
            assert re.search(rf"^vermagic: +{re.escape(release)} ", said, re.MULTILINE), said
            assert not re.search(r"^alias: +(pci|usb|of):", said, re.MULTILINE), said
        assert "irqmod" in self.run(f"modinfo -k {release} -F depends irqmod_i8255x", release)

    def check_log(self, release: str) -> None:
        """DKMS has built the drivers, and nothing warned."""
        assert f"{release}, x86_64: installed" in self.run(f"dkms status irqmod/{VERSION} -k {release}", release)
        log = (self.tree / f"var/lib/dkms/irqmod/{VERSION}/{release}/x86_64/log/make.log").read_text()
        assert log
        assert [line for line in log.splitlines() if "warning" in line.lower() and not HARMLESS.search(line)] == []


def machine(tmp_path: Path, suite: str, releases: list[str]) -> Machine:
    suites = {offer.release: offer.suite for offer in kernel_packages.offers()}
    headers = {f"linux-headers-{release}": suites[release] for release in releases}
    depends = {one: where for name, where in headers.items() for one in debs.depends([name], archive.everything())}
    names = (*PACKAGES, *(f"{one}/{where}" for one, where in (headers | depends).items() if NEEDED.match(one)))
    packed = debs.tree(f"dkms-{suite}", names, suite, f"fetching DKMS and kernel headers for Debian {suite}").directory
    tree = tmp_path / "machine"
    shutil.copytree(packed, tree, symlinks=True)
    for name in roots.USR_MERGE:
        if not (tree / name).is_symlink():  # base-files of Debian 13 has them
            (tree / name).symlink_to(f"usr/{name}")
    for name in ("tmp", "proc", "dev", "root", "var/lib"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    for release in releases:
        home = tree / "usr/lib/modules" / release
        home.mkdir(parents=True, exist_ok=True)
        (home / "build").unlink(missing_ok=True)
        (home / "build").symlink_to(f"/usr/src/linux-headers-{release}")
    shutil.copytree(project_dir() / "drivers", tree / "root/drivers")
    return Machine(tree)


def commands(word: str) -> str:
    """Those of drivers/README.md that have a word in them; whoever runs them here is root."""
    text = (project_dir() / "drivers/README.md").read_text()
    section = text.partition("## Build and install")[2].partition("\n## ")[0]
    lines = [line.partition("#")[0].replace("sudo ", "") for line in section.splitlines() if re.search(word, line)]
    return "\n".join(line for line in lines if line and not line.startswith("`"))


@pytest.mark.parametrize(("suite", "series"), [("bookworm", ["6.1"]), ("trixie", ["6.12", "7.3"])])
def test_dkms_builds_installs_and_removes_our_drivers(tmp_path: Path, suite: str, series: list[str]) -> None:
    archive.everything()
    releases = [kernel.resolve(one).release for one in series]
    there, first = machine(tmp_path, suite, releases), releases[0]
    there.run(commands("make -C drivers"), first)
    there.check_installed(first, "(extra|updates)")
    there.run(f"cd /lib/modules/{first}; rm -rf extra updates; depmod -a {first}", first)

    there.run(commands("dkms install"), first)
    for update in releases[1:]:  # as the hook of a package with headers does
        there.run(f"depmod {update}; dkms autoinstall -k {update}", first)
    for release in releases:
        there.check_log(release)
        there.check_installed(release, "updates/dkms")
        driver = next((there.tree / f"usr/lib/modules/{release}/updates/dkms").glob("irqmod_i8255x.ko*"))
        done = subprocess.run(
            [project_dir() / "irqlab", "throughput", "--kernel", release, "--driver", str(driver), "--duration", "0.02"],
            check=False,
        )
        assert done.returncode == 0

    there.run(commands("dkms remove"), first)
    assert there.run("dkms status", first) == ""
    assert all(not list((there.tree / f"usr/lib/modules/{release}").rglob("irqmod*")) for release in releases)

# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees of Debian packages in the cache: whatever the lab executes is in one of them, whatever the host is.

The packages are unpacked, not installed: no maintainer script runs, and nothing is written outside the cache. Commands run in a
mount namespace (bubblewrap), where they see the tree and the directories they are given; or, as QEMU does, without a namespace,
by the tree's own dynamic linker.

The first tree, `base()`, has apt and dpkg, and is made by first.py. That apt fetches the others.
"""

import hashlib
import os
import shutil
import ssl
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irqlab.setup import first, host
from irqlab.setup.paths import appearing, cache_dir, locked, sweep
from irqlab.setup.say import say

BASE = (
    *("apt", "bash", "bubblewrap", "coreutils", "dash", "debian-archive-keyring", "dpkg", "findutils", "gpgv", "grep", "lz4"),
    *("patch", "sed", "tar", "xz-utils", "zstd"),
)
"""Packages of the first tree."""
USR_MERGE = ("bin", "lib", "lib64", "sbin")
ALTERNATIVES = {"awk": "mawk", "cc": "gcc", "flex++": "flex", "sh": "dash"}
"""What maintainer scripts would make."""
KEEP = 2
"""Number of trees of a name, of different recipes, that are kept."""
_FINISH = 2
"""To be counted up when `_finish` changes: part of the trees' names."""
LINKER = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib")
NETWORK = ("/etc/resolv.conf", "/etc/hosts")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")


@dataclass(frozen=True)
class Root:
    """A tree."""

    directory: Path

    def run(
        self,
        *command: str,
        writable: Mapping[str, Path] | None = None,
        readable: Mapping[str, Path] | None = None,
        chdir: str = "/",
        environment: Mapping[str, str] | None = None,
        network: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in the tree. `writable`, `readable`: the host's directories, by their paths in the tree."""
        words = self.command(
            *command, writable=writable, readable=readable, chdir=chdir, environment=environment, network=network
        )
        return checked(subprocess.run(words, capture_output=True, text=True, errors="replace", check=False))

    def command(
        self,
        *command: str,
        writable: Mapping[str, Path] | None = None,
        readable: Mapping[str, Path] | None = None,
        chdir: str = "/",
        environment: Mapping[str, str] | None = None,
        network: bool = False,
    ) -> list[str]:
        """The command line that `run` runs. `network`: with the host's names, certificates and proxies."""
        # In a PID namespace of its own, so that all processes of a build end with irqlab. As root, with --die-with-parent alone,
        # they do not.
        said = [*bubblewrap(), "--unshare-pid", "--die-with-parent", "--clearenv"]
        own = {name: os.environ[name] for name in PROXIES if network and name in os.environ}
        for name, value in {"PATH": "/usr/sbin:/usr/bin", "HOME": "/tmp", "LC_ALL": "C", **own, **(environment or {})}.items():
            said += ["--setenv", name, value]
        said += ["--ro-bind", f"{self.directory}/usr", "/usr", "--ro-bind", f"{self.directory}/etc", "/etc"]
        for name in USR_MERGE:
            said += ["--symlink", f"usr/{name}", f"/{name}"]
        said += ["--dev", "/dev", "--ro-bind", "/proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var"]
        if network:
            for name, host in {**{name: Path(name) for name in NETWORK}, CERTIFICATES: certificates()}.items():
                if host is not None and host.exists():
                    said += ["--ro-bind", str(host.resolve()), name]
        for inside, outside in (readable or {}).items():
            if inside.startswith("/usr/"):  # bubblewrap cannot make a mount point in what is read-only
                (self.directory / inside[1:]).mkdir(parents=True, exist_ok=True)
            said += ["--ro-bind", str(outside), inside]
        for inside, outside in (writable or {}).items():
            said += ["--bind", str(outside), inside]
        return [*said, "--chdir", chdir, *command]

    def outside(self, program: str) -> list[str]:
        """The words that start one of the tree's programs (``usr/bin/...``) on the host, with the tree's libraries."""
        libraries = ":".join(f"{self.directory}/{name}" for name in LIBRARIES)
        return [f"{self.directory}/{LINKER}", "--library-path", libraries, f"{self.directory}/{program}"]


def checked(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """What ran in a tree; raises SetupError if there is no namespace to run in."""
    if done.returncode and done.stderr.startswith("bwrap: "):
        raise host.forbidden(done.stderr.strip())
    return done


def bubblewrap() -> list[str]:
    """The words that start bubblewrap: the host's, which may have rights that ours has not, else the first tree's."""
    found = shutil.which("bwrap")
    return [found] if found else base().outside("usr/bin/bwrap")


def certificates() -> Path | None:
    """The host's certificates of certification authorities."""
    wanted = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    usual = (CERTIFICATES, "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem")
    return next((Path(name) for name in (wanted, *usual) if name and Path(name).is_file()), None)


def base() -> Root:
    """The first tree; made unless in the cache. Raises SetupError."""
    return made("base", BASE, f"fetching apt of Debian {first.SUITE} (25 MB)", lambda tree: first.make(tree, BASE))


def made(name: str, recipe: Sequence[str], doing: str, make: Callable[[Path], None]) -> Root:
    """The tree of that name and recipe; `make` unpacks its packages unless it is in the cache, and `doing` says so."""
    final = place(name, recipe)
    if not final.is_dir():
        with locked(f"roots-{name}"):
            if not final.is_dir():
                say(doing)
                final.parent.mkdir(parents=True, exist_ok=True)
                sweep(final.parent)
                with appearing(final) as scratch:
                    make(scratch)
                    _finish(scratch)
                _forget_old(final.parent)
    return Root(final)


def place(name: str, recipe: Sequence[str]) -> Path:
    """Where a tree is, once made."""
    return cache_dir() / "roots" / name / hashlib.sha256(repr((tuple(recipe), _FINISH)).encode()).hexdigest()[:12]


def _forget_old(home: Path) -> None:
    """Removes trees of older recipes, but not the last ones: other versions of irqlab may use them."""
    for old in sorted((path for path in home.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)[:-KEEP]:
        shutil.rmtree(old, ignore_errors=True)


def _finish(tree: Path) -> None:
    """Does what maintainer scripts would."""
    for name in (*USR_MERGE, "lib32", "libx32"):
        old = tree / name
        if old.is_dir() and not old.is_symlink():
            shutil.copytree(old, tree / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(old)
    for unwanted in ("doc", "man", "locale", "info"):
        shutil.rmtree(tree / "usr/share" / unwanted, ignore_errors=True)
    for name, target in ALTERNATIVES.items():
        if (tree / "usr/bin" / target).exists() and not (tree / "usr/bin" / name).is_symlink():
            (tree / "usr/bin" / name).symlink_to(target)
    (tree / "etc").mkdir(exist_ok=True)
    (tree / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    for name in (*NETWORK, CERTIFICATES):  # mount points
        path = tree / name[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab needs of its host: Linux on x86-64, Python, and user namespaces, in which the fetched tools run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from irqlab.setup import SetupError

OS_RELEASE = Path("/etc/os-release")
_TRY = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS):
    raise SystemExit(os.strerror(ctypes.get_errno()))
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"0 {os.stat('/proc/self').st_uid} 1")
if libc.mount(b"none", b"/", None, 0x44000, None):  # MS_REC | MS_PRIVATE
    raise SystemExit(os.strerror(ctypes.get_errno()))
"""
"""Makes namespaces as bubblewrap does. Ubuntu lets programs make them and forbids what they are for."""
_ALLOW = {
    "ubuntu": "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (permanently: a file in /etc/sysctl.d)",
    "debian": "sudo sysctl -w kernel.unprivileged_userns_clone=1 (permanently: a file in /etc/sysctl.d)",
    "fedora": "sudo sysctl -w user.max_user_namespaces=15000 (permanently: a file in /etc/sysctl.d)",
    "arch": "sudo pacman -S bubblewrap, with the kernel linux-hardened: bubblewrap-suid",
    "suse": "sudo sysctl -w user.max_user_namespaces=15000 (permanently: a file in /etc/sysctl.d)",
}
"""What to type, by ID or ID_LIKE of os-release."""
_INSTALL = {
    "debian": "sudo apt install {}",
    "ubuntu": "sudo apt install {}",
    "fedora": "sudo dnf install {}",
    "arch": "sudo pacman -S {}",
    "suse": "sudo zypper install {}",
}


def check_namespaces() -> str:
    """By what namespaces are made. Raises SetupError if they are forbidden."""
    if found := shutil.which("bwrap"):
        words = [found, "--ro-bind", "/", "/", "--unshare-pid", "true"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return found
        why = done.stderr.strip()
    else:
        done = subprocess.run([sys.executable, "-c", _TRY], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return "unprivileged user namespaces"
        why = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    raise forbidden(why)


def forbidden(why: str) -> SetupError:
    """What is raised if there are no namespaces."""
    return SetupError(f"this host forbids user namespaces, in which irqlab runs its tools ({why}). To allow them: {allow()}")


def allow() -> str:
    """What allows user namespaces on this distribution."""
    return (
        _of_this_host(_ALLOW)
        or "set the sysctl that your distribution forbids them with, or install bubblewrap; or run irqlab as root"
    )


def install(package: str) -> str:
    """What installs a package on this distribution."""
    words = _of_this_host(_INSTALL)
    return words.format(package) if words else f"install {package}"


def _of_this_host(table: dict[str, str]) -> str | None:
    try:
        text = OS_RELEASE.read_text()
    except OSError:
        return None
    words = [word for name in ("ID", "ID_LIKE") for word in _value(text, name).split()]
    return next((table[key] for word in words for key in table if key in word), None)


def _value(text: str, name: str) -> str:
    match = re.search(rf'^{name}="?([^"\n]*)', text, re.MULTILINE)
    return match[1] if match else ""

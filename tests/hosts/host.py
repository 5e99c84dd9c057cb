# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts made of Debian packages, in namespaces: Python, and neither apt nor compiler, Rust, QEMU or bubblewrap."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from irqlab.setup import debs, mirror, roots

PACKAGES = ("bash", "ca-certificates", "coreutils", "dash", "libstdc++6", "python3", "python3-venv")
UNWANTED = ("apt*", "dpkg*")
"""Programs that these packages depend on, and that other distributions do not have."""
HOME = "/home/user"
PASSED_ON = ("PIP_INDEX_URL", "PIP_FIND_LINKS")
BOUND = ("/opt/wheels",)
"""Directories of the host's that pip may be told to look in."""


@dataclass(frozen=True)
class Host:
    """A host; `home` is the user's directory there."""

    tree: Path
    home: Path
    uid: int = 1000

    @classmethod
    def of(cls, release: str, home: Path, uid: int = 1000) -> Host:
        """Debian's of that release. It is made unless in the cache."""
        root = debs.tree(f"host-{release}", PACKAGES, release, f"fetching a host with Debian {release}").directory
        for pattern in UNWANTED:
            for path in (root / "usr/bin").glob(pattern):
                path.unlink()
        return cls(root, home, uid)

    def words(self, *command: str, extra: Sequence[str] = (), environment: dict[str, str] | None = None) -> list[str]:
        """The words that run a command there, in the user's directory. `extra`: more of bubblewrap's options."""
        said = [
            *("bwrap", "--unshare-user", "--uid", str(self.uid), "--gid", str(self.uid), "--unshare-pid"),
            "--die-with-parent",
        ]
        passed = {name: os.environ[name] for name in (*PASSED_ON, *roots.PROXIES) if name in os.environ}
        said += ["--clearenv"]
        known = {"HOME": HOME, "PATH": "/usr/bin:/usr/sbin", "PIP_CERT": roots.CERTIFICATES, "LC_ALL": "C.UTF-8"}
        for name, value in {**known, **passed, **(environment or {})}.items():
            said += ["--setenv", name, value]
        said += ["--ro-bind", f"{self.tree}/usr", "/usr", "--ro-bind", f"{self.tree}/etc", "/etc"]
        for name in roots.USR_MERGE:
            said += ["--symlink", f"usr/{name}", f"/{name}"]
        said += ["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys"]
        for name in ("/tmp", "/var", "/run"):
            said += ["--tmpfs", name]
        for name in (*roots.NETWORK, *BOUND):
            if Path(name).exists():
                said += ["--ro-bind", str(Path(name).resolve()), name]
        if certificates := roots.certificates():
            said += ["--ro-bind", str(certificates.resolve()), roots.CERTIFICATES]
        return [*said, "--bind", str(self.home), HOME, *extra, "--chdir", HOME, *command]

    def run(
        self, *command: str, extra: Sequence[str] = (), environment: dict[str, str] | None = None, timeout_s: float = 900
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command there."""
        words = self.words(*command, extra=extra, environment=environment)
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout_s)

    def run_until_killed(self, *command: str, after_s: float, environment: dict[str, str] | None = None) -> None:
        """Runs a command there, and kills it and all that it has started."""
        with subprocess.Popen(
            self.words(*command, environment=environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as it:
            try:
                it.wait(after_s)
            except subprocess.TimeoutExpired:
                it.send_signal(signal.SIGKILL)

    def install(self, wheel: Path) -> None:
        """Installs the wheel, as README says, into a virtual environment; then `irqlab` is `venv/bin/irqlab`."""
        shutil.copy(wheel, self.home)
        script = f"python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check ./{wheel.name}"
        done = self.run("sh", "-c", script)
        assert done.returncode == 0, done.stderr


class _Recorder(BaseHTTPRequestHandler):
    """Answers with what Debian's mirror has, and keeps it in `place`."""

    place: Path

    def do_GET(self) -> None:
        """A file: from what is kept, else from the mirror."""
        kept = self.place / urllib.parse.unquote(self.path.lstrip("/"))
        archive, _, rest = self.path.lstrip("/").partition("/")
        try:
            if not kept.is_file():
                with urllib.request.urlopen(f"{mirror.of(archive)}/{rest}") as answer:
                    data = answer.read()
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)
            data = kept.read_bytes()
        except urllib.error.HTTPError as error:
            self.send_error(error.code)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def recording_mirror(place: Path) -> Iterator[str]:
    """A mirror on this machine that keeps what it was asked for in `place`; its address."""
    handler = type("Recorder", (_Recorder,), {"place": place})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()

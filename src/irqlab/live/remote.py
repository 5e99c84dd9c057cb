# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent on a real device under test: the guest's agent, copied over with ssh and run from a directory that is removed again.

Commands are those of docs/protocol.md, link 2, as lines of text.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from irqlab.live.ports import LiveError
from irqlab.qemu.rpc import TesterError
from irqlab.setup.paths import built, guest_binary

_MACHINES = {"x86_64": "x86_64", "aarch64": "aarch64", "armv7l": "armv7"}
_CONNECT_S = 15
ANSWER_S = 60.0


class Remote:
    """A connection to an agent. It has `guest`, like irqlab.qemu.rpc.Rpc."""

    def __init__(self, target: str, answer_s: float = ANSWER_S) -> None:
        """Connects to `user@board`, or to `unix:PATH`; there an answer may take so many seconds. Raises LiveError."""
        self.target = target
        self._answer_s = answer_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._in: Any = None
        self._out: Any = None
        try:
            if target.startswith("unix:"):
                self._open_socket(Path(target.removeprefix("unix:")))
            else:
                self._open_ssh(target)
            self._greet()
        except BaseException:
            self.close()
            raise

    def guest(self, command: str, limit_ns: int | None = None, watched: bool = True, **arguments: Any) -> Any:
        """Has the agent execute a command; returns its answer. Raises TesterError if it refuses, LiveError if it is gone."""
        del limit_ns, watched  # there is no virtual time, and nothing to look into
        with self._lock:
            try:
                self._out.write(json.dumps({command: arguments}).encode() + b"\n")
                self._out.flush()
                line = self._in.readline()
            except (OSError, ValueError) as error:
                raise self._gone() from error
        if not line:
            raise self._gone()
        answer = json.loads(line)
        if "error" in answer:
            raise TesterError(str(answer["error"]))
        return answer["ok"]

    def _greet(self) -> None:
        """Makes sure that the agent is there. What it still had to say to others is skipped. Raises LiveError."""
        mark = f"/irqlab-{secrets.token_hex(8)}"
        try:
            self._out.write(json.dumps({"read": {"paths": [mark]}}).encode() + b"\n")
            self._out.flush()
            while (line := self._in.readline()) and f'"{mark}":'.encode() not in line:
                pass
        except (OSError, ValueError) as error:
            raise self._gone() from error
        if not line:
            raise self._gone()

    def close(self) -> None:
        """Ends the agent, which removes itself."""
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()
            try:
                self._process.wait(_CONNECT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
        if self._socket is not None:
            for file in (self._in, self._out):
                with suppress(OSError, ValueError):
                    if file is not None:
                        file.close()
            self._socket.close()

    def _open_socket(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(self._answer_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            raise LiveError(f"--dut {self.target}: cannot connect to {path}: {error.strerror}") from error
        self._in = self._socket.makefile("rb")
        self._out = self._socket.makefile("wb")

    def _open_ssh(self, target: str) -> None:
        machine = self._once("uname -m").decode().strip()
        if machine not in _MACHINES:
            raise LiveError(f"--dut {target}: there is no agent for {machine}; there is one for {', '.join(_MACHINES)}")
        agent = agent_for(machine).read_bytes()
        place = self._once("mktemp -d /tmp/irqlab.XXXXXX").decode().strip()
        self._once(f"cat > {place}/irqlab-guest && chmod 700 {place}/irqlab-guest", agent)
        run = f"{place}/irqlab-guest agent --stdio; rm -rf {place}"
        self._process = subprocess.Popen(
            [*_ssh(target), f"trap '' INT; {run}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdout, self._process.stdin

    def _once(self, command: str, stdin: bytes = b"") -> bytes:
        """Runs a command on the DUT. Raises LiveError."""
        try:
            done = subprocess.run([*_ssh(self.target), command], input=stdin, capture_output=True, check=False)
        except OSError as error:
            raise LiveError(f"--dut {self.target}: cannot run {_ssh(self.target)[0]}: {error.strerror}") from error
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").strip().splitlines()
            raise LiveError(
                f"--dut {self.target}: ssh failed: {why[-1] if why else f'exit code {done.returncode}'}; "
                f"`ssh {self.target} true` has to work without a password (ssh-copy-id {self.target})"
            )
        return done.stdout

    def _gone(self) -> LiveError:
        return LiveError(f"--dut {self.target}: the agent is gone: the connection broke, or the device under test rebooted")


def agent_for(machine: str) -> Path:
    """The agent for a machine, as `uname -m` names it. Raises SetupError if it was not built."""
    if machine == "x86_64":
        return built(guest_binary())
    target = f"{_MACHINES[machine]}-unknown-linux-{'musleabihf' if machine == 'armv7l' else 'musl'}"
    return built(guest_binary().parents[2] / target / "release/irqlab-guest")


def _ssh(target: str) -> list[str]:
    """The command that runs another one on the DUT: `$IRQLAB_SSH` stands in for ssh."""
    own = os.environ.get("IRQLAB_SSH")
    if own:
        return [own, target]
    options = ("BatchMode=yes", f"ConnectTimeout={_CONNECT_S}", "ServerAliveInterval=5", "ServerAliveCountMax=3")
    return ["ssh", *(word for option in options for word in ("-o", option)), target]

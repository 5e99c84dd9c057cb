# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent on a real device under test: the guest's agent, copied over with ssh and run from a directory that is removed again.

Commands are those of docs/inside/protocol.md, link 2, as lines of text.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from irqlab.live.ports import LiveError
from irqlab.project import project_dir
from irqlab.qemu.rpc import TesterError
from irqlab.setup.paths import BOARD_TARGETS, board_binary, built

_CONNECT_S = 15
_HURRY_S = 5.0
_STEP_S = 0.2
ANSWER_S = 60.0
"""An answer may take so long. What the lab asks for takes a second at most."""


class Remote:
    """A connection to an agent. It has `guest`, like irqlab.qemu.rpc.Rpc."""

    def __init__(self, target: str, answer_s: float | None = None) -> None:
        """Connects to `user@board`, or to `unix:PATH`. An answer may take so many seconds (None: ANSWER_S). Raises LiveError."""
        self.target = target
        self._answer_s = ANSWER_S if answer_s is None else answer_s
        self.broken: LiveError | None = None
        """Why nothing more can be asked: the agent is gone, or did not answer."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._read = bytearray()
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
            if self.broken is not None:
                raise self.broken
            self._say(command, arguments)
            answer = json.loads(self._hear())
        if "error" in answer:
            raise TesterError(str(answer["error"]))
        return answer["ok"]

    def _greet(self) -> None:
        """Makes sure that the agent is there. What it still had to say to others is skipped. Raises LiveError."""
        mark = f"/irqlab-{secrets.token_hex(8)}"
        self._say("read", {"paths": [mark]})
        while f'"{mark}":'.encode() not in self._hear():
            pass

    def _say(self, command: str, arguments: dict[str, Any]) -> None:
        assert self._socket is not None
        try:
            self._socket.settimeout(self._answer_s)
            self._socket.sendall(json.dumps({command: arguments}).encode() + b"\n")
        except OSError as error:
            raise self._gone(error) from error

    def _hear(self) -> bytes:
        """The next line. Raises LiveError if there is none in time."""
        assert self._socket is not None
        began_s = time.monotonic()
        while (end := self._read.find(b"\n")) < 0:
            try:
                self._socket.settimeout(_STEP_S)
                more = self._socket.recv(1 << 16)
            except TimeoutError as error:
                if time.monotonic() - began_s > self._answer_s:
                    raise self._gone(error) from error
                continue
            except OSError as error:
                raise self._gone(error) from error
            if not more:
                raise self._gone()
            self._read += more
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        return line

    def hurry(self) -> None:
        """On Ctrl-C: who waits for an agent that hangs need not wait for long."""
        self._answer_s = min(self._answer_s, _HURRY_S)

    def close(self) -> None:
        """Ends the agent, which removes itself."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_CONNECT_S if self.broken is None else 0)
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _open_socket(self, path: Path) -> None:
        opened = socket.socket(socket.AF_UNIX)
        self._socket = opened
        opened.settimeout(self._answer_s)
        try:
            opened.connect(str(path))
        except OSError as error:
            raise LiveError(f"--dut {self.target}: cannot connect to {path}: {error.strerror}") from error

    def _open_ssh(self, target: str) -> None:
        machine = self._once("uname -m").decode().strip()
        agent = agent_for(machine).read_bytes()
        place = self._once("mktemp -d /tmp/irqlab.XXXXXX").decode().strip()
        self._once(f"cat > {place}/irqlab-board && chmod 700 {place}/irqlab-board", agent)
        run = f"{place}/irqlab-board agent --stdio; rm -rf {place}"
        ours, agents = socket.socketpair()  # unlike pipes, sockets have a time limit
        self._socket = ours
        with agents:
            self._process = subprocess.Popen(
                [*_ssh(target), f"trap '' INT; {run}"],
                stdin=agents.fileno(),
                stdout=agents.fileno(),
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _once(self, command: str, stdin: bytes = b"") -> bytes:
        """Runs a command on the DUT. Raises LiveError."""
        try:
            done = subprocess.run(
                [*_ssh(self.target), command], input=stdin, capture_output=True, check=False, timeout=self._answer_s
            )
        except subprocess.TimeoutExpired as error:
            raise self._silent() from error
        except OSError as error:
            raise LiveError(f"--dut {self.target}: cannot run {_ssh(self.target)[0]}: {error.strerror}") from error
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").strip().splitlines()
            raise LiveError(
                f"--dut {self.target}: ssh failed: {why[-1] if why else f'exit code {done.returncode}'}; "
                f"`ssh {self.target} true` has to work without a password (ssh-copy-id {self.target})"
            )
        return done.stdout

    def _gone(self, why: Exception | None = None) -> LiveError:
        if isinstance(why, TimeoutError):
            return self._silent()
        self.broken = LiveError(
            f"--dut {self.target}: the agent is gone: the connection broke, or the device under test rebooted; "
            f"run it again when {_how(self.target)} answers"
        )
        return self.broken

    def _silent(self) -> LiveError:
        self.broken = LiveError(
            f"--dut {self.target}: no answer within {self._answer_s:g} s: the device under test or the way to it hangs; "
            f"run it again when {_how(self.target)} answers"
        )
        return self.broken


def _how(target: str) -> str:
    return target if target.startswith("unix:") else f"`ssh {target} true`"


def agent_for(machine: str) -> Path:
    """The agent for a machine, as `uname -m` names it. Raises LiveError if there is none, SetupError if it was not built."""
    if machine not in BOARD_TARGETS:
        raise LiveError(f"there is no agent for {machine}; there is one for {', '.join(BOARD_TARGETS)}")
    program = board_binary(machine)
    if machine != "x86_64" and not program.is_file():
        raise LiveError(f"the agent for {machine} has not been built: run `scripts/agents {machine}` in {project_dir()}")
    return built(program)


def _ssh(target: str) -> list[str]:
    """The command that runs another one on the DUT: `$IRQLAB_SSH` stands in for ssh."""
    own = os.environ.get("IRQLAB_SSH")
    if own:
        return [own, target]
    options = ("BatchMode=yes", f"ConnectTimeout={_CONNECT_S}", "ServerAliveInterval=5", "ServerAliveCountMax=3")
    return ["ssh", *(word for option in options for word in ("-o", option)), target]

# SPDX-License-Identifier: GPL-2.0-or-later
"""The process irqlab-live, which is the tester on real ports: started, called, ended (docs/inside/protocol.md, link 1)."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from irqlab.errors import IrqlabError
from irqlab.live.config import LiveConfig
from irqlab.qemu.cancellation import CancelledError
from irqlab.setup.paths import built, live_binary

PATIENCE_S = 5.0
"""How long the process may take to end."""


class LiveError(IrqlabError):
    """Something is wrong with a port or with the tester; the message says what to do."""


class Ports:
    """A running irqlab-live. It ends when its standard input closes, as it does if this process dies; its sockets close, too."""

    def __init__(self, config: LiveConfig) -> None:
        """Opens the ports. Raises LiveError."""
        self.pid = 0
        self._cancelled = False
        self._lock = threading.Lock()
        command = [str(binary()), *(f"--port={name}" for name in config.ports), f"--kind={config.kind.replace('_', '-')}"]
        command += [f"--cpus={config.cpus}"] if config.cpus else []
        command += ["--sleep"] if config.sleep else []
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
        except OSError as error:
            raise LiveError(f"cannot run {command[0]}: {error.strerror}") from error
        self.pid = self._process.pid
        try:
            self.hello: dict[str, Any] = self._answer()
        except BaseException:
            self.close()
            raise

    @property
    def interfaces(self) -> list[dict[str, Any]]:
        """What the tester says about its ports: name, driver, mac, line_rate_bps, ..."""
        found: list[dict[str, Any]] = self.hello["ports"]
        return found

    def call(self, op: str, **arguments: Any) -> Any:
        """Sends a command; returns the value of its answer. Raises LiveError."""
        with self._lock:
            try:
                assert self._process.stdin is not None
                self._process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
                self._process.stdin.flush()
            except (OSError, ValueError) as error:
                raise self._gone() from error
            return self._answer()

    def cancel(self) -> None:
        """Ends the process at once; who waits for an answer gets CancelledError."""
        self._cancelled = True
        self._process.kill()

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        except (OSError, ValueError) as error:
            raise self._gone() from error
        if not line:
            raise self._gone()
        answer = json.loads(line)
        if "error" in answer:
            raise LiveError(str(answer["error"]))
        return answer["ok"]

    def _gone(self) -> IrqlabError:
        if self._cancelled:
            return CancelledError("cancelled")
        said = ""
        if self._process.stderr is not None and self._process.poll() is not None:
            said = self._process.stderr.read().strip()
        return LiveError("the tester irqlab-live ended" + (f": {said}" if said else ""))


def binary() -> Path:
    """The tester: `$IRQLAB_LIVE`, else what make setup built. Raises SetupError if there is none."""
    return built(Path(os.environ.get("IRQLAB_LIVE") or live_binary()))

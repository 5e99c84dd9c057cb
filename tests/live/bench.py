# SPDX-License-Identifier: GPL-2.0-or-later
"""Namespaces for tests: a tester with ports p0 and p1, and a device under test with d0 and d1 at the other ends.

No interface of this machine is used but the veth pairs made here.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from irqlab.setup.paths import cache_dir, live_binary

ROOT = Path(__file__).resolve().parents[2]
IRQLAB = Path(sys.executable).with_name("irqlab")
_numbers = itertools.count()


def why_not() -> str:
    """Why these tests cannot run here; empty: they can."""
    if os.geteuid() != 0:
        return "needs root, to make network namespaces"
    name = f"irqlab-try-{os.getpid()}"
    for command in (("netns", "add", name), ("-n", name, "link", "add", "t0", "type", "veth", "peer", "name", "t1")):
        tried = subprocess.run(["ip", *command], capture_output=True, text=True, check=False)
        if tried.returncode:
            break
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return f"network namespaces or veth pairs are not permitted: {tried.stderr.strip()}" if tried.returncode else ""


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


class Bench:
    """Both namespaces. A context manager: leaving it removes them."""

    def __init__(self, home: Path, loop: bool = False) -> None:
        """`loop`: p0 leads to p1, and there is no device."""
        number = f"{os.getpid()}-{next(_numbers)}"
        self.home = home
        (home / "cache").mkdir(exist_ok=True)
        if not (home / "cache/roots").exists():  # what was fetched, and nothing that is measured
            (home / "cache/roots").symlink_to(cache_dir() / "roots")
        self.tester, self.device = f"irqlab-t{number}", f"irqlab-d{number}"
        self.loop = loop

    def __enter__(self) -> Bench:
        _run("ip", "netns", "add", self.tester)
        _run("ip", "netns", "add", self.device)
        if self.loop:
            _run("ip", "link", "add", "p0", "netns", self.tester, "type", "veth", "peer", "name", "p1", "netns", self.tester)
        for n in range(2):
            if not self.loop:
                ends = (f"p{n}", "netns", self.tester, "type", "veth", "peer", "name", f"d{n}", "netns", self.device)
                _run("ip", "link", "add", *ends)
                self.quiet(self.device, f"d{n}")
                _run("ip", "-n", self.device, "link", "set", f"d{n}", "up")
            self.quiet(self.tester, f"p{n}")
            _run("ip", "-n", self.tester, "link", "set", f"p{n}", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for name in (self.tester, self.device):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    def quiet(self, namespace: str, interface: str) -> None:
        """Keeps the namespace's own network stack from sending and forwarding there."""
        settings = (f"net.ipv6.conf.{interface}.disable_ipv6=1", f"net.ipv4.conf.{interface}.forwarding=0")
        for setting in settings:
            name, _, value = setting.partition("=")
            self.run(namespace, "sh", "-c", f"echo {value} > /proc/sys/{name.replace('.', '/')}")

    def run(self, namespace: str, *argv: str) -> str:
        """Runs a command in a namespace; returns what it printed."""
        return subprocess.run(["ip", "netns", "exec", namespace, *argv], check=True, capture_output=True, text=True).stdout

    def route(self) -> None:
        """Makes the device a router with the addresses of the lab's."""
        self.run(self.device, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        for n in range(2):
            _run("ip", "-n", self.device, "address", "add", f"198.{18 + n}.0.1/24", "dev", f"d{n}")

    @contextmanager
    def impaired(self, **plan: Any) -> Iterator[subprocess.Popen[str]]:
        """Makes the device a bridge with these impairments (tests.live.impair.Plan)."""
        program = str(ROOT / "tests/live/impair.py")
        command = ["ip", "netns", "exec", self.device, sys.executable, program, "d0", "d1", json.dumps(plan)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process

    def did(self, process: subprocess.Popen[str]) -> dict[str, int]:
        """Ends the bridge; returns what it did."""
        out, _ = process.communicate()
        found: dict[str, int] = json.loads(out)
        return found

    @property
    def env(self) -> dict[str, str]:
        """The environment of commands: calibrations and journals are the test's own."""
        return {**os.environ, "IRQLAB_CACHE": str(self.home / "cache"), "COLUMNS": "200"}

    def refusal(self, *options: str) -> str:
        """Why irqlab-live does not open the ports; empty: it does."""
        ports = ("--port=p0", "--port=p1", "--sleep")
        command = ["ip", "netns", "exec", self.tester, str(live_binary()), *ports, *options]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return str(json.loads(done.stdout)["error"]) if done.returncode else ""

    def popen(self, *argv: str, env: dict[str, str] | None = None, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Starts a command in the tester's namespace."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.tester, *argv],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**self.env, **(env or {})},
            # Shells start background processes with SIGINT ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def irqlab(self, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Runs `irqlab live`: exit code, output, errors."""
        process = self.popen(str(IRQLAB), "live", *arguments, env=env)
        out, err = process.communicate()
        return process.returncode, out, err

    def start_trials(
        self, trials: Sequence[dict[str, Any]], kind: str = "af_packet", sleep: bool = True, bridge: bool = True
    ) -> subprocess.Popen[str]:
        """Starts tests.live.trial."""
        wanted = {"kind": kind, "sleep": sleep, "bridge": bridge, "trials": list(trials)}
        return self.popen(sys.executable, "-m", "tests.live.trial", "p0", "p1", json.dumps(wanted))

    def trials(self, trials: Sequence[dict[str, Any]], **how: Any) -> list[dict[str, Any]]:
        """Runs trials; returns their results."""
        out, err = self.start_trials(trials, **how).communicate()
        lines = [json.loads(line) for line in out.splitlines()]
        assert len(lines) == len(trials) + 1, err
        return lines[1:]

    def commands(self, *commands: list[str] | dict[str, Any], env: dict[str, str] | None = None) -> list[tuple[int, str, str]]:
        """Runs `irqlab live` commands in one process: exit code, output, errors of each."""
        out, err = self.popen(sys.executable, "-m", "tests.live.commands", json.dumps(commands), env=env).communicate()
        lines = [json.loads(line) for line in out.splitlines()]
        assert len(lines) == sum(isinstance(one, list) for one in commands), err
        return [(int(code), str(text), str(errors)) for code, text, errors in lines]

    def ssh(self) -> dict[str, str]:
        """The environment in which ssh leads to the device's namespace."""
        program = self.home / "ssh"
        program.write_text(f'#!/bin/sh\nshift\nexec ip netns exec {self.device} sh -c "$1"\n')
        program.chmod(0o755)
        return {"IRQLAB_SSH": str(program)}

    def state(self, namespace: str) -> str:
        """Addresses, links, neighbours and settings of a namespace, for comparison."""
        names = [name for name in ("p0", "p1", "d0", "d1") if name in self.run(namespace, "ls", "/sys/class/net").split()]
        settings = [f"/proc/sys/net/ipv4/conf/{name}/forwarding" for name in names]
        settings += [f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6" for name in names] + ["/proc/sys/net/ipv4/ip_forward"]
        said = [self.run(namespace, "ip", "-o", "-4", "address"), self.run(namespace, "ip", "neigh", "show", "nud", "permanent")]
        links = self.run(namespace, "ip", "-o", "link")
        said += [
            f"{name} {'UP' in flags.split(',')}" for name, flags in re.findall(r"^\d+: (\w+).*?<([^>]*)>", links, re.MULTILINE)
        ]
        said += [self.run(namespace, "ethtool", "-k", name) for name in names]
        return "\n".join([*said, self.run(namespace, "cat", *settings)])

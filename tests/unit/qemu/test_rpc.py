# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls to the tester, over a socket pair on whose other end a thread answers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import AGENT_LIMIT_NS, PROTOCOL, ConnectionLostError, Rpc, TesterError, UnsupportedError
from irqlab.qemu.watchdog import NoAnswerError

HELLO = {"ok": {"hello": "irqlab-tester", "version": "0", "protocol": PROTOCOL}}


class Watch:
    """A watchdog that lets the tester answer at its third look, or finds the DUT stuck."""

    def __init__(self, answer: Callable[[], None], stuck: bool = False) -> None:
        self.looks, self.begun, self.pause_s = 0, 0, 0.0
        self._answer, self._stuck = answer, stuck

    def begin(self) -> None:
        self.begun += 1

    def look(self) -> None:
        self.looks += 1
        if self.looks == 3 and self._stuck:
            raise NoAnswerError("stuck", 0x1000)
        if self.looks == 3:
            self._answer()


@contextmanager
def serving(*answers: Any) -> Iterator[tuple[socket.socket, list[dict[str, Any]]]]:
    """A tester that says hello and then these answers, one for each command; with the commands it got."""
    here, there = socket.socketpair()
    commands: list[dict[str, Any]] = []

    def serve() -> None:
        with there, there.makefile("r") as lines:
            there.sendall(json.dumps(HELLO).encode() + b"\n")
            for answer in answers:
                commands.append(json.loads(lines.readline()))
                there.sendall(json.dumps(answer).encode() + b"\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield here, commands
    thread.join(5)
    here.close()


def connect(sock: socket.socket, **options: Any) -> Rpc:
    rpc = Rpc(sock, **options)
    rpc.greet()
    return rpc


def test_commands_and_answers() -> None:
    with serving({"ok": {"now_ns": 7}}, {"ok": {"code": 0}}, {"ok": 1}, {"ok": 2}) as (sock, commands):
        rpc = connect(sock)
        assert rpc.call("clock") == {"now_ns": 7}
        assert rpc.guest("exec", argv=["true"], stdin=None) == {"code": 0}
        rpc.guest("sleep", ns=5, limit_ns=9)
        rpc.agent_limit_ns = 3
        rpc.guest("kmsg")
    assert commands == [
        {"op": "clock"},
        {"op": "guest", "do": {"exec": {"argv": ["true"], "stdin": None}}, "limit_ns": AGENT_LIMIT_NS},
        {"op": "guest", "do": {"sleep": {"ns": 5}}, "limit_ns": 9},
        {"op": "guest", "do": {"kmsg": {}}, "limit_ns": 3},
    ]


def test_a_refusal_is_an_error_and_the_next_command_is_answered() -> None:
    with serving({"error": "ports: no", "kind": "refused"}, {"ok": 3}) as (sock, _):
        rpc = connect(sock)
        with pytest.raises(TesterError, match="ports: no"):
            rpc.call("ports", ports=[])
        assert rpc.call("clock") == 3


def test_another_protocol_is_refused() -> None:
    here, there = socket.socketpair()
    there.sendall(b'{"ok": {"protocol": 1}}\n')
    with pytest.raises(TesterError, match=f"protocol version 1, irqlab {PROTOCOL}: run make setup"):
        Rpc(here).greet()


def test_a_lost_connection_is_told_from_a_refusal() -> None:
    with serving() as (sock, _):
        rpc = connect(sock)
        with pytest.raises(ConnectionLostError):
            rpc.call("clock")


def test_after_an_agent_that_was_silent_nothing_is_asked() -> None:
    """The tester reads commands only while the agent asks for them: another call would wait for ever."""
    silent = {"error": "no answer within 60000 ms", "kind": "silent"}
    with serving({"error": "read: no such file", "kind": "refused"}, silent) as (sock, commands):
        rpc = connect(sock)
        with pytest.raises(TesterError):
            rpc.guest("read", paths=["/x"])
        for call in (lambda: rpc.guest("sleep", ns=1), lambda: rpc.guest("kmsg"), lambda: rpc.call("clock")):
            with pytest.raises(NoAnswerError, match="no answer within 60000 ms"):
                call()
    assert len(commands) == 2


def _watched(looks: Sequence[bytes], stuck: bool = False) -> tuple[Rpc, Watch, socket.socket]:
    here, there = socket.socketpair()
    there.sendall(json.dumps(HELLO).encode() + b"\n")
    watch = Watch(lambda: there.sendall(looks[0]), stuck)
    return connect(here, watchdog=watch), watch, there


def test_the_watchdog_looks_until_the_agent_answers() -> None:
    rpc, watch, _there = _watched([b'{"ok": {"code": 5}}\n'])
    assert rpc.guest("exec", argv=["x"]) == {"code": 5}
    assert (watch.begun, watch.looks) == (1, 3)


def test_a_trial_is_one_command_and_watched() -> None:
    rpc, watch, there = _watched([b'{"ok": {"streams": []}}\n'])
    assert rpc.run("trial", trial={"id": 1}, patience_ns=5) == {"streams": []}
    assert json.loads(there.recv(1 << 16)) == {"op": "trial", "trial": {"id": 1}, "patience_ns": 5}
    assert (watch.begun, watch.looks) == (1, 3)


def test_commands_to_the_tester_are_not_watched() -> None:
    rpc, watch, there = _watched([b""])
    there.sendall(b'{"ok": 1}\n')
    assert rpc.call("clock") == 1
    there.sendall(b'{"ok": 2}\n')
    assert rpc.guest("sleep", watched=False, ns=1) == 2
    assert (watch.begun, watch.looks) == (0, 0)


def test_a_dut_that_is_stuck_ends_the_wait() -> None:
    rpc, watch, _there = _watched([b""], stuck=True)
    for _ in range(2):
        with pytest.raises(NoAnswerError, match="stuck") as caught:
            rpc.guest("exec", argv=["x"])
        assert caught.value.rsp == 0x1000
    assert watch.looks == 3


def test_a_connection_that_ends_while_it_is_watched() -> None:
    here, there = socket.socketpair()
    there.sendall(json.dumps(HELLO).encode() + b"\n")
    rpc = connect(here, watchdog=Watch(there.close))
    with pytest.raises(ConnectionLostError):
        rpc.guest("exec", argv=["x"])


KINDS = [("refused", TesterError), ("unsupported", UnsupportedError), ("silent", NoAnswerError)]


@pytest.mark.parametrize(("kind", "expected"), KINDS)
def test_an_error_has_its_kind(kind: str, expected: type[IrqlabError]) -> None:
    with serving({"error": "not supported", "kind": kind}) as (sock, _):
        rpc = connect(sock)
        with pytest.raises(IrqlabError, match="not supported") as raised:
            rpc.call("plug", port=0, plugged=False)
    assert type(raised.value) is expected

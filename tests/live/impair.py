# SPDX-License-Identifier: GPL-2.0-or-later
"""A bridge between two interfaces that delays, loses, duplicates or reorders stream frames as told, or forwards so many a second.

It runs in the namespace of the device under test: ``python impair.py d0 d1 '{"delay_ns": 2000000}'``. What it did is printed
as JSON when its standard input ends.
"""

from __future__ import annotations

import heapq
import json
import os
import select
import socket
import struct
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

ETH_P_ALL = 3
PACKET_OUTGOING = 4
SO_TIMESTAMPNS = 35
TIMESPEC = struct.Struct("@qq")
TAG_AT = 42
SIGNATURE = b"IRQ1"
BATCH = 64


@dataclass(frozen=True)
class Plan:
    """What happens to stream frames; of every `..._every` frames the last one is meant. 0: none."""

    delay_ns: int = 0
    lose_every: int = 0
    duplicate_every: int = 0
    swap_every: int = 0
    """It is sent after the frame that follows it."""
    rate_pps: float = 0.0
    """At most so many frames a second; 0: all of them."""
    queue: int = 16
    """With a rate: so many frames wait, others are lost. Counted by when the kernel received them, so a busy host that keeps
    this program from running does not make it lose more."""


class Bridge:
    """The bridge."""

    def __init__(self, names: list[str], plan: Plan) -> None:
        self.plan = plan
        self.sockets = [self._open(name) for name in names]
        self.waiting: list[tuple[int, int, int, bytes]] = []
        """(when, number, interface, frame), a heap."""
        self.number = 0
        self.seen = [0, 0]
        self.held: list[bytes | None] = [None, None]
        self.free_ns = [0, 0]
        self.did: Counter[str] = Counter()

    @staticmethod
    def _open(name: str) -> socket.socket:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        opened.bind((name, ETH_P_ALL))
        # struct packet_mreq: PACKET_MR_PROMISC, for frames to the other port
        opened.setsockopt(263, 1, socket.if_nametoindex(name).to_bytes(4, sys.byteorder) + b"\1\0" + bytes(10))
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        opened.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        opened.setblocking(False)
        return opened

    def run(self) -> None:
        """Forwards until standard input ends."""
        while True:
            timeout = max(0.0, (self.waiting[0][0] - time.time_ns()) / 1e9) if self.waiting else None
            ready, _, _ = select.select([*self.sockets, sys.stdin], [], [], timeout)
            self._send()
            if sys.stdin in ready and not sys.stdin.buffer.read1(1):
                return
            for side, opened in enumerate(self.sockets):
                if opened in ready:
                    self._receive(side, opened)

    def _receive(self, side: int, opened: socket.socket) -> None:
        for _ in range(BATCH):
            try:
                frame, said, _, address = opened.recvmsg(2048, socket.CMSG_SPACE(TIMESPEC.size))
            except BlockingIOError:
                return
            if address[2] != PACKET_OUTGOING:
                ((_, _, stamp),) = said
                seconds, rest_ns = TIMESPEC.unpack(stamp)
                self._take(side, frame, seconds * 1_000_000_000 + rest_ns)

    def _take(self, side: int, frame: bytes, now_ns: int) -> None:
        """`now_ns`: when the kernel received it."""
        plan, to = self.plan, 1 - side
        if frame[TAG_AT : TAG_AT + 4] != SIGNATURE:
            self._queue(now_ns, to, frame)
            return
        self.seen[side] += 1
        number = self.seen[side]

        def meant(every: int) -> bool:
            return bool(every) and number % every == 0

        if meant(plan.lose_every):
            self.did["lost"] += 1
            return
        at_ns = now_ns + plan.delay_ns
        if plan.rate_pps:
            gap_ns = round(1e9 / plan.rate_pps)
            if self.free_ns[to] > now_ns + plan.queue * gap_ns:
                self.did["lost"] += 1
                return
            at_ns = max(self.free_ns[to], at_ns)
            self.free_ns[to] = at_ns + gap_ns
        if meant(plan.swap_every):
            self.held[side] = frame
            self.did["swapped"] += 1
            return
        self._queue(at_ns, to, frame)
        if meant(plan.duplicate_every):
            self.did["duplicated"] += 1
            self._queue(at_ns, to, frame)
        if (held := self.held[side]) is not None:
            self.held[side] = None
            self._queue(at_ns, to, held)

    def _queue(self, at_ns: int, to: int, frame: bytes) -> None:
        self.number += 1
        heapq.heappush(self.waiting, (at_ns, self.number, to, frame))
        self._send()

    def _send(self) -> None:
        while self.waiting and self.waiting[0][0] <= time.time_ns():
            _, _, to, frame = heapq.heappop(self.waiting)
            with suppress(BlockingIOError):
                self.sockets[to].send(frame)


def main(names: list[str], plan: dict[str, Any]) -> None:
    """Runs the bridge."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    bridge = Bridge(names, Plan(**plan))
    print("ready", flush=True)
    bridge.run()
    print(json.dumps(bridge.did), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:3], json.loads(sys.argv[3]))

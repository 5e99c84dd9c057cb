# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames a second over a veth pair: the tester's two kinds of ports, beside trafgen (netsniff-ng) and xdp-trafficgen (xdp-tools).

``python -m tests.live.rates [SECONDS [ROUNDS]]`` prints a table and the load of the machine. Not a test: it needs both tools, and
a machine that is not busy.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.live.bench import Bench, why_not

SIZES = (64, 1518)
OFFERED_PPS = 5_000_000
SETTLE_S = 0.5


def ours(bench: Bench, kind: str, size: int, seconds: float) -> tuple[float, float]:
    """Frames a second sent and received by irqlab-live, of a load that is too high."""
    trial = {"rate_pps": OFFERED_PPS, "size": size, "duration_ns": round(seconds * 1e9)}
    (found,) = bench.trials([trial], kind=kind, sleep=False)
    (stream,) = found["streams"]
    return stream["sent"] / seconds, stream["received_in_window"] / seconds


def theirs(bench: Bench, command: list[str], seconds: float) -> tuple[float, float] | None:
    """Frames a second sent by a program, by the counters of both interfaces, while it runs; None: it does not run here."""

    def counted() -> tuple[int, int]:
        files = ("/sys/class/net/p0/statistics/tx_packets", "/sys/class/net/p1/statistics/rx_packets")
        sent, received = (int(bench.run(bench.tester, "cat", file)) for file in files)
        return sent, received

    whole = ["ip", "netns", "exec", bench.tester, "nice", "-n", "-20", *command]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(whole, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    time.sleep(SETTLE_S)
    began, before = time.monotonic(), counted()
    time.sleep(seconds)
    after, ended = counted(), time.monotonic()
    if process.poll() is not None:
        return None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    sent, received = ((new - old) / (ended - began) for old, new in zip(before, after, strict=True))
    return sent, received


def main(seconds: float, rounds: int) -> None:
    """Prints the table."""
    if why := why_not():
        raise SystemExit(why)
    print(f"{'':16} {'bytes':>5} {'sent kpps':>10} {'received':>10}   load")
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as place, Bench(Path(place), loop=True) as bench:
            macs = [json.loads(bench.run(bench.tester, "ip", "-j", "link", "show", f"p{n}"))[0]["address"] for n in range(2)]
            bench.run(bench.tester, "ethtool", "-K", "p1", "gro", "on")  # or p1 takes no frames of XDP
            cpu = str(max(os.sched_getaffinity(0)))

            def show(name: str, size: int, rates: tuple[float, float] | None) -> None:
                if rates is None:
                    print(f"{name:16} {size:5} does not run here")
                    return
                load = Path("/proc/loadavg").read_text().split()[0]
                print(f"{name:16} {size:5} {rates[0] / 1e3:10.0f} {rates[1] / 1e3:10.0f}   {load}", flush=True)

            for size in SIZES:
                for kind in ("af_packet", "af_xdp"):
                    show(kind, size, ours(bench, kind, size, seconds))
                packet = Path(place) / "packet"
                payload = size - 4 - 14 - 20 - 8
                packet.write_text(
                    f"{{ eth(da={macs[1]}, sa={macs[0]}), ipv4(sa=198.18.0.2, da=198.19.0.2, ttl=64), udp(sp=49184, dp=9), "
                    f"fill('B', {payload}) }}\n"
                )
                trafgen = ["trafgen", "--dev", "p0", "--conf", str(packet), "--cpus", "1", "--no-cpu-stats"]
                show("trafgen", size, theirs(bench, ["taskset", "-c", cpu, *trafgen], seconds))
            generator = ["xdp-trafficgen", "udp", "-M", macs[0], "-m", macs[1], "-t", "1", "p0"]
            show("xdp-trafficgen", 64, theirs(bench, ["taskset", "-c", cpu, *generator], seconds))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, int(sys.argv[2]) if len(sys.argv) > 2 else 1)

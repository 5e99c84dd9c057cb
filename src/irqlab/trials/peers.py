# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts the two ends of an iperf3 test, in the DUT and in the tester, and reads their reports (docs/use/iperf.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irqlab.config.addresses import dut_ip, dut_mac, tester_ip
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut

PORT = 0
"""The tester's port with the peer host."""
DATAGRAM_BYTES = 1448
DATAGRAM_OVERHEAD_BYTES = 66
"""UDP, IPv4 and Ethernet headers, FCS, preamble and gap."""
REAP_LIMIT_NS = 120_000_000_000
SHARES = (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999))


def wire_payload_bps(line_rate_bps: int, datagram_bytes: int = DATAGRAM_BYTES) -> int:
    """UDP payload at line rate, in bit/s."""
    return line_rate_bps * datagram_bytes // (datagram_bytes + DATAGRAM_OVERHEAD_BYTES)


def server(window_bytes: int, port: int = 5201, bucket_ns: int = 0) -> dict[str, Any]:
    """An iperf3 server run by the tester (docs/inside/protocol.md, APP)."""
    return {"kind": "iperf3_server", "port": port, "window_bytes": window_bytes, "bucket_ns": bucket_ns}


def there(**more: Any) -> dict[str, Any]:
    """An application run by the tester that talks to the DUT."""
    return {"to": dut_ip(PORT), "to_mac": dut_mac(PORT), **more}


def serve(dut: Dut, apps: Sequence[dict[str, Any]]) -> int:
    """Starts applications in the tester; returns their start in virtual time, in ns."""
    return int(dut.rpc.call("apps", port=PORT, apps=list(apps))["origin_ns"])


def results(dut: Dut) -> list[dict[str, Any]]:
    """The results of the tester's applications so far."""
    found: list[dict[str, Any]] = dut.rpc.call("app_results", port=PORT)["apps"]
    return found


def now_ns(dut: Dut) -> int:
    """The virtual time, in ns."""
    return int(dut.rpc.call("clock")["now_ns"])


def spawn(dut: Dut, *argv: str) -> int:
    """Starts a process in the DUT; returns its ID."""
    return int(dut.rpc.guest("spawn", argv=list(argv))["pid"])


def iperf3(dut: Dut, *options: str) -> int:
    """Starts iperf3 in the DUT, with one report in JSON at the end; returns its process ID."""
    return spawn(dut, "iperf3", "--json", "--interval", "0", *options)


def client_options(seconds: int, parallel: int, port: int = 5201, reverse: bool = False, dscp: int = 0) -> list[str]:
    """Options of an iperf3 client in the DUT. `dscp`: the mark of the packets of both ends (RFC 2474)."""
    options = ["--client", tester_ip(PORT), "--port", str(port), "--time", str(seconds), "--parallel", str(parallel)]
    options += ["--dscp", str(dscp)] if dscp else []
    return [*options, "--reverse"] if reverse else options


def reap(dut: Dut, pid: int, signal: int | None = None) -> dict[str, Any]:
    """Waits for a process in the DUT to end; returns its code, out and err."""
    done: dict[str, Any] = dut.rpc.guest("reap", pid=pid, signal=signal, limit_ns=REAP_LIMIT_NS)
    return done


def said(dut: Dut, pid: int) -> dict[str, Any]:
    """The final report of an iperf3 in the DUT. Raises DutError if it failed."""
    done = reap(dut, pid)
    try:
        report: dict[str, Any] = json.loads(done["out"])
    except json.JSONDecodeError:
        report = {"error": (done["err"] or done["out"]).strip()}
    if "error" in report or done["code"] != 0:
        raise DutError(f"iperf3 in the DUT failed ({done['code']}): {report.get('error', done['err'])}")
    return report


@dataclass(frozen=True)
class Account:
    """Counters of one end of an iperf3 test."""

    bytes: int
    """Bytes of payload."""
    bps: float
    """Payload, bit/s."""
    retransmits: int | None
    """Segments retransmitted; None unless it sends TCP."""
    datagrams: int | None
    """None for TCP."""
    lost: int | None
    """Datagrams lost; None unless it receives UDP."""
    jitter_ns: int | None


def dut_count(report: dict[str, Any], udp: bool, sends: bool) -> Account:
    """The DUT's counters. When receiving UDP, `datagrams` covers those up to the last one received, `lost` the missing ones."""
    streams = report["end"]["streams"]
    side = "udp" if udp else "sender" if sends else "receiver"
    sums = [stream[side] for stream in streams]
    received = udp and not sends
    # iperf3 reports the sender's counts per stream, even at the receiver; only the sum has the receiver's.
    counts = [report["end"]["sum_received"]] if received else sums
    seconds = max(float(s["seconds"]) for s in counts)
    count = sum(int(s["bytes"]) for s in counts)
    return Account(
        bytes=count,
        bps=8 * count / seconds if seconds else 0.0,
        retransmits=sum(int(s["retransmits"]) for s in sums) if sends and not udp else None,
        datagrams=sum(int(s["packets"]) for s in counts) if udp else None,
        lost=sum(int(s["lost_packets"]) for s in counts) if received else None,
        jitter_ns=round(max(float(s["jitter_ms"]) for s in sums) * 1e6) if received else None,
    )


def tester_count(test: dict[str, Any]) -> Account:
    """The tester's counters of a test. Raises DutError if the test failed."""
    if not test["done"]:
        raise DutError(f"the tester's end of the iperf3 test failed: {test['error'] or 'it did not end'}")
    streams, udp = test["streams"], test["udp"]
    sends = any(stream["sends"] for stream in streams)
    seconds = max(float(stream["seconds"]) for stream in streams)
    count = sum(stream["bytes"] for stream in streams)
    received = udp and not sends
    return Account(
        bytes=count,
        bps=8 * count / seconds if seconds else 0.0,
        retransmits=sum(s["retransmits"] for s in streams) if sends and not udp else None,
        datagrams=sum(s["datagrams"] for s in streams) if udp else None,
        lost=sum(s["lost"] for s in streams) if received else None,
        jitter_ns=max(s["jitter_ns"] for s in streams) if received else None,
    )


def together(accounts: Sequence[Account]) -> Account:
    """The account of several tests of TCP that ran at the same time."""
    sent = [one.retransmits for one in accounts if one.retransmits is not None]
    return Account(
        bytes=sum(one.bytes for one in accounts),
        bps=sum(one.bps for one in accounts),
        retransmits=sum(sent) if sent else None,
        datagrams=None,
        lost=None,
        jitter_ns=None,
    )


@dataclass(frozen=True)
class RoundTrips:
    """Percentiles of round-trip times (nearest rank), in ns; zeros if there were none."""

    count: int
    min_ns: int = 0
    mean_ns: float = 0.0
    p50_ns: int = 0
    p90_ns: int = 0
    p99_ns: int = 0
    p999_ns: int = 0
    max_ns: int = 0


def round_trips(rtts_ns: Sequence[int]) -> RoundTrips:
    """The percentiles of round-trip times in ns."""
    ordered = sorted(rtts_ns)
    if not ordered:
        return RoundTrips(0)
    ranks = {name: ordered[math.ceil(share * len(ordered)) - 1] for name, share in SHARES}
    return RoundTrips(count=len(ordered), min_ns=ordered[0], mean_ns=sum(ordered) / len(ordered), max_ns=ordered[-1], **ranks)

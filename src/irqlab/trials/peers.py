# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT and the tester's host as the two ends of iperf3 tests: starting them, and reading what they say (docs/iperf.md)."""

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
"""The port of the tester whose host is the other end."""
DATAGRAM_BYTES = 1448
DATAGRAM_OVERHEAD_BYTES = 66
"""UDP, IPv4 and Ethernet headers, FCS, preamble and gap."""
REAP_LIMIT_NS = 120_000_000_000
SHARES = (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999))


def wire_payload_bps(line_rate_bps: int, datagram_bytes: int = DATAGRAM_BYTES) -> int:
    """What the wire carries of UDP payload, in bit/s."""
    return line_rate_bps * datagram_bytes // (datagram_bytes + DATAGRAM_OVERHEAD_BYTES)


def server(window_bytes: int, port: int = 5201, bucket_ns: int = 0) -> dict[str, Any]:
    """An iperf3 server of the tester's (docs/protocol.md, APP)."""
    return {"kind": "iperf3_server", "port": port, "window_bytes": window_bytes, "bucket_ns": bucket_ns}


def there(**more: Any) -> dict[str, Any]:
    """An application of the tester's that speaks to the DUT."""
    return {"to": dut_ip(PORT), "to_mac": dut_mac(PORT), **more}


def serve(dut: Dut, apps: Sequence[dict[str, Any]]) -> int:
    """Starts applications of the tester's; returns the virtual time of their beginning, in ns."""
    return int(dut.rpc.call("apps", port=PORT, apps=list(apps))["origin_ns"])


def results(dut: Dut) -> list[dict[str, Any]]:
    """What came of the tester's applications so far."""
    found: list[dict[str, Any]] = dut.rpc.call("app_results", port=PORT)["apps"]
    return found


def now_ns(dut: Dut) -> int:
    """The virtual time, in ns."""
    return int(dut.rpc.call("clock")["now_ns"])


def spawn(dut: Dut, *argv: str) -> int:
    """Starts a process in the DUT; returns its number."""
    return int(dut.rpc.guest("spawn", argv=list(argv))["pid"])


def iperf3(dut: Dut, *options: str) -> int:
    """Starts iperf3 in the DUT, which reports once, in JSON; returns its process number."""
    return spawn(dut, "iperf3", "--json", "--interval", "0", *options)


def client_options(seconds: int, parallel: int, port: int = 5201, reverse: bool = False) -> list[str]:
    """Options of a client in the DUT."""
    options = ["--client", tester_ip(PORT), "--port", str(port), "--time", str(seconds), "--parallel", str(parallel)]
    return [*options, "--reverse"] if reverse else options


def reap(dut: Dut, pid: int, signal: int | None = None) -> dict[str, Any]:
    """Waits for a process of the DUT to end; returns its code, out and err."""
    done: dict[str, Any] = dut.rpc.guest("reap", pid=pid, signal=signal, limit_ns=REAP_LIMIT_NS)
    return done


def said(dut: Dut, pid: int) -> dict[str, Any]:
    """What an iperf3 of the DUT reports at its end. Raises DutError if it failed."""
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
    """What one end of an iperf3 test counted."""

    bytes: int
    """Of payload."""
    bps: float
    """Payload, bit/s."""
    retransmits: int | None
    """Segments sent again; None where it did not send TCP."""
    datagrams: int | None
    """None for TCP."""
    lost: int | None
    """Datagrams; None where it did not receive UDP."""
    jitter_ns: int | None


def dut_count(report: dict[str, Any], udp: bool, sends: bool) -> Account:
    """The DUT's account. Of datagrams it receives: those up to the last that came, and how many of them did not."""
    streams = report["end"]["streams"]
    side = "udp" if udp else "sender" if sends else "receiver"
    sums = [stream[side] for stream in streams]
    received = udp and not sends
    # iperf3 puts what the sender says it sent where the streams' own counts should be; the sum has the receiver's.
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
    """The tester's account of a test. Raises DutError if the test failed."""
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


@dataclass(frozen=True)
class RoundTrips:
    """Percentiles of round-trip times (nearest rank), in ns; zeros if there was none."""

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

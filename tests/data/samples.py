# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents in the shape of docs/use/results.md from made-up formulas, for tests of what reads them.

Nothing here was measured; every command says so. One is kept in sample_patched.json, so that a change of the format is seen.
`.venv/bin/python -m tests.data.samples` writes it anew.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any

import msgspec

from irqlab.config.traffic import FrameSize, Load, mean_frame_bytes, wire_rate_pps
from irqlab.dut.counters import STATISTICS, Counters
from irqlab.methods import catalogue
from irqlab.methods.metrics import METRICS, base_rates
from irqlab.profile.tree import totals
from irqlab.results import document as results
from irqlab.results.document import MethodResult
from irqlab.trials import iperf, rrul
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from irqlab.trials.record import Port, Stream
from tests.data.sample_documents import MIPS, WIRE_BPS, document, dut

KEPT = Path(__file__).with_name("sample_patched.json")

SIZES: tuple[FrameSize, ...] = (64, 128, 256, 512, 1024, 1280, 1518, "imix")
LATENCY = (0.1, 0.5, 0.9, 1.0)
LOSS = (0.25, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)


@dataclass(frozen=True)
class Made:
    """A made-up driver."""

    driver: str
    nic: str
    rx: str | None
    tx: str | None
    instructions: int
    """For a frame at the throughput."""
    interrupts: float
    """Per frame at low load."""
    slope: float
    """Frames lost for each offered above the throughput."""
    variant: str | None = None

    @property
    def schemes(self) -> dict[str, Any] | None:
        """As the DUT states them."""
        if self.rx is None:
            return None
        return {"variant": self.variant, "rx": self.rx, "tx": self.tx, "weight": 32, "tx_frames": 128}


ALL = (
    Made("sample8139", "rtl8139", None, None, 4507, 1.9, 0.01),
    Made("sample8255x", "i82557b", "interrupt", "interrupt", 5047, 2.0, 0.52),
    Made("sample8255x", "i82557b", "de", "off", 3690, 1.0, 0.16),
    Made("sample8255x", "i82557b", "napi", "off", 3711, 0.95, 0.0, "NAPI-TX-OFF"),
    Made("sample8255x", "i82557b", "timer", "coalesce", 3998, 0.02, 0.03),
)


def encode(counts: dict[int, int], digits: int = 3) -> str:
    """An HdrHistogram, V2, deflated, base64: the inverse of irqlab.results.histogram.decode for (value, count)."""
    half = 1 << ((2 * 10**digits - 1).bit_length() - 1)
    slots: dict[int, int] = {}
    for value, count in counts.items():
        bucket = 0
        while value >> bucket >= 2 * half:
            bucket += 1
        index = (bucket + 1) * half + (value >> bucket) - half
        slots[index] = slots.get(index, 0) + count
    payload, at = b"", 0
    for index in sorted(slots):
        if index > at:
            payload += _leb(at - index)
        payload += _leb(slots[index])
        at = index + 1
    body = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, digits, 1, 10**10, 1.0) + payload
    packed = zlib.compress(body, 9)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()


def _leb(value: int) -> bytes:
    word = (value << 1) ^ (value >> 63)
    out = bytearray()
    while word > 0x7F:
        out.append(word & 0x7F | 0x80)
        word >>= 7
    out.append(word)
    return bytes(out)


@cache
def latencies(base_ns: float, load: float, frames: int = 10_000) -> list[int]:
    """Sorted made-up latencies: a floor, an exponential queue that grows with the load, and a rare tick of the clock."""
    queue = base_ns * (0.15 + 0.8 * load**4)
    found = []
    for n in range(frames):
        value = base_ns - queue * log(1 - (n + 0.5) / frames) * 0.25
        found.append(round(value + (11 * base_ns if n % 1250 == 1249 else 0)))
    return sorted(found)


def latency(base_ns: float, load: float, histogram: bool) -> dict[str, Any]:
    """A latency record of docs/inside/protocol.md."""
    found = latencies(base_ns, load)

    def at(quantile: float) -> int:
        return found[min(len(found) - 1, int(quantile * len(found)))]

    counts: dict[int, int] = {}
    for value in found:
        counts[value // 32 * 32] = counts.get(value // 32 * 32, 0) + 1
    return {
        "count": len(found),
        "min_ns": found[0],
        "mean_ns": sum(found) / len(found),
        "p50_ns": at(0.5),
        "p90_ns": at(0.9),
        "p99_ns": at(0.99),
        "p999_ns": at(0.999),
        "max_ns": found[-1],
        "histogram": encode(counts) if histogram else None,
    }


def total_throughput_pps(made: Made, size: FrameSize, bidirectional: bool) -> tuple[float, bool]:
    """Made-up throughput, all directions together, and whether it is the wire's."""
    wire = wire_rate_pps(mean_frame_bytes(size), WIRE_BPS) * (2 if bidirectional else 1)
    cpu = MIPS * 1e6 / (made.instructions + 0.25 * mean_frame_bytes(size))
    return min(wire, cpu), wire <= cpu


def forwarded_pps(made: Made, offered: float, cap: float) -> float:
    """Made-up forwarding rate."""
    return offered if offered <= cap else max(0.0, cap - made.slope * (offered - cap))


def interrupts_per_frame(made: Made, load: float, forwarded: float, offered: float) -> float | None:
    """Made-up interrupts per frame forwarded."""
    if not forwarded:
        return None
    per_offered = made.interrupts if made.rx in ("interrupt", "timer") else made.interrupts * exp(-1.6 * max(0.0, load - 0.4))
    return per_offered * min(offered / forwarded, 30)


def trial(made: Made, spec: ForwardingTrial, loss: bool) -> ForwardingResult:
    """A made-up trial."""
    seconds = spec.duration_ns / 1e9
    streams: list[Stream] = []
    for number, load in enumerate(spec.loads):
        for source in (0, 1) if spec.bidirectional else (0,):
            sent = round(load.rate_pps * seconds)
            lost = sent // 50 if loss else 0
            streams.append(
                msgspec.convert({
                    "from": source, "to": 1 - source, "load": number, "intended": sent, "sent": sent, "refused": lost,
                    "received": sent - lost, "lost": lost, "reordered": 0, "duplicated": 0, "corrupted": 0, "late": 0,
                    "received_in_window": sent - lost, "last_received_after_ns": 18_000,
                    "first_lost_sent_ns": 4_000_000 if loss else None,
                    "last_lost_sent_ns": spec.duration_ns - 1 if loss else None,
                    "latency": latency(20_000, 1.0, False), "ipdv": {"count": sent, "mean_abs_ns": 310.5, "max_abs_ns": 90_000},
                    "series": None,
                }, Stream)
            )  # fmt: skip
    total = sum(s.sent for s in streams)
    lost = sum(s.lost for s in streams)
    return ForwardingResult(
        spec=spec,
        streams=streams,
        ports=[Port(sent=total, refused=lost, received=total - lost, stray=0, host=2, corrupted=0)] * 2,
        instructions=made.instructions * (total - lost),
        idle_ns=0 if loss else spec.duration_ns // 100,
        counters=Counters(
            interrupts={"eth0": round(made.interrupts * total / 2), "eth1": round(made.interrupts * total / 2)},
            softirqs={"NET_RX": total // 3, "NET_TX": 0, "TIMER": 20, "HI": 0},
            cpu_ticks={"user": 0, "nice": 0, "system": 1, "idle": 5, "iowait": 0, "irq": 4, "softirq": 10},
            interfaces={name: dict.fromkeys(STATISTICS, 0) | {"rx_packets": total} for name in ("eth0", "eth1")},
            backlog_drops=lost,
            driver={"eth0": {"rx_interrupts": total // 9, "tx_interrupts": 0}} if made.rx else {},
        ),
        link_wait_ns=60_000_000,
        kernel_log=["sample: link up"],
    )


def row(method: str, made: Made, size: FrameSize, bidirectional: bool) -> MethodResult:
    """A row with what all methods state."""
    pps, at_wire = total_throughput_pps(made, size, bidirectional)
    return MethodResult(
        method=method,
        driver=made.driver,
        nic=made.nic,
        frame_bytes=size,
        bidirectional=bidirectional,
        mips=MIPS,
        rx_scheme=made.rx,
        tx_scheme=made.tx,
        variant=made.variant,
        total_throughput_pps=pps,
        per_interface_throughput_mbps=pps / (2 if bidirectional else 1) * (mean_frame_bytes(size) + 20) * 8 / 1e6,
        line_rate_limited=at_wire,
        instructions_per_frame=made.instructions + 0.25 * mean_frame_bytes(size),
        interrupts_per_frame=interrupts_per_frame(made, 1.0, pps, pps),
        rx_interrupts_per_frame=None if made.rx is None else 0.75,
        tx_interrupts_per_frame=None if made.rx is None else 0.0 if made.tx == "off" else 0.25,
    )


def throughput(made: Made, size: FrameSize, bidirectional: bool = True) -> MethodResult:
    """A made-up RFC 2544, 26.1."""
    result = row("throughput", made, size, bidirectional)
    assert result.total_throughput_pps is not None
    rate = result.total_throughput_pps / (2 if bidirectional else 1)
    for share in (1.0,) if result.line_rate_limited else (1.3, 0.8, 1.05, 1.0, 1.002):
        spec = ForwardingTrial(loads=(Load(rate_pps=rate * share, size=size),), bidirectional=bidirectional)
        one = trial(made, spec, loss=share > 1)
        point = {"rate_pps": rate * share, "passed": share <= 1, "loss_ratio": one.loss_ratio, "kept_up": one.kept_up}
        result.samples.append(point)
        if size == 64 and share == 1:
            result.trials.append(one)
    result.summary = {"rate_pps_per_direction": rate, "relative_width": 0.002, "loss_tolerance": 0.0}
    return result


def loss(made: Made, size: FrameSize = 64, bidirectional: bool = True) -> MethodResult:
    """A made-up RFC 2544, 26.3."""
    result = row("loss", made, size, bidirectional)
    assert result.total_throughput_pps is not None
    cap = result.total_throughput_pps
    wire = 2 * wire_rate_pps(mean_frame_bytes(size), WIRE_BPS)
    for share in LOSS:
        offered = cap * share
        out = forwarded_pps(made, offered, cap * 1.01)
        ratio = 1 - out / offered
        missing = round((offered - out) * 0.2)
        backlog = made.rx == "interrupt"
        result.samples.append(
            {
                "load": share,
                "offered_pps": offered,
                "above_line_rate": offered > wire,
                "forwarded_pps": out,
                "loss_ratio": ratio,
                "instructions_per_frame": MIPS * 1e6 * min(1.0, share) / out if out else None,
                "interrupts": {"eth0": round(made.interrupts * out * 0.1), "eth1": round(made.interrupts * out * 0.1)},
                "interrupts_per_frame": interrupts_per_frame(made, share, out, offered),
                "rx_interrupts_per_frame": None if made.rx is None or not out else 0.75,
                "tx_interrupts_per_frame": None if made.rx is None or not out else 0.25,
                "idle_ratio": max(0.0, 1 - share),
                "cpu_ticks": {"user": 0, "system": 1, "idle": round(20 * max(0.0, 1 - share)), "irq": 4, "softirq": 10},
                "drops": {
                    "nic": 0 if backlog else missing,
                    "nic_counted": 0 if backlog else missing,
                    "rx_dropped": 0,
                    "backlog": missing if backlog else 0,
                    "qdisc": 0,
                    "tx_dropped": 0,
                },
            }
        )
    best = max(p["forwarded_pps"] for p in result.samples)
    gone = [p["load"] for p in result.samples if p["load"] > 1 and p["forwarded_pps"] < 0.02 * best]
    last = result.samples[-1]
    result.summary = {
        "max_forwarded_pps": best,
        "plateau_ratio": last["forwarded_pps"] / best,
        "collapse_load": min(gone) if gone else None,
    }
    result.instructions_per_frame = last["instructions_per_frame"]
    result.interrupts_per_frame = last["interrupts_per_frame"]
    return result


def latency_row(
    made: Made, bidirectional: bool = False, loads: tuple[float, ...] = LATENCY, histogram: bool = True
) -> MethodResult:
    """A made-up RFC 2544, 26.2."""
    result = row("latency", made, 64, bidirectional)
    assert result.total_throughput_pps is not None
    rate = result.total_throughput_pps / (2 if bidirectional else 1)
    base_ns = made.instructions * 4.0 + (400_000 if made.rx == "timer" else 0)
    result.samples = [
        {
            "load": load,
            "rate_pps": rate * load,
            "direction": [source, 1 - source],
            "latency": latency(base_ns + 500 * source, load, histogram),
            "ipdv": {"count": 9_999, "mean_abs_ns": 55.25 + 100 * load, "max_abs_ns": 200_000},
            "loss_ratio": 0.0,
        }
        for load in loads
        for source in ((0, 1) if bidirectional else (0,))
    ]
    return result


def burst(made: Made) -> MethodResult:
    """A made-up RFC 2544, 26.4."""
    result = row("burst", made, 64, False)
    result.total_throughput_pps = result.per_interface_throughput_mbps = result.line_rate_limited = None
    result.instructions_per_frame = result.interrupts_per_frame = None
    result.rx_interrupts_per_frame = result.tx_interrupts_per_frame = None
    longest = 297_619 if made.rx == "timer" else 90 if made.driver == "sample8139" else 1000 + made.instructions // 4
    result.samples = [{"burst_frames": longest, "passed": True}, {"burst_frames": longest + 1, "passed": False}]
    result.summary = {"longest_burst_frames": longest, "limit_frames": 297_619}
    return result


def recovery(made: Made) -> MethodResult:
    """A made-up RFC 2544, 26.5."""
    result = row("recovery", made, 64, True)
    assert result.total_throughput_pps is not None
    rate = result.total_throughput_pps / 2
    result.samples = [
        {
            "overload": over,
            "overload_pps": rate * over,
            "reduced_pps": rate * 0.5,
            "recovery_ns": round(made.slope * over * 20_000_000),
            "lost_after_reduction": round(made.slope * over * 900),
        }
        for over in (1.1, 4.0)
    ]
    return result


def profile(made: Made) -> MethodResult:
    """A made-up profile: an interrupt, a poll, and what they call."""
    result = row("profile", made, 64, False)
    assert result.total_throughput_pps is not None
    frames = 10_000
    nodes = (  # caller, function, module, owner, context, instructions and entries per frame
        (-1, "irq_entries_start", None, "interrupts", "hardirq", 2, 1),
        (0, "sample_interrupt", made.driver, "driver", "hardirq", 300, 1),
        (1, "kfree_skb", None, "allocator", "hardirq", 60, 1),
        (-1, "run_ksoftirqd", None, "interrupts", "process", 1, 0),
        (3, "handle_softirqs", None, "interrupts", "softirq", 5, 0),
        (4, "sample_poll", made.driver, "driver", "softirq", 400, 0),
        (5, "ip_rcv", None, "IP stack", "softirq", made.instructions - 828, 1),
        (5, "kfree_skb", None, "allocator", "softirq", 60, 1),
    )
    order = sorted(range(len(nodes)), key=lambda n: (-nodes[n][5], nodes[n][1]))
    result.samples = [
        {
            "function": nodes[n][1], "module": nodes[n][2], "owner": nodes[n][3], "context": nodes[n][4],
            "instructions": nodes[n][5] * frames, "entries": nodes[n][6] * frames,
        }
        for n in order
    ]  # fmt: skip
    spec = ForwardingTrial(loads=(Load(rate_pps=2 * result.total_throughput_pps),))
    result.summary = {
        "load": 2.0,
        "rate_pps": spec.loads[0].rate_pps,
        "frames": frames,
        "per": "forwarded",
        "instructions": made.instructions * frames,
        "residual": 0,
        "stacks_lost": 0,
        "interrupts": frames,
        "softirqs": 100,
        "by_owner": totals(result.samples, "owner"),
        "by_context": totals(result.samples, "context"),
        "stacks": [[n[0], order.index(k), n[5] * frames, n[6] * frames] for k, n in enumerate(nodes)],
    }
    result.trials = [trial(made, spec, loss=True)]
    return result


def without_rates(result: MethodResult) -> MethodResult:
    """A row of a method that states no rate of its own in frames."""
    result.total_throughput_pps = result.per_interface_throughput_mbps = result.line_rate_limited = None
    result.instructions_per_frame = result.interrupts_per_frame = None
    result.rx_interrupts_per_frame = result.tx_interrupts_per_frame = None
    return result


def iperf_row(made: Made) -> MethodResult:
    """Made-up iperf3 tests: TCP and UDP, both received and sent."""
    result = without_rates(row("iperf", made, 1518, False))
    for number, test in enumerate(iperf.FOUR):
        bps = 90e6 - made.instructions * 1000 - number * 1e6
        count = round(bps * test.seconds / 8)
        known = {
            "bytes": count, "bps": bps, "retransmits": None, "datagrams": count // 1448 if test.udp else None,
            "lost": None, "jitter_ns": None,
        }  # fmt: skip
        sender = {**known, "retransmits": None if test.udp else 2}
        receiver = {**known, "lost": 3, "jitter_ns": 12_000} if test.udp else known
        window_ns = test.seconds * 10**9 - iperf.BEGIN_NS - iperf.END_NS
        instructions = round(count * window_ns / 10**9 / test.seconds * made.instructions / 1448)
        result.samples.append(
            {
                "name": test.name,
                "test": {**asdict(test), "rate_bps": 95_000_000 if test.udp else 0},
                "bps": bps,
                "dut": sender if test.dut_sends else receiver,
                "tester": receiver if test.dut_sends else sender,
                "retransmits": sender["retransmits"],
                "loss_ratio": 3 * 1448 / count if test.udp else None,
                "jitter_ns": receiver["jitter_ns"],
                "window_ns": window_ns,
                "window_bps": bps,
                "instructions": instructions,
                "instructions_per_byte": made.instructions / 1448,
                "idle_ratio": 0.25,
                "soaked_ratio": 0.2 if number == 3 else None,
                "counted_ns": window_ns,
                "cpu_ticks": {"idle": 35, "softirq": 105},
                "interrupts": {"eth0": 5000 * (number + 1)},
                "interfaces": {"eth0": {"rx_packets": 1000}},
                "kernel_log": [],
            }
        )
    return result


def rrul_row(made: Made) -> MethodResult:
    """A made-up rrul: flows of a constant rate, latency that rises and falls with them."""
    result = without_rates(row("rrul", made, 1518, False))
    test = rrul.RrulTrial(seconds=2, interval_ns=40_000_000)
    began_ns, bucket = 1_010_000_000, 250_000
    series = [0] * 10 + [bucket] * 20
    for direction in ("up", "down"):
        for number, name in enumerate(rrul.FLOWS[test.test]):
            flow = {
                "flow": direction, "number": number, "traffic_class": name, "bps": 20e6,
                "retransmits": 0 if direction == "down" else None, "series": series,
            }  # fmt: skip
            result.samples.append(flow)
    heard = {f"{way} {name}": {"0": 3, str(dscp): 900} for way in ("up", "down") for name, dscp in rrul.FLOWS[test.test].items()}
    probed = {rrul.ICMP: 0, **rrul.PROBES[test.test]}
    latency: dict[str, Any] = {}
    for place, kind in enumerate(probed):
        base_ns = made.instructions * (30 + place) if place else 50_000
        probes: list[rrul.Probe] = []
        for n in range(100):
            at_ns = n * test.interval_ns
            loaded = began_ns <= at_ns < began_ns + test.seconds * 10**9
            waited_ns = 4_000_000 + n * 4000 if loaded else 0
            probes.append((at_ns, None, None) if n == 62 else (at_ns, base_ns + n * 28 + waited_ns, waited_ns))
        result.samples.append({"probe": kind, "rtts": [list(probe) for probe in probes]})
        latency[kind] = rrul.both(probes, began_ns, test.seconds)
    account = {"bytes": 20_000_000, "bps": 80e6, "retransmits": 0, "datagrams": None, "lost": None, "jitter_ns": None}
    result.summary = {
        "test": asdict(test), "began_ns": began_ns, "up_bps": 80e6, "down_bps": 80e6,
        "dut": {"up": account, "down": account},
        "latency": latency, "received_by_dscp": heard | {kind: {str(dscp): 99} for kind, dscp in probed.items()},
        "window_ns": 10**9, "instructions": 200_000_000, "idle_ratio": 0.2,
        "counted_ns": 10**9, "cpu_ticks": {"idle": 20}, "interrupts": {"eth0": 9000}, "kernel_log": [],
    }  # fmt: skip
    return result


def application(made: Made, method: str = "application") -> MethodResult:
    """A made-up application: it receives what the CPU is enough for, and less beyond that."""
    result = without_rates(row(method, made, 64, False))
    cliff_pps = MIPS * 1e6 / (made.instructions * 2.2)
    for share in (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0):
        offered = cliff_pps * share
        received = min(offered, cliff_pps * max(0.1, 1.6 - 0.3 * share))
        sent, taken = round(offered / 4), round(received / 4)
        result.samples.append(
            {
                "wait": "block",
                "offered_pps": offered,
                "application_pps": received,
                "loss_ratio": 1 - taken / sent,
                "places": {
                    "sent": sent, "nic": 0, "backlog": 0, "socket": sent - taken, "received": taken, "elsewhere": 0,
                    "application": 0,
                },
                "interrupts_per_s": min(offered, cliff_pps) * made.interrupts,
                "instructions_per_datagram": MIPS * 1e6 * min(1.0, share) / received,
                "polled_ratio": None,
                "cpu_available": max(0.0, 1 - share),
                "ksoftirqd_wakeups_per_s": 100.0 * share,
                "ksoftirqd_share": min(1.0, share / 8),
                "time_squeezes": 0,
                "switches": None,
                "latency": latency(made.instructions * 9.0, min(1.0, share), False) if method == "application" else None,
                "echo_offered_pps": offered if method == "application" else None,
                "echo_returned_pps": received if method == "application" else None,
            }
        )  # fmt: skip
    result.summary = {"best_application_pps": max(sample["application_pps"] for sample in result.samples), "impossible": []}
    return result


def cliff(made: Made) -> MethodResult:
    """A made-up cliff."""
    result = application(made, "cliff")
    cliff_pps = result.samples[5]["offered_pps"]
    result.summary = {
        "chosen": "cpu",
        "signs_pps": {"cpu": cliff_pps, "throughput": cliff_pps * 1.5, "loss": None},
        "cliff_pps": cliff_pps,
        "internal_pps": cliff_pps * 0.85,
        "profiled_pps": cliff_pps / 2,
        "interrupt_ns": 7000.0,
        "packet_ns": 40_000.0,
        "application_ns": 500.0,
        "interrupts_per_packet": 1.0,
        "command": f"echo {round(cliff_pps)} > /sys/class/net/eth0/irqmod/rx_cliff_pps",
    }
    return result


def budget(made: Made) -> MethodResult:
    """Made-up budgets: a small one serves the application."""
    result = without_rates(row("budget", made, 64, False))
    cliff_pps = MIPS * 1e6 / (made.instructions * 2.2)
    result.samples = [
        {
            "budget": frames, "application_pps": cliff_pps * (1.5 - frames / 900), "p99_ns": 75_000 + 40 * frames,
            "forwarded_pps": cliff_pps * (2 + frames / 900),
        }
        for frames in (2, 4, 6, 12, 24, 64, 128, 300)
    ]  # fmt: skip
    result.summary = {"goal": "application", "budget": 2, "cliff_pps": cliff_pps, "echo_cliff_pps": cliff_pps / 1.6}
    return result


def metrics(made: Made, size: FrameSize) -> MethodResult:
    """Made-up figures of a configuration."""
    result = row("metrics", made, size, False)
    assert result.total_throughput_pps is not None
    figures = {metric.name: made.instructions * (1.0 + 0.01 * n) for n, metric in enumerate(METRICS)}
    figures["throughput_pps"] = result.total_throughput_pps
    base_pps, _ = base_rates(result.total_throughput_pps)
    result.summary = {
        "base_pps": base_pps, "cost_pps": 0.2 * base_pps, "below_pps": 0.9 * base_pps, "overload_pps": 2 * base_pps,
        "idle_ratio": 0.6, "timed": 9000, "metrics": figures, "profile": None,
    }  # fmt: skip
    return result


def soak(made: Made) -> MethodResult:
    """A made-up soak: a frame is lost in the third interval, and memory in each; nothing arrives in the last."""
    result = row("soak", made, 64, False)
    assert result.total_throughput_pps is not None
    rate_pps, leak = 0.9 * result.total_throughput_pps, made.instructions * 256
    for n in range(5):
        silent = n == 4
        result.samples.append(
            {
                "end_ns": (n + 1) * 10**9, "sent": round(rate_pps), "lost": int(n == 2),
                "p50_ns": None if silent else 20_000 + n, "p99_ns": None if silent else 40_000 + 500 * n,
                "max_ns": None if silent else 90_000 + n, "memory_available_bytes": 200 * 2**20 - n * leak,
                "slab_bytes": 12 * 2**20 + n * leak // 2, "skb_bytes": None if made.rx is None else 30_720 + n * 512,
                "kernel_messages": ["eth0: link down", "eth0: link up"] if n == 3 else [],
            }
        )  # fmt: skip
    result.summary = {
        "rate_pps": rate_pps, "duration_ns": 5 * 10**9, "sent": 5 * round(rate_pps), "lost": 1, "worst_p99_ns": 41_500,
        "memory_drift_bytes_per_hour": 3600.0 * leak, "slab_drift_bytes_per_hour": 1800.0 * leak, "kernel_messages": 2,
    }  # fmt: skip
    return result


def typed(result: MethodResult) -> MethodResult:
    """The samples and the summary as instances of the method's types."""
    method = catalogue.methods()[result.method]
    result.samples = msgspec.convert(result.samples, list[method.sample])
    if result.complete:
        result.summary = msgspec.convert(result.summary or {}, method.summary)
    return result


def full() -> dict[str, Any]:
    """All methods that are in samples, of all drivers."""
    found = [throughput(made, size) for made in ALL for size in SIZES]
    found += [throughput(made, 64, bidirectional=False) for made in ALL]
    found += [make(made) for make in (loss, latency_row, burst, recovery) for made in ALL]
    found += [make(made) for make in (profile, iperf_row, rrul_row, application, cliff, budget) for made in ALL[:2]]
    found += [metrics(made, size) for made in ALL[:2] for size in (64, 1518)]
    found += [soak(made) for made in ALL[:2]]
    return document([typed(result) for result in found], [dut(made.driver, made.nic, schemes=made.schemes) for made in ALL])


def cut_short() -> dict[str, Any]:
    """A throughput, and one that was interrupted."""
    second = replace(throughput(ALL[0], 1518, False), complete=False, samples=[], summary=None)
    second.total_throughput_pps = second.per_interface_throughput_mbps = second.line_rate_limited = None
    second.instructions_per_frame = second.interrupts_per_frame = None
    second.trials = [trial(ALL[0], ForwardingTrial(loads=(Load(rate_pps=8127.0, size=1518),)), loss=False)]
    return document([typed(throughput(ALL[0], 64, False)), second], [dut(ALL[0].driver, ALL[0].nic)], complete=False)


def patched() -> dict[str, Any]:
    """The first driver after a change that made it faster."""
    return document([typed(throughput(replace(ALL[0], instructions=4301), 64, False))], [dut("sample8139", "rtl8139", build="2")])


def latency_only() -> dict[str, Any]:
    """Latencies in both directions, without histograms."""
    duts = [dut(made.driver, made.nic, schemes=made.schemes) for made in ALL]
    return document([typed(latency_row(made, True, (1.0,), histogram=False)) for made in ALL[:2]], duts)


ALL_SAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    "full": full, "throughput": cut_short, "patched": patched, "latency": latency_only
}  # fmt: skip


@cache
def _text(name: str) -> str:
    return json.dumps(ALL_SAMPLES[name]())


def sample(name: str = "full") -> dict[str, Any]:
    """A document as it is read from a file; made once in a process. The caller may change what it gets."""
    made: dict[str, Any] = json.loads(_text(name))
    return made


def file(directory: Path, name: str = "full") -> Path:
    """The same as a file in a directory."""
    path = directory / f"sample_{name}.json"
    results.write(path, sample(name))
    return path


if __name__ == "__main__":
    results.write(KEPT, sample("patched"))

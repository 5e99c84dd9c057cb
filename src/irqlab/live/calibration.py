# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tester itself can do, measured from port to port without a device under test, and kept in a file."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irqlab import files
from irqlab.config.traffic import FrameSize, mean_frame_bytes
from irqlab.live.config import LiveConfig
from irqlab.live.ports import LiveError
from irqlab.setup.paths import cache_dir

SCHEMA = "irqlab-live-calibration/1"


@dataclass(frozen=True)
class Calibration:
    """The tester's limits on two ports."""

    ports: tuple[str, str]
    kind: str
    drivers: tuple[str, ...]
    rates_pps: Mapping[int, float]
    """By frame size in bytes: the highest rate of one direction at which the tester alone sends and receives everything."""
    latency_p50_ns: Mapping[int, float]
    """By frame size: the latency of the tester alone, at half of that rate."""
    latency_p99_ns: Mapping[int, float]
    bidirectional: bool = False
    made_s: float = field(default_factory=time.time)
    """When, in seconds since 1970."""

    def rate_pps(self, size: FrameSize, bidirectional: bool) -> float:
        """The tester's limit in one direction. The time per frame is taken to be linear in its length."""
        wanted = mean_frame_bytes(size)
        known = sorted((float(bytes_), 1e9 / pps) for bytes_, pps in self.rates_pps.items())
        below = [one for one in known if one[0] <= wanted]
        above = [one for one in known if one[0] >= wanted]
        if below and above:
            (b0, t0), (b1, t1) = below[-1], above[0]
            ns = t0 if b0 == b1 else t0 + (t1 - t0) * (wanted - b0) / (b1 - b0)
        else:  # outside of what was measured: the nearest, and never faster than that
            ns = (below[-1] if below else above[0])[1]
        # Both directions share the two threads. If only one was measured, half of it is safe.
        return 1e9 / ns / (2 if bidirectional and not self.bidirectional else 1)

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        return {
            "schema": SCHEMA,
            "ports": list(self.ports),
            "kind": self.kind,
            "drivers": list(self.drivers),
            "bidirectional": self.bidirectional,
            "made_s": self.made_s,
            "sizes": {
                str(size): {
                    "rate_pps": self.rates_pps[size],
                    "latency_p50_ns": self.latency_p50_ns.get(size),
                    "latency_p99_ns": self.latency_p99_ns.get(size),
                }
                for size in sorted(self.rates_pps)
            },
        }


def place(config: LiveConfig) -> Path:
    """Where the calibration of these ports is kept."""
    return cache_dir() / "live" / f"{config.ports[0]}-{config.ports[1]}-{config.kind}.json"


def keep(found: Calibration, path: Path) -> None:
    """Writes the file. Raises IrqlabError."""
    files.write_atomically(path, (json.dumps(found.to_json(), indent=1) + "\n").encode())


def read(config: LiveConfig, path: Path | None = None) -> Calibration:
    """The calibration of these ports. Raises LiveError if there is none, or if it is another's."""
    where = path or place(config)
    mend = f"run `irqlab live calibrate {config.ports[0]} {config.ports[1]} --kind {config.kind}` with a cable from port to port"
    try:
        content = json.loads(where.read_text())
    except FileNotFoundError:
        raise LiveError(
            f"the tester's own limits on {config.ports[0]} and {config.ports[1]} are not known: {mend}; "
            "or go on with --uncalibrated"
        ) from None
    except (OSError, ValueError) as error:
        raise LiveError(f"cannot read {where}: {error}; {mend}") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise LiveError(f"{where} is not a calibration of irqlab live; {mend}")
    if tuple(content["ports"]) != config.ports or content["kind"] != config.kind:
        raise LiveError(f"{where} is for {' and '.join(content['ports'])} with --kind {content['kind']}; {mend}")
    sizes = {int(size): one for size, one in content["sizes"].items()}
    return Calibration(
        ports=config.ports,
        kind=config.kind,
        drivers=tuple(content["drivers"]),
        rates_pps={size: float(one["rate_pps"]) for size, one in sizes.items()},
        latency_p50_ns={size: one["latency_p50_ns"] for size, one in sizes.items() if one["latency_p50_ns"] is not None},
        latency_p99_ns={size: one["latency_p99_ns"] for size, one in sizes.items() if one["latency_p99_ns"] is not None},
        bidirectional=bool(content["bidirectional"]),
        made_s=float(content["made_s"]),
    )

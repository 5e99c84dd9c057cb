# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs trials on two ports, in the network namespace that it is started in, and prints their results as JSON lines.

``python -m tests.live.trial p0 p1 '{"kind": "af_xdp", "trials": [{"rate_pps": 1000}], ...}'``
"""

from __future__ import annotations

import json
import sys
from typing import Any

from irqlab.config.traffic import Load
from irqlab.live.config import LiveConfig
from irqlab.live.testbed import LiveTestbed, Settings
from irqlab.trials.forwarding import ForwardingTrial


def main(ports: list[str], wanted: dict[str, Any]) -> None:
    """Prints the tester's process id, then a line for each trial."""
    config = LiveConfig((ports[0], ports[1]), kind=wanted["kind"], sleep=wanted["sleep"], bridge=wanted["bridge"])
    with LiveTestbed(config, Settings("dut", None, None)) as testbed:
        print(json.dumps({"pid": testbed.ports.pid}), flush=True)
        for one in wanted["trials"]:
            load = Load(rate_pps=one["rate_pps"], size=one.get("size", 64))
            trial = ForwardingTrial(
                loads=(load,),
                bidirectional=one.get("bidirectional", False),
                duration_ns=one.get("duration_ns", 200_000_000),
                warmup_ns=10_000_000,
                drain_ns=100_000_000,
            )
            found = trial.measure_again(testbed.dut, testbed.conditions)
            print(json.dumps(found.to_json()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:3], json.loads(sys.argv[3]))

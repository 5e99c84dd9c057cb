# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab shell`: a prompt whose lines run in the DUT."""

from __future__ import annotations

import sys

from irqlab.bed import Bed, BedConfig
from irqlab.rpc import TesterError

PROMPT = "dut# "
COMMAND_LIMIT_NS = 600_000_000_000


def run_shell(config: BedConfig) -> None:
    """Reads lines until end of file; each is run by the DUT's shell, and its output printed."""
    bed = Bed.resolve(config)
    interactive = sys.stdin.isatty()
    with bed.open() as dut:
        dut.play_hosts(bed.nic.wire_bps)
        if interactive:
            print(f"{bed.driver} on {bed.nic.model}, forwarding. Ctrl-D ends.")
        while True:
            if interactive:
                print(PROMPT, end="", flush=True)
            line = sys.stdin.readline()
            if not line:
                break
            if not line.strip():
                continue
            try:
                done = dut.rpc.guest("exec", limit_ns=COMMAND_LIMIT_NS, argv=["sh", "-c", line.rstrip("\n")], stdin=None)
            except TesterError as error:
                print(error)
                continue
            sys.stdout.write(done["out"])
            sys.stderr.write(done["err"])
            sys.stdout.flush()

# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab shell`: an interactive shell in the DUT."""

from __future__ import annotations

import sys

from irqlab.config.testbed import TestbedConfig
from irqlab.qemu.rpc import TesterError
from irqlab.trials.testbed import Testbed

PROMPT = "dut# "
COMMAND_LIMIT_NS = 600_000_000_000


def run_shell(config: TestbedConfig) -> None:
    """Reads lines until end of file; runs each in the DUT's shell and prints its output."""
    testbed = Testbed.resolve(config)
    interactive = sys.stdin.isatty()
    with testbed.open() as dut:
        dut.play_hosts(testbed.nic.line_rate_bps)
        if interactive:
            print(f"{testbed.driver} on {testbed.nic.model}, forwarding. Ctrl-D ends.")
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

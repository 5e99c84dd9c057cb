# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab shell`: an interactive shell in the DUT."""

from __future__ import annotations

import sys

from irqlab.cli import options as opt
from irqlab.qemu.rpc import TesterError
from irqlab.trials.testbed import Testbed

PROMPT = "dut# "
COMMAND_LIMIT_NS = 600_000_000_000


@opt.asks(*opt.DUT, "rx", "tx", "variant")
def command(*, request: opt.Request) -> None:
    """Reads lines until end of file; runs each in the DUT's shell and prints its output. Virtual time stops between them."""
    testbed = Testbed.resolve(request.testbeds[0])
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

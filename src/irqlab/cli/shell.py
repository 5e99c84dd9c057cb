# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab shell`: a prompt whose lines run in the DUT."""

from __future__ import annotations

import sys

from irqlab.bed import Bed, BedConfig
from irqlab.machine import MachineError
from irqlab.rpc import ConnectionLostError, TesterError

PROMPT = "dut# "
COMMAND_LIMIT_NS = 600_000_000_000


def run_shell(config: BedConfig) -> None:
    """Reads lines until end of file; each is run by the DUT's shell, and its output printed."""
    bed = Bed.resolve(config)
    interactive = sys.stdin.isatty()
    with bed.open() as machine:
        try:
            dut, waited_ns = bed.bring_up(machine)
            if interactive:
                print(f"{bed.driver} on {bed.nic.model}; frames passed {waited_ns / 1e6:.0f} ms after up. Ctrl-D ends.")
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
        except ConnectionLostError as error:
            raise MachineError(f"the DUT went away: {machine.obituary()}") from error

# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab xdp` on real DUTs: xdp-bench's programs run in the driver, ours and one of the kernel's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.trials import xdp
from irqlab.trials.testbed import Testbed
from irqlab.trials.xdp import XdpTrial

from .conftest import Cli, Refused

SLOW_PPS = 20_000.0
SHORT_NS = 20_000_000


@pytest.mark.parametrize(
    ("driver", "nic", "kernel"),
    [("irqmod_i82574", "irqlab-82574", None), pytest.param("vmxnet3", None, "6.12", marks=pytest.mark.long)],
)
def test_what_a_program_does_with_frames(driver: str, nic: str | None, kernel: str | None) -> None:
    """Below the capacity each frame is handled. vmxnet3 has XDP since Linux 6.6."""
    bed = Testbed.resolve(TestbedConfig(driver, nic=nic, kernel=kernel))
    drop, redirect = (bed.run(XdpTrial(action, SLOW_PPS, duration_ns=SHORT_NS)) for action in ("drop", "redirect"))
    bed.close()
    assert drop.handled_pps == pytest.approx(SLOW_PPS, rel=0.02)
    assert redirect.handled_pps == pytest.approx(SLOW_PPS, rel=0.02)
    assert drop.arrived == 0
    assert redirect.arrived == pytest.approx(SLOW_PPS * SHORT_NS / 1e9, rel=0.02)
    assert drop.instructions_per_frame < redirect.instructions_per_frame


def test_the_command_tells_each_action(cli: Cli, tmp_path: Path) -> None:
    done = cli("xdp", "--driver", "irqmod_i82574", "--nic", "irqlab-82574", "--json", "xdp.json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "xdp.json").read_text())["measured"]["results"]
    assert [sample["action"] for sample in row["samples"]] == ["drop", "tx", "redirect"]
    rates = [sample["handled_pps"] for sample in row["samples"]]
    assert sorted(rates, reverse=True) == rates
    assert "XDP: drop" in done.stdout.splitlines()[-2]


def test_a_driver_without_xdp_says_so(refused: Refused) -> None:
    assert "no XDP program: " in refused("xdp", "--driver", "e1000e", "--nic", "irqlab-82574")


def test_why_there_is_no_program_is_the_first_that_failed() -> None:
    said = "libbpf: failed to find kernel BTF type ID\nFailed to attach XDP program: No such process\n  Duration  : 6.1s\n"
    assert xdp._reason(_Says(said)) == "libbpf: failed to find kernel BTF type ID"  # type: ignore[arg-type]
    assert xdp._reason(_Says("cannot\n")) == "cannot"  # type: ignore[arg-type]
    assert xdp._reason(_Says(None)) == "the driver does not say why"  # type: ignore[arg-type]


class _Says:
    """A DUT in which xdp-bench has said this."""

    def __init__(self, said: str | None) -> None:
        self.said = said

    def read(self, path: str) -> dict[str, str | None]:
        """The only file."""
        return {path: self.said}


def test_frames_of_one_size_only(refused: Refused) -> None:
    assert "--size imix" in refused("xdp", "--driver", "irqmod_i82574", "--size", "imix")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Our own drivers, built and found by name, with schemes from the command line and from Python."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from irqlab import Lab
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.trials.hunt import HuntTrial
from tests.e2e.conftest import Cli


def test_variants_differ_in_their_interrupts() -> None:
    original, best = (Lab("irqmod_i8255x", variant=name).trial(20_000) for name in ("ORIGINAL", "NAPI-TX-OFF"))
    assert original.total("lost") == best.total("lost") == 0
    assert original.caused_per_frame("tx") == pytest.approx(1.0, abs=0.01)
    assert best.caused_per_frame("tx") == 0
    assert best.instructions_per_frame is not None
    assert original.instructions_per_frame is not None
    assert best.instructions_per_frame < original.instructions_per_frame


def test_an_interrupt_per_frame_reads_its_cause_and_acknowledges_it() -> None:
    """And no more: a cause that nobody handles must not stay latched, or each handler finds it again. A second read flushes the
    acknowledgement."""
    profile = Lab("irqmod_i8255x", variant="ORIGINAL").profile(rate_pps=20_000, duration_ns=20_000_000, warmup_ns=10_000_000)
    handler = next(f for f in profile.by_function() if (f.name, f.context) == ("i8255x_isr", "hardirq"))
    assert handler.entries_per_frame == pytest.approx(2.0, abs=0.01)
    found = [one for one in profile.result.summary.io if one.function == "i8255x_isr"]
    assert sum(one.reads for one in found) / profile.frames == pytest.approx(2 * 2.0, abs=0.01)
    assert sum(one.writes for one in found) / profile.frames == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("variant", ["ORIGINAL", "TX-128", "TX-OFF"])
def test_interrupt_per_packet_ends_in_receive_livelock(variant: str) -> None:
    lab = Lab("irqmod_i8255x", variant=variant)
    most = lab.trial(50_000).forwarded_pps
    assert most > 49_000
    # QEMU's I/O APIC would let the DUT breathe every 90 ms (plugin/src/workarounds/ioapic_throttle.rs).
    assert lab.trial(240_000, above_line_rate=True).forwarded_pps < 0.02 * most


def test_polling_survives_the_same_load() -> None:
    lab = Lab("irqmod_i8255x", variant="NAPI-TX-OFF")
    assert lab.trial(240_000, above_line_rate=True).forwarded_pps > 0.98 * lab.trial(110_000).forwarded_pps


def test_a_shrinking_ring_survives_it_too_with_a_pause_between_interrupts() -> None:
    paused, unpaused = (Lab("irqmod_rtl8139cp", rx="shrink", tx="interrupt", pause_usecs=pause) for pause in (125, 0))
    most = paused.trial(50_000).forwarded_pps
    assert paused.trial(170_000, above_line_rate=True).forwarded_pps > 0.8 * most
    assert unpaused.trial(170_000, above_line_rate=True).forwarded_pps < 0.1 * most


def test_several_schemes_are_named_in_table_and_results(cli: Cli, tmp_path: Path) -> None:
    options = ["--rx", "napi,de", "--tx", "off", "--weight", "16", "--tx-usecs", "500", "--duration", "0.05"]
    done = cli("throughput", "--driver", "irqmod_rtl8139cp", *options, "--json", "a.json")
    assert done.returncode == 0, done.stderr
    assert "rtl8139cp napi/off" in done.stdout
    document = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(document, catalogue.schema())
    rows = document["measured"]["results"]
    assert [(row["rx_scheme"], row["tx_scheme"], row["variant"]) for row in rows] == [("napi", "off", None), ("de", "off", None)]
    assert [row["tx_interrupts_per_frame"] for row in rows] == [0, 0]
    for dut in document["environment"]["duts"]:
        assert (dut["dut"]["schemes"]["weight"], dut["dut"]["schemes"]["tx_usecs"]) == (16, 500)


def test_a_small_ring_gets_half_of_it_as_tx_frames() -> None:
    lab = Lab("irqmod_rtl8139cp", variant="NAPI-TX-128")
    described = lab.testbed.describe()["dut"]
    assert (described["ring_tx"], described["schemes"]["tx_frames"]) == (64, 32)
    assert len(described["notes"]) == 2


def test_a_lab_has_one_pair_of_schemes() -> None:
    with pytest.raises(IrqlabError, match="one pair"):
        Lab("irqmod_i8255x", rx="napi,de")


def test_a_receiver_that_ran_out_of_descriptors_starts_again_after_several_passes() -> None:
    """32 frames for a ring of 16, taken in passes of 10: the first pass gives descriptors back, the last one finds the stop."""
    with Lab("irqmod_i8255x", nic="i82557b", rx="napi", tx="off", ring=16, tx_frames=4, weight=10) as lab:
        found = lab._runner.trial(HuntTrial(pairs=4, first_gap_ns=1_000_000, step_ns=1_000_000, first_frames=32))
    assert None in found.first.latencies_ns
    assert None not in found.second.latencies_ns

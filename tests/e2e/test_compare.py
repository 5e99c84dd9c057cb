# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab compare`, end to end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from irqlab import Lab
from irqlab.compare import revision
from irqlab.compare.loads import FEWEST
from irqlab.methods import catalogue
from irqlab.profile.devices import OF_NICS
from irqlab.setup import drivers, kernel
from tests.e2e.conftest import Cli, Refused

TXPOLL = 0xD9
"""The register TPPoll of the 8139C+."""
SHORT = ("--duration", "0.02", "--warmup", "0.01")
LEAST = ("--ensemble", str(FEWEST))
DAWDLE = """
static noinline void cp_dawdle(void)
{
	unsigned int n = 50;

	asm volatile("1: dec %0; jnz 1b" : "+r" (n));
}
"""
"""A hundred instructions and a few for the call."""


def slowed(home: Path, loops: int = 50) -> Path:
    """Our driver with a loop of two instructions, so often, for every frame received."""
    shutil.copytree(drivers.home(), home / "drivers")
    file = home / "drivers/rtl8139cp/rx.c"
    text = file.read_text()
    call = "\t\tskb->protocol = eth_type_trans(skb, netdev);\n"
    assert text.count(call) == 1
    begin = "int cp_rx_take("
    assert text.count(begin) == 1
    dawdle = DAWDLE.replace("n = 50", f"n = {loops}")
    file.write_text(text.replace(call, f"\t\tcp_dawdle();\n{call}").replace(begin, f"{dawdle}\n{begin}"))
    source = drivers.find("irqmod_rtl8139cp", home / "drivers")
    assert source is not None
    return drivers.module_file(kernel.resolve(), source, home / "drivers")


def without_difference(cli: Cli, tmp_path: Path, side: str, *more: str) -> None:
    """Measures a side against itself: nothing differs."""
    done = cli("compare", side, side, *SHORT, *LEAST, *more, "--fail-above", "0%", "--json", "same.json", timeout_s=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"Passed: {side} against {side}: no figure differs; allowed: 0 %.\n")
    document = json.loads((tmp_path / "same.json").read_text())
    jsonschema.validate(document, catalogue.schema())
    rows = [row for row in document["measured"]["results"] if row["method"] == "metrics"]
    members = len(rows) // 2
    assert members == FEWEST
    assert {row.pop("dut") for row in rows[:members]} == {0}
    assert {row.pop("dut") for row in rows[members:]} == {1}
    assert json.dumps(rows[:members]) == json.dumps(rows[members:])
    assert all(value for value in rows[0]["summary"]["metrics"].values())
    assert rows[0]["summary"]["idle_ratio"] > 0.5


def test_a_slowed_copy_is_found_and_the_function_named(cli: Cli, tmp_path: Path) -> None:
    """And nothing is found if a side is compared with itself, or if the other one is faster. The trials are those of the first
    comparison."""
    slow = slowed(tmp_path / "copy")
    pair = ("irqmod_rtl8139cp+napi+off", f"{slow}+napi+off")
    done = cli("compare", *pair, *SHORT, *LEAST, "--fail-above", "1%", "--json", "a.json", timeout_s=1200)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"FAILED: {pair[1]} against {pair[0]}: worse by more than allowed: throughput -" in done.stdout
    rows = done.stdout.split("Functions that gained")[1].splitlines()
    named = next(line.split() for line in rows if line.strip().startswith("cp_"))
    assert named[0] == "cp_dawdle"
    assert 100 <= float(named[-1]) <= 110
    only = ("--fail-above", "1%", "--fail-on", "throughput_pps")
    better = cli("compare", *reversed(pair), *SHORT, *LEAST, *only, timeout_s=1200)
    assert better.returncode == 0, better.stdout + better.stderr
    without_difference(cli, tmp_path, pair[0])


@pytest.mark.long
def test_a_driver_against_itself_differs_in_nothing(cli: Cli, tmp_path: Path) -> None:
    """The kernel's driver, each side measured."""
    without_difference(cli, tmp_path, "8139cp", "--no-cache")


@pytest.mark.long
def test_a_module_a_file_and_a_revision_give_the_same_verdict(cli: Cli, tmp_path: Path) -> None:
    """Also if the other side is slower, so that the loads are not the file's first ones."""
    module = revision.module("git:HEAD:irqmod_rtl8139cp", kernel.resolve())
    slow = f"{slowed(tmp_path / 'copy', 400)}+napi+off"
    alone = cli("compare", f"{module}+napi+off", *SHORT, "--json", "base.json", timeout_s=1200)
    assert alone.returncode == 0, alone.stderr
    said = []
    for side in (f"{module}+napi+off", "base.json", "git:HEAD:irqmod_rtl8139cp+napi+off"):
        done = cli("compare", side, slow, *SHORT, "--fail-above", "1%", timeout_s=1200)
        assert done.returncode == 1, done.stdout + done.stderr
        said.append(done.stdout.splitlines()[-1].replace(side, ""))
    assert said[0] == said[1] == said[2]


def test_register_accesses_are_counted_one_by_one() -> None:
    profile = Lab("8139cp").profile(rate_pps=20_000, duration_ns=20_000_000, warmup_ns=10_000_000)
    found = profile.result.to_json()["summary"]
    entries: dict[str, int] = {}
    for point in profile.result.samples:
        entries[point.function] = entries.get(point.function, 0) + point.entries

    def count(function: str, device: str, register: int, what: str) -> int:
        rows = [r for r in found["io"] if (r["function"], r["device"], r["register"]) == (function, device, register)]
        return int(sum(row[what] for row in rows))

    # A transmit rings the doorbell (TxPoll) once, an interrupt reads its cause (IntrStatus) once and is ended (EOI) once; the
    # window may open or close between the entry and the access.
    assert entries["cp_start_xmit"] > 390
    assert abs(count("cp_start_xmit", "eth1", TXPOLL, "writes") - entries["cp_start_xmit"]) <= 1
    causes = sum(count("cp_interrupt", device, 0x3E, "reads") for device in ("eth0", "eth1"))
    assert abs(causes - entries["cp_interrupt"]) <= 1
    assert abs(count("native_apic_mem_write", "Local APIC", 0xB0, "writes") - found["interrupts"]) <= 1
    assert found["nic_reads"] == sum(row["reads"] for row in found["io"] if row["device"] in OF_NICS) > 0


def test_a_reclaim_before_a_transmit_leaves_the_doorbell_to_it() -> None:
    """With `timer` packets come in batches, so some are still on the ring when the next transmit reclaims."""
    lab = Lab("irqmod_rtl8139cp", nic="irqlab-8139cp", rx="timer", tx="off")
    found = lab.profile(rate_pps=20_000, size=512, duration_ns=20_000_000, warmup_ns=10_000_000).result
    doorbells = {row["function"]: row["writes"] for row in found.to_json()["summary"]["io"] if row["register"] == TXPOLL}
    entries = {name: sum(p.entries for p in found.samples if p.function == name) for name in ("cp_start_xmit", "irqmod_tx_timer")}
    assert entries["cp_start_xmit"] > 390
    assert abs(doorbells["cp_start_xmit"] - entries["cp_start_xmit"]) <= 1
    # The transmit timer polls again for a doorbell that the chip may have lost.
    assert doorbells.get("cp_tx_reclaim", 0) <= entries["irqmod_tx_timer"] + 1


def test_accesses_to_io_ports_are_counted() -> None:
    profile = Lab("ne2k_pci").profile(rate_pps=1_000, duration_ns=20_000_000, warmup_ns=10_000_000)
    assert profile.result.summary.nic_reads > profile.frames * 10


def test_a_revision_is_built_from_git() -> None:
    module = revision.module("git:HEAD:irqmod_rtl8139cp", kernel.resolve())
    assert module.is_file()
    assert (module.parent.parent / "irqmod" / "irqmod.ko").is_file()


def test_invalid_sides_are_rejected_at_once(refused: Refused) -> None:
    for arguments, said in (
        (("8139cp", "8139cp+fractal"), "options are"),
        (("8139cp", "no_such_driver"), "no module no_such_driver"),
        (("8139cp", "8139cp", "--fail-above", "much"), "per cent"),
        (("8139cp", "git:HEAD:no_such"), "has no driver no_such"),
        (("linux-image-6.1.0", "8139cp"), "--driver"),
    ):
        assert said in refused("compare", *arguments)

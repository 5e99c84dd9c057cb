# SPDX-License-Identifier: GPL-2.0-or-later
"""The lan78xx letter: its data, what is measured on fakes, and its claims."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.errors import IrqlabError
from irqlab.reproduce import find, reference
from irqlab.reproduce.claims import Finding
from irqlab.reproduce.lan78xx import measure, report, trials
from irqlab.reproduce.lan78xx.configurations import (
    ALL,
    BEFORE,
    CONDITIONS,
    DRIVERS,
    IN_TREE,
    PAIRS,
    PATCHES,
    PLACED,
    PROCESSORS,
    QUICK_DRIVERS,
    SPEEDS,
    SWITCHES,
    steps,
)
from irqlab.reproduce.lan78xx.findings import better
from irqlab.reproduce.lan78xx.measure import IperfRow, StepRow, letter
from irqlab.reproduce.lan78xx.trials import Flows, Probe, Responsiveness, RoundTrip, Throughput
from irqlab.reproduce.table import Table
from irqlab.results.document import MethodResult
from irqlab.setup import drivers
from irqlab.trials import iperf
from irqlab.trials.iperf import FOUR
from irqlab.trials.peers import DATAGRAM_BYTES, RoundTrips
from irqlab.trials.rrul import Flow, RrulTrial
from tests.unit.fake_session import FakeSession
from tests.unit.paper_tables import iperf_row, lan78xx, step


def test_the_letters_tables_are_there() -> None:
    assert find("lan78xx").driver == "irqmod_lan78xx"
    assert "lan78xx NAPI Performance Improvements" in reference.source(measure.REFERENCE)
    rows = letter().rows
    assert len(rows) == 16
    assert {row.test for row in rows} == set(measure.TESTS)
    pi = letter().one(lambda r: (r.test, r.board) == ("TCP Tx", "RPi4 Model B"))
    assert (pi.standard.mbps, pi.napi.mbps, pi.ratio) == (683, 942, 1.379)
    assert (pi.standard.idle_percent, pi.napi.idle_percent, pi.idle_points) == (80.1, 97.6, 17.5)
    unknown = letter().one(lambda r: (r.test, r.board) == ("UDP Rx", "RPi4 Model B"))
    assert (unknown.ratio, unknown.idle_points, unknown.napi.loss_percent) == (None, None, 0)


def test_every_patch_alone_left_out_and_in_the_series_order() -> None:
    found = steps()
    assert len(found) == 3 * len(PATCHES)
    patches = {key: tuple(one.patches for one in pair) for key, pair in found.items()}
    assert patches["without", 3] == (ALL - {3}, ALL)
    assert patches["with", 6] == (frozenset(), {6})
    order: list[set[int]] = [set(), {2}, {2, 3}, {2, 3, 5}, set(ALL)]
    assert [patches["up to", patch] for patch in PATCHES] == list(pairwise(order))
    assert set(SWITCHES.values()) == set(PATCHES)


def test_the_switches_are_the_drivers() -> None:
    text = "".join(path.read_text() for path in (drivers.home() / "lan78xx").glob("*.[ch]"))
    for name in SWITCHES:
        assert name in text


def test_a_configuration_switches_its_patches_on_and_the_others_off() -> None:
    session: Any = FakeSession()
    DRIVERS["in_tree"].testbed(session, 500)
    DRIVERS["before"].testbed(session, 500)
    steps()["without", 3][0].testbed(session, 250)
    DRIVERS["ours"].testbed(session, 1000)
    (_, in_tree), (_, before), (_, without), (_, ours) = session.made
    assert (in_tree["driver"], in_tree["mips"], in_tree["nic"]) == (IN_TREE, 500, "lan7800-superspeed")
    assert before["driver"] == BEFORE
    set_to = dict(without["dut"].attributes)
    assert set_to == {
        "irqmod_usb/tx_pool": "1", "irqmod_usb/rx_pool": "0", "irqmod_usb/gro": "1", "irqmod_usb/poll_resubmit": "1",
        "irqmod_usb/overflow_queue": "1", "irqmod_usb/adaptive_burst": "0",
    }  # fmt: skip
    assert (without["dut"].schemes.rx, without["dut"].schemes.rx_usecs) == ("napi", 34)
    assert ours["dut"].schemes.rx_usecs == 136
    assert dict(ours["dut"].attributes)["irqmod_usb/adaptive_burst"] == "1"
    DRIVERS["standard"].testbed(session, 500)
    assert session.made[-1][1]["dut"].schemes.rx == "standard"


# Trials.


def _runner(found: Any) -> Any:
    def trial(test: Any) -> Any:
        assert test in (*FOUR, RrulTrial())
        return found

    return SimpleNamespace(trial=trial, progress=lambda _: None)


def test_an_iperf_trial_becomes_figures() -> None:
    found = SimpleNamespace(
        bps=941.26e6, full_frames=70_000, window_ns=1_400_000_000, loss_ratio=0.12345, idle_ratio=0.4567,
        instructions_per_byte=2.5, retransmits=7, interrupts={"xhci_hcd": 30},
        interfaces={"eth0": {"rx_packets": 100, "tx_packets": 20, "rx_bytes": 9}, "eth1": {}},
        pause_frames=5,
    )  # fmt: skip
    tcp = trials.throughput(_runner(found), FOUR[0])
    assert tcp == Throughput(941.3, 584.0, 12.35, 45.7, 3650, 7, 0.25, 5)
    assert trials.throughput(_runner(found), FOUR[2]).window_mbps == pytest.approx(70_000 * DATAGRAM_BYTES * 8 / 1.4e6, abs=0.05)
    nothing = SimpleNamespace(**{**vars(found), "instructions_per_byte": None, "loss_ratio": None, "interfaces": {}})
    assert trials.throughput(_runner(nothing), FOUR[0]).instructions_per_frame is None
    assert trials.throughput(_runner(nothing), FOUR[0]).loss_percent is None
    assert trials.throughput(_runner(nothing), FOUR[0]).interrupts_per_frame is None


@pytest.mark.parametrize("line", ["     hw_tx_pause_frames: 12", "     TX Pause Frames: 12"])
def test_pause_frames_are_those_that_the_nic_counts(line: str) -> None:
    def dut(text: str) -> Any:
        return SimpleNamespace(run=lambda *_: text)

    assert iperf._pause_frames(dut(f"NIC statistics:\n     RX Pause Frames: 7\n{line}\n")) == 12
    with pytest.raises(IrqlabError, match="does not count"):
        iperf._pause_frames(dut("NIC statistics:\n     RX Pause Frames: 7\n"))


def test_an_rrul_trial_becomes_figures() -> None:
    def both(ns: int) -> dict[str, Any]:
        return {when: RoundTrips(1, p50_ns=ns * n, p99_ns=ns * n + 5) for n, when in ((1, "base"), (9, "load"))}

    latency = {"udp_ef": both(4000), "udp_bk": both(3000), "udp_be": both(2000), "icmp": both(1000)}
    flows = [Flow(way, n, "", 1e6 * (10 * n + len(way)), None, []) for way in ("down", "up") for n in (3, 1, 0, 2)]
    found = SimpleNamespace(up_bps=850.04e6, down_bps=5e8, idle_ratio=0.0655, latency=latency, flows=flows)
    said = trials.latency(_runner(found), RrulTrial())
    assert (said.up_mbps, said.down_mbps, said.idle_percent) == (850.0, 500.0, 6.6)
    assert said.udp_be == Probe(RoundTrip(2.0, 2.005), RoundTrip(18.0, 18.005))
    assert (said.udp_bk.base.p50_us, said.udp_ef.base.p50_us) == (3.0, 4.0)
    assert (said.up, said.down) == (Flows(2.0, 12.0, 22.0, 32.0), Flows(4.0, 14.0, 24.0, 34.0))
    assert said.icmp.load.p50_us == 9.0


# Tables.

SLOW_CELLS = {"before": 500.0, "in_tree": 800.0, "standard": 600.0, "napi": 900.0, "ours": 950.0, "series": 850.0}


def _answer(what: str, key: Any) -> Any:
    if what == "rrul":
        trip = Probe(RoundTrip(1.0, 2.0), RoundTrip(3.0, 4.0))
        return Responsiveness(800.0, 500.0, 5.0, Flows(1.0, 2.0, 3.0, 4.0), Flows(5.0, 6.0, 7.0, 8.0), trip, trip, trip, trip)
    if what == "forwarding":
        speed, driver = key
        pps = SLOW_CELLS[driver] * (100 if speed == "slow" else 200)
        return MethodResult(
            "throughput", driver, "n", 64, False, 500, total_throughput_pps=pps + 0.04, instructions_per_frame=4000.4
        )
    if what == "each patch":
        patches, _ = key
        mbps = {"": 400.0, "2 3 5 6": 600.0, "6": 0.0}.get(patches, 500.0)
        idle = 10.0 if patches in ("", "2 3 5 6") else 12.5
        return Throughput(1.0, mbps, None, idle, 2000 if patches in ("", "2 3 5 6") else 3000, None)
    if what == "UDP under other conditions":
        return Throughput(0.0, SLOW_CELLS[key[-1]], None, 5.0, 4000, None, 0.5)
    *_, test, _, driver = key
    return Throughput(SLOW_CELLS[driver], 1.0, 0.5 if test == "UDP Rx" else None, 20.0 if driver == "napi" else 5.0, 4000, 3)


def test_every_cell_of_the_letter_is_measured_with_every_driver() -> None:
    tables = measure.measure(FakeSession(answer=_answer, long=False))  # type: ignore[arg-type]
    assert [(row.test, row.board, row.driver) for row in tables.iperf] == [
        (test, board, driver) for test in measure.TESTS for board in SPEEDS for driver in DRIVERS
    ]
    cell = tables.iperf.one(lambda r: (r.test, r.board, r.driver) == ("UDP Rx", "fast", "napi"))
    assert cell == IperfRow("UDP Rx", "fast", 1000, "napi", 900.0, 0.5, 20.0, 4000, 3)
    assert [(row.drivers, row.ratio, row.idle_points) for row in tables.ratios.rows[:2]] == [
        ("kernel", 1.6, 0.0),
        ("ours", 1.5, 15.0),
    ]
    assert [row.throughput_pps for row in tables.forwarding] == [5e4, 8e4, 6e4, 9e4, 9.5e4, 1e5, 1.6e5, 1.2e5, 1.8e5, 1.9e5]
    assert {row.instructions_per_frame for row in tables.forwarding} == {4000}
    assert [(row.test, row.seconds, row.driver) for row in tables.rrul] == [
        (test, 5, driver) for test in ("rrul", "rrul_be") for driver in DRIVERS
    ]
    assert tables.rrul.rows[0].udp_be.load.p99_us == 4.0
    assert tables.rrul.rows[0].down.ef == 8.0
    assert tables.causes is not None
    asked = [(c.what, c.test, board, driver) for c in CONDITIONS for board in c.boards for driver in c.drivers]
    assert [(row.condition, row.test, row.board, row.driver) for row in tables.causes] == asked
    assert {(row.mbps, row.interrupts_per_frame) for row in tables.causes} == {
        (SLOW_CELLS[driver], 0.5) for driver in PAIRS["kernel"]
    }
    tables = measure.measure(FakeSession(answer=_answer, long=True))  # type: ignore[arg-type]
    assert [(row.test, row.seconds) for row in tables.rrul][-2:] == [("rrul", 60)] * 2
    assert {row.seconds for row in measure.marked(tables.rrul).values()} == {5}


def test_a_quick_look_leaves_out_the_fast_board_drivers_and_most_patches_and_rrul() -> None:
    session = FakeSession(answer=_answer, quick=True)
    measure.measure(session)  # type: ignore[arg-type]
    asked = {table: [key for what, key in session.asked if what == table] for table in ("the letter's tables", "each patch")}
    assert {key[1] for key in asked["the letter's tables"]} == {"slow"}
    assert {key[-1] for key in asked["the letter's tables"]} == set(QUICK_DRIVERS)
    assert "rrul" not in {what for what, _ in session.asked}
    assert {key[0] for key in asked["each patch"] if key[-1] == "TCP Rx"} == {"", "6", "2 3 5 6", "2 5 6", "2 3 6"}
    assert {key[0] for key in asked["each patch"] if key[-1] == "UDP Tx"} == {"", "6", "2 3 5 6", "3 5 6"}


def test_changes_are_what_the_patch_does() -> None:
    table = measure.ablation(FakeSession(answer=_answer))  # type: ignore[arg-type]
    by = {(row.change, row.patch, row.test): row for row in table}
    left_out = by["without", 3, "TCP Tx"]
    assert (left_out.mbps, left_out.mbps_change_percent, left_out.idle_change_points) == (500, 20, -2.5)
    assert left_out.instructions_change_percent == -33.3
    assert left_out.what == PATCHES[3]
    assert by["with", 2, "UDP Rx"].mbps_change_percent == 25.0
    assert [by["up to", patch, "UDP Rx"].mbps_change_percent for patch in PATCHES] == [25.0, 0.0, 0.0, 20.0]
    assert by["with", 6, "UDP Rx"].mbps_change_percent == -100.0
    same = by["with", 0, "TCP Rx"]
    assert (same.mbps_change_percent, same.idle_change_points, same.what) == (0.0, 0.0, "standard")
    assert measure._percent(80.0, 0.0) is None, "from nothing there is no percentage"
    assert measure._percent(None, 4.0) is None


def test_ratios_stand_beside_the_letters() -> None:
    ours = Table("", IperfRow, (iperf_row("standard", 800, 5), iperf_row("napi", 880, 25)))
    (row,) = measure.ratios(ours, letter())
    assert (row.drivers, row.ratio, row.idle_points) == ("ours", 1.1, 20.0)
    assert (row.letter_ratio_least, row.letter_ratio_most) == (1.0, 1.0)
    assert (row.letter_idle_points_least, row.letter_idle_points_most) == (9.4, 37.6)
    (sent,) = measure.ratios(Table("", IperfRow, tuple(replace(one, test="UDP Tx") for one in ours)), letter())
    assert (sent.letter_ratio_least, sent.letter_ratio_most) == (1.0, 2.395)


def test_stated_hardware_is_measured_with_the_kernels_drivers() -> None:
    def answer(what: str, key: Any) -> Any:
        if what == "the letter's tests, board":
            return Throughput(200.0, 1.0, None, 3.0, 5000, None)
        return _answer(what, key)

    board = SimpleNamespace(name="board", mips=1000, memory="slow")
    session = FakeSession(answer=answer, hardware=board)
    found = measure.measure(session).hardware  # type: ignore[arg-type]
    assert found is not None
    assert {(row.nic, row.driver) for row in found} == {
        (nic, driver) for nic in ("lan7800", "lan7800-superspeed") for driver in ("before", "in_tree")
    }
    assert {changes["mips"] for _, changes in session.made if changes["memory"]} == {1000}


def test_stated_hardware_is_measured_on_the_nic_that_is_chosen() -> None:
    board: Any = SimpleNamespace(name="board", mips=1000, memory="slow")
    session = FakeSession(
        answer=lambda *_: Throughput(200.0, 1.0, None, 3.0, 5000, None), config=SimpleNamespace(nic="lan7800-superspeed")
    )
    found = measure.hardware(session, board)  # type: ignore[arg-type]
    assert {row.nic for row in found} == {changes["nic"] for _, changes in session.made} == {"lan7800-superspeed"}
    assert len(found.rows) == len(measure.TESTS) * 2


def test_a_kernel_for_which_the_older_driver_cannot_be_built() -> None:
    def answer(what: str, key: Any) -> Any:
        return _answer("the letter's tables", ("TCP Rx", "slow", key[-1])) if what.endswith("board") else _answer(what, key)

    board = SimpleNamespace(name="board", mips=1000, memory="slow")
    session = FakeSession(answer=answer, hardware=board, release="7.3.1-amd64")
    tables = measure.measure(session)  # type: ignore[arg-type]
    assert tables.hardware is not None
    assert {row.driver for row in tables.hardware} == {"in_tree"}
    for table in (tables.iperf, tables.forwarding, tables.rrul):
        assert {row.driver for row in table} == set(DRIVERS) - {"before"}
    assert {row.drivers for row in tables.ratios} == {"ours"}
    assert BEFORE not in {changes.get("driver") for _, changes in session.made}
    assert report.picture(tables).plots
    assert report.sections(tables)
    assert not [found for found in find("lan78xx").findings(tables) if found.source.startswith("Table of")]


def test_hardware_without_memory_is_refused() -> None:
    board = SimpleNamespace(name="mpc8250", mips=250, memory=None)
    with pytest.raises(IrqlabError, match="--hardware mpc8250: it has no memory model"):
        measure.measure(FakeSession(answer=_answer, hardware=board))  # type: ignore[arg-type]


# Claims.


def test_throughput_comes_before_idle_time() -> None:
    row = iperf_row("napi", 900.0, 10.0)
    assert better(row, iperf_row("standard", 800.0, 50.0)) == 1
    assert better(row, iperf_row("standard", 1000.0, 5.0)) == -1
    assert better(row, iperf_row("standard", 901.0, 50.0)) == -1
    assert better(row, iperf_row("standard", 901.0, 5.0)) == 1
    assert better(row, iperf_row("standard", 901.0, 10.2)) == 0
    assert better(row, iperf_row("standard", 0.0, 10.0)) == 0


def _finding(words: str, **tables: Any) -> Finding:
    given = {**vars(lan78xx(True)), **tables}
    return next(f for f in find("lan78xx").findings(measure.Tables(**given)) if words in f.claim)


def test_a_cell_in_which_we_are_behind_is_said() -> None:
    ahead = Table("", IperfRow, (iperf_row("in_tree", 800, 0), iperf_row("napi", 900, 0, 3500)))
    assert _finding("(napi) is in every cell", iperf=ahead).found == "as good in 1 of 1 cells, better in 1."
    assert _finding("costs it (napi)", iperf=ahead).found == "88 to 88 % of the in-tree driver's instructions."
    behind = Table("", IperfRow, (iperf_row("in_tree", 900, 0), iperf_row("napi", 800, 0, 4500)))
    said = _finding("(napi) is in every cell", iperf=behind)
    assert not said.agrees
    assert said.found.startswith("as good in 0 of 1 cells, better in 0. It is behind in TCP Rx, slow board: 800 Mbit/s")
    dearer = _finding("costs it (napi)", iperf=behind)
    assert not dearer.agrees
    assert "in 1 of 1 cells: TCP Rx, slow board: 4,500 instructions, in-tree 4,000" in dearer.found


def _before_and_after(before: IperfRow, after: IperfRow) -> Finding:
    return _finding("faster on 0 of 4", iperf=Table("", IperfRow, (before, after)))


def test_the_kernels_drivers_are_held_against_the_letters_boards() -> None:
    said = _before_and_after(iperf_row("before", 941, 50), iperf_row("in_tree", 941, 84))
    assert (
        said.claim
        == "After the series the driver is faster on 0 of 4 boards (at most 1.00 times), and idler on 4. Here: the slow board."
    )
    assert said.agrees
    assert "is idler than lan78xx of Linux 5.10 (941 Mbit/s, 50 % idle), 1.00 times as fast" in said.found
    assert "is worse than" in _before_and_after(iperf_row("before", 900, 0), iperf_row("in_tree", 600, 0)).found
    assert "makes no difference to" in _before_and_after(iperf_row("before", 900, 0), iperf_row("in_tree", 905, 0.5)).found


def test_a_board_that_gains_more_than_any_of_the_letters_differs_too() -> None:
    idler = _before_and_after(iperf_row("before", 941, 0), iperf_row("in_tree", 941, 95))
    assert not idler.agrees
    assert "CPU time a bit 0.05 times, there 0.15 to 0.34" in idler.found
    assert not _before_and_after(iperf_row("before", 941, 50), iperf_row("in_tree", 941, 60)).agrees, "less than any"
    assert not _before_and_after(iperf_row("before", 600, 50), iperf_row("in_tree", 900, 84)).agrees, "faster than any"


def _sent(before: float, after: float, idle: float = 40.0) -> Finding:
    """UDP Tx: boards whose wire was not full before gain 1.35 to 2.4 times; the wire carries 957 Mbit/s."""
    rows = (replace(iperf_row("before", before, 0), test="UDP Tx"), replace(iperf_row("in_tree", after, idle), test="UDP Tx"))
    return _finding("faster on 2 of 4", iperf=Table("", IperfRow, rows))


def test_throughput_is_compared_with_boards_whose_wire_was_as_full() -> None:
    small = _sent(380, 406)
    assert not small.agrees
    assert "The kernel's differ: throughput 1.07 times, there 1.35 to 2.40" in small.found
    assert _sent(380, 520).agrees
    assert not _sent(380, 930).agrees, "more than any board"
    assert _sent(930, 950).agrees, "the wire is full"
    assert _sent(950, 952).agrees
    assert not _sent(930, 900).agrees


def test_cpu_time_is_that_of_a_bit() -> None:
    """Points of idle time are other things on one core and on four."""

    def received(before: float, after: float) -> Finding:
        rows = (
            replace(iperf_row("before", 950, before), test="UDP Rx"),
            replace(iperf_row("in_tree", 952, after), test="UDP Rx"),
        )
        return _finding("faster on 1 of 3", iperf=Table("", IperfRow, rows))

    assert received(89.6, 85.3).agrees, "as on the letter's Dell"
    assert "is less idle than lan78xx of Linux 5.10" in received(89.6, 85.3).found
    assert not received(89.6, 80.0).agrees


def test_moderation_is_what_lets_packets_queue_up() -> None:
    assert _finding("An xHCI that moderates").agrees
    assert "iperf3 -b 0, an xHCI interrupt in 40 µs 1.45" in _finding("An xHCI that moderates").found


def test_our_driver_is_named_beside_the_kernels() -> None:
    cells = {"before": (941, 50), "in_tree": (941, 84), "standard": (900, 0), "napi": (600, 0)}
    rows = [iperf_row(driver, mbps, idle) for driver, (mbps, idle) in cells.items()]
    said = _finding("faster on 0 of 4", iperf=Table("", IperfRow, tuple(rows)))
    assert said.agrees, "the claim is about the kernel's drivers"
    assert "; napi (600 Mbit/s, 0 % idle) is worse than standard (900 Mbit/s, 0 % idle), 0.67 times as fast." in said.found


def _steps(*rows: StepRow) -> Table[StepRow]:
    return Table("", StepRow, rows)


def test_napi_alone_is_tested() -> None:
    assert _finding("a tasklet", ablation=_steps(step("with", 6, 1.9, -1.9))).agrees
    assert not _finding("a tasklet", ablation=_steps(step("with", 6, 2.1, 0.0))).agrees
    assert not _finding("a tasklet", ablation=_steps(step("with", 6, 0.0, -2.0))).agrees
    nothing_before = _finding("a tasklet", ablation=_steps(step("with", 6, None, 0.0, 80.0)))
    assert not nothing_before.agrees
    assert "TCP Rx 80 Mbit/s (from nothing), idle +0.0 points" in nothing_before.found
    assert _finding("a tasklet", ablation=_steps(step("with", 6, None, 0.0, 0.0))).agrees


def test_udp_that_hardly_arrives_counts_as_any_other() -> None:
    """But a change that is less than iperf3 prints is none."""
    assert not _finding("a tasklet", ablation=_steps(step("with", 6, 1122.2, 0.0, 11.0, test="UDP Rx"))).agrees
    assert _finding("a tasklet", ablation=_steps(step("with", 6, -11.1, 0.0, 0.8, test="UDP Rx"))).agrees


@pytest.mark.parametrize(
    ("percent", "points", "mbps", "improves"),
    [
        (31.0, 0.0, 100.0, True),
        (-31.0, 9.0, 100.0, False),
        (0.1, 5.0, 100.0, True),
        (0.1, -5.0, 100.0, False),
        (0.1, 0.1, 100.0, False),
        (None, 0.0, 80.0, True),
        (None, 0.0, 0.0, False),
    ],
)
def test_what_an_improvement_is(percent: float | None, points: float, mbps: float, improves: bool) -> None:
    assert _finding("Patch 5 ", ablation=_steps(step("up to", 5, percent, points, mbps))).agrees == improves


def test_patches_2_3_and_6_are_one_update() -> None:
    def update(mbps: float, sent: float) -> Finding:
        rows = [step("with", 0, 0.0, 0.0, 100.0, test) for test in ("TCP Rx", "TCP Tx")]
        rows += [step("without", 5, 90.0, 0.0, of, test) for test, of in (("TCP Rx", mbps), ("TCP Tx", sent))]
        return _finding("a single update", ablation=_steps(*rows))

    assert update(150.0, 100.0).agrees
    assert not update(150.0, 90.0).agrees, "a test gets slower"
    assert not update(100.0, 100.0).agrees
    assert "TCP Rx 150 Mbit/s (+50.0 %)" in update(150.0, 100.0).found


def test_further_members_measure_the_letters_tables_only() -> None:
    session: Any = FakeSession(answer=lambda *_: Throughput(100.0, 100.0, None, 5.0, 4000, None), first=False)
    tables = measure.measure(session)
    assert {what for what, _ in session.asked} == {"the letter's tables"}
    assert len(tables.iperf.rows) == len(measure.TESTS) * len(SPEEDS) * len(DRIVERS)
    assert (tables.forwarding.rows, tables.ablation.rows, tables.rrul, tables.processors) == ((), (), None, None)


def test_several_processors_are_those_of_the_kernels_drivers() -> None:
    session: Any = FakeSession(answer=lambda *_: Throughput(100.0, 100.0, None, 5.0, 4000, None))
    found = measure.processors(session)
    assert [sum(row.iperf3 == where for row in found) for where in PLACED] == [len(measure.TESTS) * len(SPEEDS) * 2, 4]
    assert {changes["cpus"] for _, changes in session.made} == {PROCESSORS}


def test_the_series_sends_from_a_queue() -> None:
    session: Any = FakeSession(answer=lambda *_: Throughput(100.0, 100.0, None, 5.0, 4000, None))
    assert {row.driver for row in measure.sending(session)} == {"napi", "series"}
    queues = [("irqmod_usb/tx_queue", "1") in changes["dut"].attributes for _, changes in session.made]
    assert sorted(queues) == [False, False, True, True]

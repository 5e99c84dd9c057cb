# SPDX-License-Identifier: GPL-2.0-or-later
"""The lan78xx letter: its data, its tables, what is said of figures; and what the fuzz makes of a kernel's log and heap."""

from __future__ import annotations

from collections import Counter

from irqlab.reproduce import find, page, reference
from irqlab.reproduce.lan78xx.configurations import ALL, MEASURES, SWITCHES, steps
from irqlab.reproduce.lan78xx.findings import _in_tree, _letter, _measures, _napi_alone, better
from irqlab.reproduce.lan78xx.measure import REFERENCE, TESTS, letter, ratios
from irqlab.reproduce.lan78xx.report import _of, _test
from irqlab.reproduce.paper import Data, Value
from irqlab.robustness import fuzz
from irqlab.setup import drivers

COLUMNS = ("test", "board", "mips", "driver", "mbps", "loss_percent", "idle_percent", "instructions_per_frame", "retransmits")


def cell(driver: str, mbps: float, idle: float, instructions: int = 4000) -> list[Value]:
    return ["TCP Rx", "slow", 500, driver, mbps, None, idle, instructions, None]


def test_the_letters_tables_are_there() -> None:
    assert find("lan78xx").driver == "irqmod_lan78xx"
    assert "lan78xx NAPI Performance Improvements" in reference.source(REFERENCE)
    rows = list(letter().records())
    assert len(rows) == 16
    assert {row["test"] for row in rows} == set(TESTS)
    pi = letter().one(test="TCP Tx", board="RPi4 Model B")
    assert (pi["standard_mbps"], pi["napi_mbps"], pi["ratio"]) == (683, 942, 1.379)
    assert letter().one(test="UDP Rx", board="RPi4 Model B")["ratio"] is None


def test_every_measure_alone_both_ways() -> None:
    found = steps()
    assert len(found) == 2 * len(MEASURES)
    assert found["without", "c"].measures == ALL - {"c"}
    assert found["with", "a"].measures == {"a"}
    assert set(SWITCHES) == set(MEASURES) - {"a"}


def test_the_switches_are_the_drivers() -> None:
    text = "".join(path.read_text() for path in (drivers.home() / "lan78xx").glob("*.[ch]"))
    for name in SWITCHES.values():
        assert name in text


def test_throughput_comes_before_idle_time() -> None:
    row = {"mbps": 900.0, "idle_percent": 10.0}
    assert better(row, {"mbps": 800.0, "idle_percent": 50.0}) == 1
    assert better(row, {"mbps": 901.0, "idle_percent": 50.0}) == -1
    assert better(row, {"mbps": 901.0, "idle_percent": 10.2}) == 0


def test_a_cell_in_which_we_are_behind_is_said() -> None:
    ahead = Data("", COLUMNS, [cell("in_tree", 800, 0), cell("napi", 900, 0, 3500)])
    assert _in_tree(ahead, "napi") == [
        "Our driver (napi) is at least as good as the in-tree driver in 1 of 1 cells, better in 1."
    ]
    behind = Data("", COLUMNS, [cell("in_tree", 900, 0), cell("napi", 800, 0, 4500)])
    said = _in_tree(behind, "napi")
    assert "in 0 of 1 cells" in said[0]
    assert "behind in TCP Rx, slow board: 800 Mbit/s" in said[1]
    assert "4,500 instructions, in-tree 4,000" in said[2]


def test_standard_is_held_against_the_letters_boards() -> None:
    (said,) = _letter(Data("", COLUMNS, [cell("standard", 600, 0), cell("napi", 900, 0)]), letter())
    assert "is better than standard" in said
    assert "1.50 times as fast" in said
    assert "faster on 0 of 4 boards" in said
    assert "idler on 4" in said
    (said,) = _letter(Data("", COLUMNS, [cell("standard", 900, 0), cell("napi", 600, 0)]), letter())
    assert "WORSE" in said


STEP = ("change", "measure", "test", "mbps", "mbps_change_percent", "idle_change_points", "instructions_change_percent")


def test_napi_alone_is_tested() -> None:
    assert "this does hold" in _napi_alone(Data("", STEP, [["with", "a", "TCP Rx", 100.0, 0.4, -0.3, 1.0]]))[0]
    assert "does NOT hold" in _napi_alone(Data("", STEP, [["with", "a", "TCP Rx", 100.0, 12.0, 0.0, -9.0]]))[0]


def test_a_measure_is_told_from_where_nothing_was_received() -> None:
    (said,) = _napi_alone(Data("", STEP, [["with", "a", "UDP Rx", 80.0, None, 0.0, None]]))
    assert "does NOT hold: UDP Rx from nothing, idle +0.0 points, instructions a frame not to be compared" in said
    assert "nothing moves" in _measures(Data("", STEP, [["with", "a", "UDP Rx", 0.0, None, 0.0, None]]))[0]


def test_a_measure_that_moves_nothing_is_said_to() -> None:
    said = _measures(
        Data("", STEP, [["with", "c", "TCP Tx", 100.0, 31.0, 0.0, -20.0], ["without", "b", "TCP Tx", 100.0, 0.1, 0.1, 0.0]])
    )
    assert "nothing moves" in said[1]
    assert "added to standard, TCP Tx +31.0 %" in said[2]


def test_the_labs_boards_stand_above_the_letters() -> None:
    tables = {"iperf": Data("", COLUMNS, [cell("in_tree", 800, 0), cell("napi", 900, 0)]), "letter": letter()}
    section = _test(tables, "TCP Rx")
    assert [table.caption for table in section.groups[0].tables] == ["The lab", "The letter"]
    assert len(_of(tables["letter"], "TCP Rx").rows) == 4
    assert page.cell(None).text


def test_a_round_is_decided_by_seed_and_number() -> None:
    assert fuzz.Round.of(1, 5) == fuzz.Round.of(1, 5)
    assert fuzz.Round.of(1, 5) != fuzz.Round.of(2, 5)
    rounds = [fuzz.Round.of(1, number) for number in range(200)]
    assert {r.what for r in rounds} == {"traffic", "requests", "plug"}
    assert {r.only for r in rounds} == {None, *fuzz.KINDS}


def test_complaints_are_named_and_lies_are_told_apart() -> None:
    log = [
        "eth0: Link is Up",
        "------------[ cut here ]------------",
        "WARNING: CPU: 0 PID: 17 at drivers/net/phy/phy.c:987 phy_state_machine+0x9b/0x250 [libphy]",
        "Call Trace:",
        "BUG kmalloc-64 (Tainted: G        W         ): Right Redzone overwritten",
    ]
    causes, evidence = fuzz.complaints(log)
    assert causes[0] == "WARNING: at drivers/net/phy/phy.c:987 phy_state_machine [libphy]"
    assert causes[1].startswith("BUG kmalloc-64")
    assert "Link is Up" in evidence
    assert fuzz.complaints(["eth0: Link is Up", "kevent 4 may have been dropped"]) == ([], "")
    lies, _ = fuzz.complaints(["eth0: hw csum failure", "Call Trace:"])
    assert [bool(fuzz.LIES.search(cause)) for cause in lies] == [True]
    assert fuzz.complaints(["Call Trace:"])[0] == ["a call trace"]


def test_objects_that_are_not_freed_are_told_by_who_allocated_them() -> None:
    before = fuzz.objects("  30 kmalloc-192 usb_alloc_urb+0x33/0x60\n  30 lan78xx_probe+0x1/0x2 [lan78xx]\n", "lan78xx")
    assert before == Counter({"kmalloc-192 usb_alloc_urb": 30, "lan78xx_probe()": 30})
    after = before + Counter({"kmalloc-192 usb_alloc_urb": fuzz.GROWTH + 1, "lan78xx_probe()": 1})
    assert fuzz._more(before, after) == {"kmalloc-192 usb_alloc_urb": fuzz.GROWTH + 1}


def test_a_summary_counts_rounds_and_cases() -> None:
    outcomes = [fuzz.Outcome(fuzz.Round.of(1, n), dict.fromkeys(fuzz.KINDS, 2)) for n in range(3)]
    outcomes[1].causes = [fuzz.HUNG]
    outcomes[2].causes, outcomes[2].recovery = ["eth0: hw csum failure"], "plugged in again"
    found = fuzz.summary("x", 1, [fuzz.Session(0, outcomes, {"a b": 40})])
    assert (found["cases"], found["rounds"]) == (24, 3)
    assert [(entry["what"], entry["first"]) for entry in found["complaints"]] == [(fuzz.HUNG, 1)]
    assert len(found["lies"]) == 1
    assert found["recovery"] == {"by itself": 1, "plugged in again": 1}
    assert found["growth"] == {"a b": 40}


def test_ratios_stand_beside_the_letters() -> None:
    ours = Data("", COLUMNS, [cell("standard", 800, 5), cell("napi", 880, 25)])
    row = ratios(ours, letter()).one(test="TCP Rx")
    assert (row["ratio"], row["idle_points"]) == (1.1, 20.0)
    assert (row["letter_ratio_least"], row["letter_ratio_most"]) == (1.0, 1.0)
    assert (row["letter_idle_points_least"], row["letter_idle_points_most"]) == (9.4, 37.6)

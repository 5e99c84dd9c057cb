# SPDX-License-Identifier: GPL-2.0-or-later
"""What the DUT's kernel may say, and what is a problem."""

from __future__ import annotations

from typing import Any

import pytest

from irqlab.dut import kernel_log
from irqlab.dut.kernel_log import HARMLESS, PROBLEM, KernelLog, KernelProblemError, Record

WARN, ERROR = 4, 3

SAID_OF_DRIVERS = {
    "NOHZ tick-stop error: local softirq work is pending, handler #08!!!": WARN,
    "8139cp 0000:00:03.0: Runtime PM usage count underflow!": WARN,
    "8139cp 0000:00:03.0 eth0: NAPI poll function cp_rx_poll+0x0/0x3f0 [8139cp] returned 65, exceeding its budget of 64.": ERROR,
    "e1000e 0000:00:03.0 eth0: Detected Hardware Unit Hang:": ERROR,
    "e1000 0000:00:03.0 eth0: Detected Tx Unit Hang": ERROR,
    "e1000 0000:00:03.0: TX DMA map failed": ERROR,
    "8139cp: unknown parameter 'foo' ignored": WARN,
}
"""Problems, with the level at which the kernel says them."""
IN_TREE = [
    (4, "hrtimer: interrupt took 9412 ns"),
    (4, "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 6444175853 wd_nsec: 6444169710"),
    (3, "e100 0000:00:04.0: firmware: failed to load e100/d101m_ucode.bin (-2)"),
    (4, "e100 0000:00:04.0: Direct firmware load for e100/d101m_ucode.bin failed with error -2"),
    (6, "8139cp 0000:00:03.0 eth0: link up, 100Mbps, full-duplex, lpa 0x05E1"),
    (6, "device eth0 entered promiscuous mode"),
    (3, "lan78xx 1-1:1.0 eth0: kevent 4 may have been dropped"),
    (5, "random: crng init done"),
    (4, "my8139: loading out-of-tree module taints kernel."),
    (4, "my8139: module license 'Proprietary' taints kernel."),
    (4, "Disabling lock debugging due to kernel taint"),
    (4, "qlge: module is from the staging directory, the quality is unknown, you have been warned."),
    (4, "(elapsed 0.001 seconds) done."),
    (4, "irqmod-x: module verification failed: signature and/or required key missing - tainting kernel"),
]
"""What good drivers say, with its level."""


class FakeRpc:
    """An agent with this log."""

    def __init__(self, *records: tuple[int, str]) -> None:
        self.log = list(records)

    def guest(self, op: str) -> dict[str, Any]:
        assert op == "kmsg"
        records, self.log = self.log, []
        return {"records": [{"level": level, "time_us": 1, "text": text} for level, text in records]}


def log_of(*records: tuple[int, str], **conditions: Any) -> KernelLog:
    return KernelLog(FakeRpc(*records), **conditions)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "level"), SAID_OF_DRIVERS.items())
def test_what_is_not_harmless_is_a_problem_and_named(text: str, level: int) -> None:
    with pytest.raises(KernelProblemError, match=r"^the DUT's kernel logged a problem: ") as caught:
        log_of((6, "before"), (level, text), (6, "after")).check()
    assert str(caught.value).splitlines() == [
        f"the DUT's kernel logged a problem: {text}", "  before", f"  {text}", "  after"
    ]  # fmt: skip


@pytest.mark.parametrize(("level", "text"), IN_TREE)
def test_what_good_drivers_say_is_harmless(level: int, text: str) -> None:
    log = log_of((level, text))
    log.check()
    assert log.messages == []


def test_a_message_above_info_that_nobody_knows_is_a_problem() -> None:
    log_of((6, "my8139: something happened")).check()
    with pytest.raises(KernelProblemError, match="something happened"):
        log_of((5, "my8139: something happened")).check()


def test_messages_that_the_user_expects_are_none() -> None:
    said = (4, "my8139: the EEPROM is old")
    log_of(said, may_log=("EEPROM is",)).check()
    with pytest.raises(KernelProblemError):
        log_of(said, may_log=("^EEPROM is",)).check()
    with pytest.raises(KernelProblemError):
        log_of((6, "BUG: of the EEPROM"), may_log=("EEPROM",)).check()


def test_when_calls_are_made_to_fail_only_what_is_always_wrong_is_a_problem() -> None:
    log_of((3, "e1000 0000:00:03.0: TX DMA map failed")).check(messages=False)
    with pytest.raises(KernelProblemError):
        log_of((4, "NOHZ tick-stop error: local softirq work is pending")).check(messages=False)
    with pytest.raises(KernelProblemError):
        log_of((6, "WARNING: CPU: 0 PID: 1 at net/core/dev.c:1")).check(messages=False)


def test_what_was_before_is_forgotten() -> None:
    log = log_of((4, "odd"), (4, "BUG: odd"))
    log.forget()
    log.check()
    assert (log.lines, log.messages) == ([], [])


def test_each_pattern_has_a_reason_and_hides_no_problem() -> None:
    for one in HARMLESS:
        assert one.reason
        assert len(kernel_log.notable([Record(level, text) for text, level in SAID_OF_DRIVERS.items()], [one.pattern])) == len(
            SAID_OF_DRIVERS
        )


SLOW = [
    "clocksource: timekeeping watchdog on CPU1",
    "xhci_hcd 0000:00:04.0: ERROR Transfer event TRB DMA ptr not part of current TD ep_index 2 comp_code 13",
    "xhci_hcd 0000:00:04.0: Looking for event-dma 000000003ec74a40 trb-start 000000003ec74a30",
    "xhci_hcd 0000:00:04.0: WARN Successful completion on short TX",
    "xhci_hcd 0000:00:04.0: bad transfer trb length 16078 in event trb",
]


@pytest.mark.parametrize("text", SLOW)
def test_a_slow_host_s_messages_are_harmless_only_without_the_instruction_clock(text: str) -> None:
    log_of((3, text), slow_host=True).check()
    with pytest.raises(KernelProblemError):
        log_of((3, text)).check()


@pytest.mark.parametrize("text", ["bad clocksource", "xhci_hcd 0000:00:04.0: WARN Event TRB for slot 1 ep 2 with no TDs queued?"])
def test_others_are_not(text: str) -> None:
    with pytest.raises(KernelProblemError):
        log_of((3, text), slow_host=True).check()


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: CPU: 0 PID: 1 at net/core/dev.c:1 x+0x1/0x2",
        "BUG: unable to handle page fault for address: 0",
        "Oops: 0002 [#1] PREEMPT SMP NOPTI",
        "rcu: INFO: rcu_preempt self-detected stall on CPU",
        "watchdog: BUG: soft lockup - CPU#0 stuck for 26s!",
        "NETDEV WATCHDOG: eth0 (8139cp): transmit queue 0 timed out",
        'irq 11: nobody cared (try booting with the "irqpoll" option)',
    ],
)
def test_kernel_problems_are_known(line: str) -> None:
    assert PROBLEM.search(line)


@pytest.mark.parametrize(
    "line",
    ["8139cp 0000:00:04.0 eth0: link up, 100Mbps", "8139cp: loading out-of-tree module taints kernel.", "systemd: debugging on"],
)
def test_ordinary_kernel_messages_are_not_problems(line: str) -> None:
    assert not PROBLEM.search(line)


def test_the_log_is_read_once() -> None:
    rpc = FakeRpc((4, "one"), (6, "two"))
    log = KernelLog(rpc)  # type: ignore[arg-type]
    assert log.news() == [Record(4, "one"), Record(6, "two")]
    rpc.log = [(4, "three")]
    assert log.news() == [Record(4, "three")]
    assert log.news() == []
    assert log.lines == ["one", "two", "three"]
    assert log.messages == ["one", "three"]


def test_a_problem_is_shown_with_what_is_around_it() -> None:
    lines = [f"before {n}" for n in range(9)] + ["BUG: unable to handle"] + [f"after {n}" for n in range(60)]
    log = log_of(*((6, line) for line in lines))
    for _ in range(2):  # it does not go away
        with pytest.raises(KernelProblemError, match="the DUT's kernel logged a problem") as caught:
            log.check()
        shown = str(caught.value).splitlines()[1:]
        assert shown[0] == "  before 4"
        assert shown[5] == "  BUG: unable to handle"
        assert shown[-1] == "  after 38"


def test_the_warning_of_two_small_buffers_in_one_cache_line_is_left_out() -> None:
    cut, end = "------------[ cut here ]------------", "---[ end trace 0000000000000000 ]---"
    overlap = "DMA-API: xhci_hcd 0000:00:04.0: cacheline tracking EEXIST, overlapping mappings aren't supported"

    def left(*lines: str) -> list[str]:
        return [record.text for record in kernel_log.without_harmless([Record(4, line) for line in lines])]

    assert left("before", cut, overlap, "WARNING: CPU: 0", "Call Trace:", end, "after") == ["before", "after"]
    assert left(cut, "WARNING: CPU: 0", end) == [cut, "WARNING: CPU: 0", end]
    where = ["DMA-API: Mapped at:", " debug_dma_map_page+0x5a/0x530", " dma_map_page_attrs+0x348/0xee0"]
    assert left(cut, overlap, end, *where, "after", " indented") == ["after", " indented"]
    assert left(cut, overlap, end, where[1], "after") == [where[1], "after"]
    assert left(cut, "WARNING: CPU: 0", end, *where) == [cut, "WARNING: CPU: 0", end, *where]
    assert left(cut, "DMA-API: device driver frees DMA memory with wrong function", end)[1].startswith("DMA-API")


def test_races_of_others_are_not_reported() -> None:
    rule = "=" * 66

    def race(*functions: str) -> list[str]:
        return [rule, "BUG: KCSAN: data-race in a / b", "", *(f" {name}" for name in functions), rule]

    def kept(*lines: str) -> list[str]:
        return [r.text for r in kernel_log.without_races_of_others([Record(3, line) for line in lines], ["mii", "e100"])]

    theirs, ours = race("tick_sched_do_timer+0x1/0x2"), race("e100_poll+0x1/0x2 [e100]", "tick_sched_do_timer+0x1/0x2")
    kasan = [rule, "BUG: KASAN: use-after-free", rule, "Disabling lock debugging"]
    assert kept("before", *theirs, "after") == ["before", "after"]
    assert kept(*ours, "after") == [*ours, "after"]
    assert kept(*theirs, *theirs, *ours, *theirs) == ours
    assert kept("x", *kasan) == ["x", *kasan]
    assert kept(*race("x [virtio_net]")) == []
    assert kept(*theirs[:3]) == theirs[:3]  # the log ends within a report

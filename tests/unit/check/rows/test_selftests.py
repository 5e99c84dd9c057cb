# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read in the output of the kernel's own tests."""

from __future__ import annotations

import pytest

from irqlab.check.row import FAIL, NOT_COVERED, PASS, words
from irqlab.check.rows.selftests import KERNEL, LONGEST, PINGS, Case, _outcome, _reach, _run, again, cases, nipa

OUTPUT = """TAP version 13
1..5
ok 1 ping.test_default_v4
ok 2 ping.test_v6 # SKIP Test requires IPv6 connectivity
# Exception| Traceback (most recent call last):
# Exception| CmdExitFailure: Command failed
not ok 3 ping.test_tcp.v4
ok 4 ping.test_xdp # XFAIL no XDP
# Totals: pass:1 fail:1 xfail:1 xpass:0 skip:1 error:0
"""


def test_cases_are_read_with_what_the_test_says_of_them() -> None:
    found = cases("ping.py", OUTPUT)
    assert [(one.name, one.result) for one in found] == [
        ("test_default_v4", "pass"),
        ("test_v6", "skip"),
        ("test_tcp.v4", "fail"),
        ("test_xdp", "xfail"),
    ]
    assert found[1].why == "Test requires IPv6 connectivity"
    assert found[2].why == "Traceback (most recent call last):; CmdExitFailure: Command failed"
    assert cases("ping.py", "Failed importing `net` library") == []
    assert nipa(found)[2] == {"test": "test_tcp.v4", "group": "selftests-drivers-net/ping.py", "result": "fail"}


def test_what_the_driver_or_the_lab_lacks_is_told_apart_and_is_no_pass() -> None:
    good = Case("ping.py", "v4", "pass")
    unable = Case("ring_reconfig.py", "channels", "fail", "NlError: Netlink error: Operation not supported")
    lacking = Case("netpoll_basic.py", "", "fail", "ended with 1: KsftSkipEx: bpftrace is missing")
    padded = Case(LONGEST, "test.sw_ipv4_data_lrg_1byte", "fail", "Command failed")
    outcome = _outcome([good, unable, lacking, padded], ["xdp.py"])
    assert outcome.status == PASS
    assert outcome.said == (
        "1 cases passed, 0 skipped themselves, 0 were expected to fail, 1 need what the driver does not support, "
        "2 what the kernel or the lab does not have; no time was left for xdp.py"
    )
    assert [one["result"] for one in words(outcome)["results"]] == ["pass", "fail", "fail", "fail"]
    assert _outcome([unable, lacking], []).status == NOT_COVERED


def test_any_other_failure_fails() -> None:
    outcome = _outcome([Case("ping.py", "v4", "pass"), Case("ping.py", "v6", "fail", "Command failed")], [])
    assert outcome.status == FAIL
    assert outcome.said.startswith("ping.py v6 failed; 1 cases passed")
    assert outcome.evidence == ("ping.py v6: fail: Command failed", "ping.py v4: pass")


def test_a_usb_nic_may_lose_a_long_burst_on_a_busy_host() -> None:
    good, lost = (
        Case("ping.py", "v4", "pass"),
        Case("ping.py", "v6", "fail", "CMD: ping -s 65000 -c 1 -W0.5 2001:db8::2; EXIT: 1"),
    )
    assert _outcome([good, lost], [], usb=True).status == PASS
    assert _outcome([good, lost], []).status == FAIL


def test_what_the_kernel_logged_is_said_first_and_never_excused() -> None:
    first = "the DUT's kernel logged a problem: WARNING: CPU: 1 at net/core/dev.c:1 netif_x+0x1/0x2"
    logged = Case(KERNEL, "log", "fail", f"{first}; Comm: bpftool CONFIG_X netdevsim Operation not supported")
    outcome = _outcome([logged, Case("ping.py", "v4", "pass"), Case("ping.py", "v6", "fail", "Command failed")], [])
    assert outcome.said.startswith(f"{first} (and 1 more); 1 cases passed")
    assert outcome.kinds == ("WARNING at net/core/dev.c netif_x()",)
    assert _outcome([logged, Case("ping.py", "v4", "pass")], []).status == FAIL


@pytest.mark.parametrize(
    ("program", "name", "why"),
    [
        (LONGEST, "test.sw_ipv4_large_max", "GRO over-coalesced in ipv4/large_max"),
        ("xdp.py", "native_pass_sb.ipv4", "CMD: ip link set dev eth0 xdpdrv obj x.bpf.o sec xdp; STDERR: Cannot allocate memory"),
        ("xdp.py", "native_tx_sb.ipv4", "CMD: bpftool map update; EXIT: 255; STDERR: Error: bad map"),
    ],
)
def test_a_fault_is_not_taken_for_something_that_the_lab_lacks(program: str, name: str, why: str) -> None:
    assert _outcome([Case("ping.py", "v4", "pass"), Case(program, name, "fail", why)], []).status == FAIL


def test_what_fails_is_run_again() -> None:
    first = [Case("ping.py", "v4", "fail", "lost"), Case("ping.py", "v6", "fail", "lost"), Case("ping.py", "tcp", "pass")]
    second = [Case("ping.py", "v4", "pass"), Case("ping.py", "v6", "fail", "lost"), Case("ping.py", "tcp", "fail", "late")]
    found = again(first, second)
    assert [(one.result, one.retry) for one in found] == [("fail", "pass"), ("fail", "fail"), ("pass", "")]
    assert [one.get("retry") for one in nipa(found)] == ["pass", "fail", None]
    outcome = _outcome(found, [])
    assert outcome.said.startswith("ping.py v6 failed; 2 cases passed (1 at the second try)")
    assert _outcome(again(first[:1], second), []).status == PASS


class Silent:
    """A DUT whose interfaces answer the ping with this number, and later ones."""

    def __init__(self, answers: int) -> None:
        self.answers, self.pings = answers, 0

    def attempt(self, *_: str) -> dict[str, int]:
        """A ping."""
        self.pings += 1
        return {"code": int(self.pings < self.answers)}


def test_a_program_begins_when_the_interfaces_reach_each_other() -> None:
    assert _reach(late := Silent(3))  # type: ignore[arg-type]
    assert late.pings == 3
    assert not _reach(Silent(PINGS + 1))  # type: ignore[arg-type]


class Refusing:
    """A DUT whose driver does not switch GRO on."""

    def attempt(self, *_: str) -> dict[str, str]:
        """As ethtool says it, with code 0."""
        return {"out": "Actual changes:\nrx-gro: off [requested on]\n"}


def test_the_longest_program_is_left_out_if_the_driver_refuses_what_it_tests() -> None:
    (case,) = _run(Refusing(), LONGEST)  # type: ignore[arg-type]
    assert (case.result, case.why) == ("skip", "ethtool -K gro on: the driver refuses")

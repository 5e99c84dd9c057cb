# SPDX-License-Identifier: GPL-2.0-or-later
"""Debug builds of our drivers say who takes frames from a ring that another context holds or owns, or after the stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.test_hunt import planted


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "schemes", "said"),
    [
        ("two_owners", "de/off", "irqmod_de_pass takes the ring that rx_de_irq owns"),
        ("stop_does_not_wait", "de/off", "irqmod_de_pass takes the ring after its stop"),
        ("hybrid_two_owners", "hybrid/poll", "takes the ring that irqmod_"),
    ],
)
def test_a_planted_fault_is_warned_of(cli: Cli, tmp_path: Path, fault: str, schemes: str, said: str) -> None:
    rx, tx = schemes.split("/")
    done = cli("tap", "--driver", str(planted(fault, tmp_path)), "--rx", rx, "--tx", tx, "updown")
    assert done.returncode in {1, 2}, "the test fails, or the DUT does not survive it"
    assert said in done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("off_tasklet_after_stop", "irqmod_tx_locked_reclaim reclaims after the stop"),
        ("queue_disabled_first", "loop_hardware_stop"),
    ],
)
def test_what_follows_the_stop_of_several_queues_is_warned_of(cli: Cli, tmp_path: Path, fault: str, said: str) -> None:
    """The full ring of a device with several queues, whose interrupts go on while a scheme is being stopped."""
    driver = str(planted(fault, tmp_path, "irqmod_loop"))
    done = cli("tap", "--driver", driver, "--functional", "--cpus", "4", "queues")
    assert done.returncode in {1, 2}, "the test fails, or the DUT does not survive it"
    assert said in done.stdout + done.stderr


@pytest.mark.long
def test_a_poll_that_goes_on_after_the_stop_is_warned_of(cli: Cli, tmp_path: Path) -> None:
    """What a poll does after napi_complete_done(), for which napi_disable() does not wait."""
    driver = str(planted("napi_stop_does_not_wait", tmp_path))
    done = cli("tap", "--driver", driver, "--long", "--functional", "--cpus", "4", "together")
    assert done.returncode in {1, 2}, "the test fails, or the DUT does not survive it"
    assert "has stopped during a poll" in done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("processors", [1, 4])
def test_hybrid_has_one_owner_whenever_it_is_started(cli: Cli, tmp_path: Path, processors: int) -> None:
    several = ("--functional", "--cpus", str(processors)) if processors > 1 else ()
    driver = str(planted("hybrid_irq_any_time", tmp_path))
    done = cli("tap", "--driver", driver, "--rx", "hybrid", "--tx", "poll", *several, "updown")
    assert done.returncode == 0, done.stdout + done.stderr

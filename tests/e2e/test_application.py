# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiving application in a DUT."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from irqlab.config.addresses import INTERFACES, stream
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import Load
from irqlab.dut import schemes
from irqlab.dut.agent import DutError
from irqlab.methods import catalogue, waits
from irqlab.trials.application import SCREEN_MODULE, ApplicationTrial, Tuning
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import Cli, Refused

WINDOW_NS = 100_000_000
MOST_LEFT = 0.1
"""Of an overloaded CPU: the scheduler gives a process of idle priority a slice of 4 ms now and then, at most two in a window."""


@pytest.fixture(scope="module")
def testbed() -> Testbed:
    return Testbed.resolve(TestbedConfig("irqmod_i8255x"))


def spec(rate_pps: float, **changes: object) -> ApplicationTrial:
    return ApplicationTrial(Load(rate_pps), duration_ns=WINDOW_NS, **changes)  # type: ignore[arg-type]


def test_an_application_receives_everything_and_the_places_add_up(testbed: Testbed) -> None:
    gentle = testbed.measure(spec(5000))[0]
    assert gentle.application_pps == pytest.approx(gentle.offered_pps, rel=0.01)
    assert gentle.places.received == gentle.places.sent
    assert 0.5 < gentle.cpu_available < 0.9
    busy = testbed.measure(spec(120_000))[0]
    places = busy.places
    assert places.nic + places.backlog + places.socket + places.received + places.elsewhere == places.sent
    assert places.elsewhere == 0
    assert places.nic > 0
    assert busy.application_pps < busy.offered_pps
    assert busy.cpu_available < MOST_LEFT
    assert busy.ksoftirqd_share > gentle.ksoftirqd_share


def test_disable_enable_starves_the_application(testbed: Testbed) -> None:
    tuning = Tuning(schemes=Schemes(rx="de"))
    starved = testbed.measure(spec(120_000, tuning=tuning))[0]
    assert starved.application_pps < 0.05 * starved.offered_pps


@pytest.mark.parametrize("driver", ["irqmod_i8255x", "irqmod_rtl8139cp"])
def test_paced_hybrid_masks_rx_and_lets_the_application_run(driver: str) -> None:
    """Up to where every frame interrupts it is disable-enable. Above, no frame does, and no process starves."""
    hybrid = Schemes(rx="hybrid", cliff_pps=25_000, above="paced")
    testbed = Testbed.resolve(TestbedConfig(driver))
    gentle, busy = (testbed.measure(spec(rate, tuning=Tuning(schemes=hybrid)))[0] for rate in (15_000, 100_000))
    assert gentle.interrupts_per_s == pytest.approx(gentle.offered_pps, rel=0.02)
    assert gentle.application_pps == pytest.approx(gentle.offered_pps, rel=0.01)
    assert busy.interrupts_per_s < 0.05 * busy.offered_pps
    assert busy.application_pps > 1.5 * gentle.application_pps


@pytest.mark.parametrize("rx", [Schemes(rx="hybrid", cliff_pps=25_000, above="paced"), Schemes(rx="adaptive")])
def test_two_interfaces_leave_the_application_as_much_as_one(testbed: Testbed, rx: Schemes) -> None:
    one, two = (testbed.measure(spec(76_000, tuning=Tuning(schemes=rx), interfaces=n))[0] for n in (1, 2))
    assert two.places.elsewhere == 0
    assert two.application_pps > 0.7 * one.application_pps


def test_ksoftirqd_has_the_priority_that_it_is_given(testbed: Testbed) -> None:
    """At twice what is left to it, the application gets far more if the softirqs' thread stands behind it (Linux 6.1)."""
    equal, behind = (
        testbed.measure(spec(51_000, tuning=Tuning(schemes=Schemes(rx="napi"), ksoftirqd_nice=nice)))[0] for nice in (0, 19)
    )
    assert behind.application_pps > 2 * equal.application_pps


@pytest.mark.parametrize(
    ("driver", "nic"), [("irqmod_i8255x", None), ("irqmod_rtl8139cp", None), ("irqmod_i82574", "irqlab-82574")]
)
def test_hybrid_knows_the_load_though_the_nic_refuses_most_of_it(driver: str, nic: str | None) -> None:
    tuning = Tuning(schemes=Schemes(rx="hybrid", weight=2, cliff_pps=25_000), budget=2)
    overload = Testbed.resolve(TestbedConfig(driver, nic=nic)).measure(spec(100_000, tuning=tuning, rate_after_ns=(60_000_000,)))[
        0
    ]
    assert overload.places.nic > overload.places.sent / 3
    assert overload.nic_missed == overload.places.nic
    [(_, estimate_pps)] = overload.rate_estimates_pps
    assert estimate_pps == pytest.approx(overload.offered_pps, rel=0.03)


def test_echo_and_ping_come_back_the_same_way_every_time(testbed: Testbed) -> None:
    echo = testbed.measure(spec(2000, echo=True))[0]
    ping = testbed.measure(spec(2000, kind="ping"))[0]
    assert echo.latency is not None
    assert ping.latency is not None
    assert echo.latency.count == ping.latency.count == 200
    assert ping.latency.p50_ns < echo.latency.p50_ns
    assert echo.places.application == 0
    again = testbed.measure(spec(2000, echo=True))[0]
    assert again == echo


def test_feedback_keeps_a_process_on_the_path_from_starving() -> None:
    """The driver counts the frames that wait for the process, in a queue that it does not see."""
    router = Testbed.resolve(TestbedConfig("irqmod_rtl8139cp", modules=(SCREEN_MODULE,)))
    starved, fed = (
        router.measure(spec(40_000, kind="screen", tuning=Tuning(schemes=Schemes(rx="polling", tx="poll", queue_high=high))))[0]
        for high in (0, 24)
    )
    for one in (starved, fed):
        places = one.places
        assert places.nic + places.backlog + places.socket + places.received + places.elsewhere == places.sent
        assert abs(places.elsewhere) < 100, "packets in the process's hands"
    assert starved.places.socket > starved.places.sent / 3
    assert fed.places.socket == 0
    assert fed.returned_pps > 1.3 * starved.returned_pps


def test_feedback_counts_the_longest_frames_up_to_the_highest_mark() -> None:
    """A chunk of memory holds few of them, and those of a chunk that is replaced are not counted (irqmod/heads.c)."""
    router = Testbed.resolve(TestbedConfig("irqmod_i8255x", mips=125, modules=(SCREEN_MODULE,)))
    load = Load(8000, size=1518)
    starved, fed = (
        router.measure(
            ApplicationTrial(
                load,
                duration_ns=WINDOW_NS,
                kind="screen",
                tuning=Tuning(schemes=Schemes(rx="polling", tx="poll", queue_high=high), screen_queue=200),
            )
        )[0]
        for high in (0, 96)
    )
    assert starved.places.socket > 0
    assert fed.places.socket == 0


def test_a_limit_on_polling_leaves_the_rest_of_the_cpu(testbed: Testbed) -> None:
    left = []
    for percent in (25, 100):
        tuning = Tuning(schemes=Schemes(rx="polling", tx="poll", quota=5, cpu_percent=percent))
        left.append(testbed.measure(spec(120_000, kind="forward", tuning=tuning))[0].cpu_available)
    limited, whole = left
    assert 0.5 < limited < 0.75
    assert whole < MOST_LEFT


def test_an_application_waits_in_epoll_and_polls_the_device(testbed: Testbed) -> None:
    """Linux 6.1 has neither EPIOCSPARAMS (the sysctl is used instead) nor per-NAPI settings."""
    waiting = testbed.measure(spec(5000, tuning=waits.tuning_of("epoll", Schemes())))[0]
    assert waiting.places.received == waiting.places.sent
    assert waiting.polled is None
    for wait in ("busy-read", "epoll-busy"):
        polling = testbed.measure(spec(10_000, tuning=waits.tuning_of(wait, Schemes(), busy_poll_us=200)))[0]
        assert polling.places.received == polling.places.sent
        assert polling.polled is not None
        assert polling.polled > 0.9 * polling.places.sent, "our driver marks its frames with the NAPI's ID"
        assert polling.cpu_available < 0.05 < waiting.cpu_available
    with pytest.raises(
        DutError, match=r"Linux 6\.1.* has no per-NAPI settings.*irq-suspend-timeout=20000000 came with Linux 6\.13"
    ):
        testbed.measure(spec(5000, tuning=waits.tuning_of("suspend", Schemes())))
    with pytest.raises(DutError, match=r"threaded=busy-poll came with Linux 6\.19"):
        testbed.measure(spec(5000, tuning=waits.tuning_of("threaded-busy", Schemes())))
    with pytest.raises(DutError, match=r"did not start: .*no EPIOCSPARAMS.*Linux 6\.9"):
        testbed.measure(spec(5000, tuning=Tuning(epoll=True, prefer_busy_poll=True)))


@pytest.mark.long
@pytest.mark.parametrize("driver", ["irqmod_i8255x", "e1000"])
def test_suspended_interrupts_leave_the_cpu_to_the_application(driver: str) -> None:
    testbed = Testbed.resolve(TestbedConfig(driver, kernel="7.3"))
    given = Schemes(gro_flush_timeout_ns=200_000)  # with the usual 50 µs it depends on the phase when e1000 gets there
    blocking, suspended, busy = (
        testbed.measure(spec(60_000, tuning=waits.tuning_of(wait, given)))[0] for wait in ("block", "suspend", "threaded-busy")
    )
    assert suspended.polled is not None
    assert suspended.polled > 0.5 * suspended.places.sent
    assert suspended.interrupts_per_s < 500
    assert suspended.application_pps > 1.2 * blocking.application_pps
    assert busy.interrupts_per_s < 500
    assert busy.application_pps > 20_000


def test_the_command_and_its_json(cli: Cli, refused: Refused, tmp_path: Path) -> None:
    done = cli("application", "--driver", "8139cp", "--rate", "2000", "--duration", "0.05", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(document, catalogue.schema())
    [row] = document["measured"]["results"]
    assert row["method"] == "application"
    assert row["samples"][0]["application_pps"] == pytest.approx(2000, rel=0.02)
    assert "application, latency, forwarding" in refused("budget", "--driver", "8139cp", "--goal", "fun")


def test_paced_hybrid_owes_no_rest_of_a_time_when_nothing_else_wanted_the_cpu(testbed: Testbed) -> None:
    """At a load that takes more than half of an idle CPU; then a process wants it, and receiving goes on at once."""
    received: list[int] = []
    file = f"/sys/class/net/{INTERFACES[0]}/statistics/rx_packets"
    with testbed.open() as dut:
        dut.play_hosts(0)
        schemes.apply(dut, Schemes(rx="hybrid", cliff_pps=1000, above="paced"), dut.interfaces, testbed.driver)

        def meanwhile(_: int) -> None:
            dut.sleep(800_000_000)
            dut.rpc.guest("spawn", argv=["irqlab-guest", "soak", "--file", "/run/hog", "--normal"])
            for _ in range(5):
                dut.sleep(40_000_000)
                received.append(int(dut.read(file)[file] or 0))

        load = Load(60_000)
        window = {"warmup_ns": 0, "duration_ns": 1_100_000_000, "drain_ns": 1_000_000}
        dut.run_trial(window, [stream(0, 1, load.arrivals_json(), load.size_json())], meanwhile)
    assert all(later - before > 500 for before, later in pairwise(received)), received


@pytest.mark.long
def test_hybrid_takes_the_ring_back_from_a_thread_that_polls_all_the_time() -> None:
    """Such a NAPI is never complete. After a load above the cliff, one below it has to be received."""
    testbed = Testbed.resolve(TestbedConfig("irqmod_rtl8139cp", kernel="7.3"))
    tuning = Tuning(schemes=Schemes(rx="hybrid", cliff_pps=10_000), napi_threads="busy-poll")
    above, below = Load(25_000, end_ns=60_000_000), Load(2000, begin_ns=120_000_000)
    trial = ApplicationTrial(above, tuning, warmup_ns=0, duration_ns=240_000_000, more=(below,))
    found = testbed.measure(trial)[0]
    assert found.switches == 2
    assert found.places.received == found.places.sent

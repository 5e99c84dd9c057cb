# SPDX-License-Identifier: GPL-2.0-or-later
"""What the watchdog takes for an endless loop, and what it does not, on made-up registers and stacks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from irqlab.qemu import watchdog
from irqlab.qemu.qmp import QmpError
from irqlab.qemu.watchdog import ENOUGH, PERIOD_S, SILENT_S, STACK_WORDS, STEP_CPU_S, NoAnswerError, Sample, Watchdog

RSP = 0xFFFF_C900_0000_3D60


@dataclass(frozen=True)
class State:
    """What the monitor shows of a processor."""

    rsp: int = RSP
    rbx: int = 1
    words: tuple[int, ...] = tuple(range(STACK_WORDS))
    halted: int = 0
    ring: int = 0
    enabled: bool = True
    """Whether interrupts are enabled."""
    raised: int = 0


@dataclass
class Monitor:
    """Answers each question at the second poll. `states`: one for each sample."""

    states: Iterable[State]
    asked: list[str] = field(default_factory=list)
    busy: bool = False
    polls: int = 0

    def __post_init__(self) -> None:
        self._left = iter(self.states)
        self._now = State()

    def post(self, command: str) -> None:
        assert not self.busy
        self.busy, self.polls = True, 0
        self.asked.append(command)

    def poll(self) -> str | None:
        self.polls += 1
        if self.polls < 2:
            return None
        self.busy = False
        if self.asked[-1] == "info registers":
            self._now = next(self._left)
            now = self._now
            return (
                f"CPU#0\nRAX=0000000000000004 RBX={now.rbx:016x} RCX=0000000000000000\n"
                f"RSI=0000000000000000 RDI=0000000000000000 RBP=0000000000000000 RSP={now.rsp:016x}\n"
                f"R12=0000000000000000 R8 =0000000000000001\n"
                f"RIP=ffffffffc0201057 RFL={0x202 if now.enabled else 0x2:08x} [-------] "
                f"CPL={now.ring} II=0 A20=1 SMM=0 HLT={now.halted}\n"
                "GS =0000 ffff88800e800000 00000000 00000000\n"
            )
        if self.asked[-1] == "info irq":
            return f"IRQ statistics for ioapic:\r\n 0: 1\r\n11: {self._now.raised}\r\nIRQ statistics for isa-i8259:\r\n"
        assert self.asked[-1] == f"x /{STACK_WORDS}gx $sp"
        words = [f"0x{word:016x}" for word in self._now.words]
        return "".join(f"{self._now.rsp + 8 * n:016x}: {' '.join(words[n : n + 2])}\n" for n in range(0, STACK_WORDS, 2))


def looks(states: Iterable[State], seconds: float = 60.0, cpu_share: float = 0.5) -> tuple[float | None, Monitor]:
    """Real time until the watchdog finds the DUT stuck (None: not at all), on a clock of steps of 0.1 s."""
    now = [0.0]
    monitor = Monitor(states)
    dog = Watchdog(monitor, lambda: now[0] * cpu_share, lambda: now[0])  # type: ignore[arg-type]
    dog.begin()
    while now[0] < seconds:
        now[0] += 0.1
        try:
            dog.look()
        except NoAnswerError:
            return now[0], monitor
    return None, monitor


def forever(make: Callable[[int], State]) -> Iterable[State]:
    return (make(n) for n in range(10**6))


def spread(n: int) -> State:
    """Work: other places, other frames."""
    random = Random(n)
    return State(
        RSP - 8 * random.randrange(200), random.getrandbits(64), tuple(random.getrandbits(40) for _ in range(STACK_WORDS))
    )


def test_a_loop_is_found_within_half_a_minute() -> None:
    found, _ = looks(forever(lambda _: State()))
    assert found is not None
    assert SILENT_S + (ENOUGH - 1) * PERIOD_S <= found <= 25


def test_the_error_has_the_stack_pointer() -> None:
    now = [0.0]
    dog = Watchdog(Monitor(forever(lambda _: State())), lambda: now[0], lambda: now[0])  # type: ignore[arg-type]
    dog.begin()

    def wait() -> None:
        while True:
            now[0] += 0.1
            dog.look()

    with pytest.raises(NoAnswerError, match=r"no answer for \d+ s of real time, and the kernel is in an endless loop") as caught:
        wait()
    assert caught.value.rsp == RSP


def test_a_prompt_answer_asks_nothing() -> None:
    found, monitor = looks(forever(lambda _: State()), seconds=SILENT_S - 0.2)
    assert found is None
    assert monitor.asked == []


@pytest.mark.parametrize(
    "state",
    [
        spread,
        lambda n: State(halted=n % 10 == 0),  # idles now and then
        lambda n: State(ring=3 if n % 10 == 0 else 0),  # comes to user space now and then
        lambda n: State(words=tuple(w + n * (w in (3, 40, 90)) for w in range(STACK_WORDS))),  # callers get on
        lambda n: State(rbx=n, words=tuple(w + n * (w in (3, 40)) for w in range(STACK_WORDS))),
        lambda n: State() if n % 3 else spread(n),  # too much else for interrupts
        lambda n: State(rsp=RSP - 200 * (n % 2)),  # at two depths that one loop does not span
        lambda n: State(enabled=False, raised=1000 * n),  # one interrupt handler after the other
    ],
)
def test_work_is_no_loop(state: Callable[[int], State]) -> None:
    assert looks(forever(state))[0] is None


@pytest.mark.parametrize(
    "state",
    [
        lambda n: spread(n) if n % 6 == 0 else State(),  # interrupts in between
        lambda n: State(words=(n, 2 * n, *range(2, STACK_WORDS))),  # its variables change
        lambda n: State(rbx=n, words=(n, *range(1, STACK_WORDS))),
        lambda _: State(enabled=False, raised=70),  # with interrupts disabled
        lambda n: State(raised=1000 * n),  # between its interrupts
        # It calls a function, which saves a register and returns: 16 bytes further down.
        lambda n: State() if n % 2 else State(RSP - 16, 9, (77, 78, *range(STACK_WORDS - 2))),
    ],
)
def test_a_loop_with_something_in_it_is_one(state: Callable[[int], State]) -> None:
    assert looks(forever(state))[0] is not None


def test_a_qemu_that_gets_little_cpu_is_given_more_time() -> None:
    assert looks(forever(lambda _: State()), cpu_share=0.0)[0] is None
    quick, _ = looks(forever(lambda _: State()))
    slow, _ = looks(forever(lambda _: State()), cpu_share=0.07)
    assert quick is not None
    assert slow is not None
    assert quick < slow <= 30
    assert slow * 0.07 > (ENOUGH - 1) * STEP_CPU_S


def test_what_one_command_showed_is_not_held_against_the_next() -> None:
    now = [0.0]
    dog = Watchdog(Monitor(forever(lambda _: State())), lambda: now[0], lambda: now[0])  # type: ignore[arg-type]
    for _ in range(5):
        dog.begin()
        for _ in range(80):  # 8 s
            now[0] += 0.1
            dog.look()


def test_an_answer_to_an_old_question_is_thrown_away() -> None:
    now = [0.0]
    monitor = Monitor([replace(State(), halted=1)] * 99)
    dog = Watchdog(monitor, lambda: now[0], lambda: now[0])  # type: ignore[arg-type]
    dog.begin()
    now[0] = SILENT_S + 0.1
    dog.look()
    assert monitor.busy
    dog.begin()
    for _ in range(3):
        dog.look()
    assert not monitor.busy
    assert monitor.asked == ["info registers"]


def test_a_monitor_that_is_gone_is_left_alone() -> None:
    class Gone(Monitor):
        def post(self, command: str) -> None:
            self.asked.append(command)
            raise QmpError("gone")

    now, monitor = [0.0], Gone([])
    dog = Watchdog(monitor, lambda: 0.0, lambda: now[0])  # type: ignore[arg-type]
    dog.begin()
    for _ in range(100):
        now[0] += 0.5
        dog.look()
    assert len(monitor.asked) == 1


def test_pauses_are_short_while_an_answer_is_due() -> None:
    now, monitor = [0.0], Monitor([])
    dog = Watchdog(monitor, lambda: 0.0, lambda: now[0])  # type: ignore[arg-type]
    dog.begin()
    assert dog.pause_s == PERIOD_S
    now[0] = SILENT_S - 0.1
    assert dog.pause_s == pytest.approx(0.1)
    now[0] = SILENT_S + 1
    assert dog.pause_s == 0
    monitor.busy = True
    assert 0 < dog.pause_s < 0.1


def test_cpu_time_is_that_of_the_process() -> None:
    before = watchdog.cpu_seconds(os.getpid())
    while watchdog.cpu_seconds(os.getpid()) < before + 0.05:
        pass
    times = os.times()
    assert watchdog.cpu_seconds(os.getpid()) == pytest.approx(times.user + times.system, abs=0.1)
    assert watchdog.cpu_seconds(2**22 + 1) == 0


def test_samples_of_other_depths_are_compared_where_both_have_a_stack() -> None:
    deep = Sample(RSP - 64, (1,) * 6, (*[0] * 8, *range(STACK_WORDS - 8)))
    shallow = Sample(RSP, (2,) * 6, tuple(range(STACK_WORDS)))
    assert deep.alike(shallow)
    assert shallow.alike(deep)
    assert not shallow.alike(replace(shallow, preserved=(1,) * 6))
    assert not shallow.alike(replace(deep, rsp=RSP - 136))

# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that fail while a driver is bound or a setting changes, and many that fail while frames arrive.

In the hunts (irqlab.check.rows.races) one call fails at a time, while the interface runs or is set up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from irqlab.check import load
from irqlab.check.clock import Allowance
from irqlab.check.kinds import kind
from irqlab.check.row import BROKEN, Outcome, Row, Tally, Workplace, failed, not_supported, passed
from irqlab.check.rows import life
from irqlab.config.addresses import INTERFACES, stream
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.hunting.changes import DOWN, UP
from irqlab.hunting.functions import ALLOCATORS, functions, used
from irqlab.qemu.cancellation import CancelledError
from irqlab.trials.hunt import NEVER

GROUP = "Failures"
ETH = INTERFACES[0]
HOME = f"/sys/class/net/{ETH}"
FLAGS, MTU = f"{HOME}/flags", f"{HOME}/mtu"
BEGIN_NS, LASTS_NS = 1_000_000, 1_500_000_000
"""When a call fails in a trial, and how long that lasts: a driver that is bound resets its PHY."""
LEAST, MOST = 12, 256
"""Calls that fail: even if no time is left (or two of each function, if that is more), and at most."""
ENOUGH = 2
"""Calls of a function with which the same goes wrong: its other ones need not fail."""
SPREAD = 0.618_033_988_75
"""Multiples of it are spread evenly over the calls, however many of them there is time for."""
OF_PROCESSES = ("__alloc_pages", "alloc_pages", "kmem_cache_alloc", "__kmalloc", "kmalloc_trace", "__alloc_skb")
"""How allocators begin that a new process and its messages to the kernel need, too: ethtool waits without end for an answer."""
OF_THE_KERNEL = (*OF_PROCESSES, "vzalloc")
"""And those that parts of the kernel call while a driver is bound. ACPI does not survive it if they fail."""
ENOMEM = (1 << 64) - 12
SETUP = {
    **dict.fromkeys((
        "register_netdev", "pci_enable_device", "pcim_enable_device", "pci_enable_device_mem", "pci_request_regions",
        "pci_request_selected_regions", "pci_request_selected_regions_exclusive", "dma_set_mask", "dma_set_coherent_mask",
        "pci_alloc_irq_vectors_affinity", "pci_enable_msix_range", "pci_enable_msi", "__mdiobus_register", "phy_connect_direct",
        "usb_submit_urb",
    ), ENOMEM),
    **dict.fromkeys(("alloc_etherdev_mqs", "pci_ioremap_bar", "pci_iomap", "ioremap", "mdiobus_alloc_size"), 0),
}  # fmt: skip
"""Functions of the kernel with which drivers set themselves up -> what they return if they fail."""
RETURNS = ALLOCATORS | SETUP
FRAMES_PPS, STORM_NS, EVERY_NS = 8_000.0, 40_000_000, 50_000
"""Frames that arrive both ways while call after call fails, for how long, and how often one is made to fail."""
LEAST_STORMS, STORMS = 4, 12
LOST_KIB = 0.25
"""Memory that a failed call may cost for good, on average."""


@dataclass(frozen=True)
class Action:
    """What is done while a call fails."""

    name: str
    prepare: Callable[[Dut], object]
    do: Callable[[Dut], object]
    """May fail."""
    restore: Callable[[Dut], object]
    """Makes everything as it was before `prepare`."""
    without: tuple[str, ...] = ()
    """How the names of functions begin that others call meanwhile, too: they do not fail."""


class Failing:
    """Each call fails once, as far as there is time; then everything is set up again, and frames have to pass.

    What goes wrong is kept, and the next call fails in a DUT of its own, so that a fault does not hide others.
    """

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._known = used(place.testbed, functions(place.testbed), RETURNS)
        self._failed: dict[str, str] = {}
        """Actions -> how many calls failed, in words."""
        self._wrong: dict[tuple[str, str, str], list[str]] = {}
        """By action, function and kind: what went wrong each time."""

    def all(self, actions: Sequence[Action]) -> Outcome:
        """What came of all actions. Raises IrqlabError, also if an action fails although no call did."""
        for number, action in enumerate(actions):
            self._one(action, self._place.allowance.part(len(actions) - number))
        self._place.doing = ""
        told = [f"{name}: {text}" for name, text in self._failed.items()]
        if self._wrong:
            first, *more = ((texts[0], key) for key, texts in self._wrong.items())
            kinds = [f"{action}: {function}(): {what}" for action, function, what in self._wrong]
            said = f"{first[0].splitlines()[0]}{f' (and {len(more)} more)' if more else ''}"
            others = [text.splitlines()[0] for text, _ in more]
            return failed(said, [*others, *first[0].splitlines()[1:], *told], kinds=kinds)
        if not self._failed:
            return not_supported("the driver calls no function that can be made to fail")
        return passed(f"{'; '.join(told)}, one at a time: set up again, frames pass", told)

    def _one(self, action: Action, allowance: Allowance) -> None:
        wanted = {name: at for name, at in self._known.items() if not name.startswith(action.without)}
        calls: dict[str, int] = {}
        waiting: Iterator[tuple[str, int]] | None = None
        count, what, name = 0, "", ""
        self._place.doing = ""
        while True:
            try:
                with self._place.dut() as dut:
                    dut.wait_forwarding()  # before the first traffic no calls are seen
                    if waiting is None:
                        calls = _counted(_meanwhile(dut, action, wanted), wanted)
                        waiting = spread(calls)
                    for name, call in waiting:
                        if count >= MOST or (count >= max(LEAST, 2 * len(calls)) and allowance.over):
                            break
                        if self._known_to_fail(action.name, name):
                            continue
                        what = f"{action.name}: call {call} of {name}() failed, and all was set up again"
                        self._place.progress(f"{action.name}: {count} of {sum(calls.values())} calls failed")
                        if any(entry[3] for entry in self._fail(dut, action, {name: wanted[name]}, call, what)):
                            count += 1
                    dut.kernel_log.forget()
                break
            except BROKEN as error:
                if waiting is None or isinstance(error, CancelledError):
                    raise
                count += 1
                self._keep(action.name, name, what, str(error))
        if count:
            self._failed[action.name] = f"{count} of {sum(calls.values())} calls failed"

    def _fail(self, dut: Dut, action: Action, probe: Mapping[str, int], call: int, what: str) -> list[Any]:
        """Raises KernelProblemError or MachineError if something goes wrong."""
        self._place.doing = what
        found = _meanwhile(dut, action, probe, call)
        dut.kernel_log.check(messages=False)  # a driver may say that it has no memory
        self._place.doing = ""
        tally = Tally()
        if any(entry[3] for entry in found) and not load.passes(dut, tally, what):
            raise DutError(tally.wrong[0].removeprefix(f"{what}: "))
        return found

    def _known_to_fail(self, action: str, function: str) -> bool:
        """Two calls of a function with which the same went wrong are enough."""
        return any(key[:2] == (action, function) and len(texts) >= ENOUGH for key, texts in self._wrong.items())

    def _keep(self, action: str, function: str, what: str, said: str) -> None:
        self._wrong.setdefault((action, function, kind(said)), []).append(f"{what}: {said}")


def _meanwhile(dut: Dut, action: Action, probes: Mapping[str, int], call: int = NEVER) -> list[Any]:
    """Does something while the call with this number fails; the calls, as RESULT has them (docs/inside/protocol.md)."""

    def do(_: int) -> None:
        dut.sleep(2 * BEGIN_NS)
        try:
            action.do(dut)
        except IrqlabError as error:
            errors.append(error)

    errors: list[IrqlabError] = []
    action.prepare(dut)
    name = next(iter(probes), "")
    events = [_fails(name, BEGIN_NS, call), _fails(name, LASTS_NS - BEGIN_NS, NEVER)] if probes else []
    trial = {"warmup_ns": 0, "duration_ns": LASTS_NS, "drain_ns": 1_000, "probes": list(probes.values()), "events": events}
    found = [entry for entry in dut.run_trial(trial, [], do)["probes"] if entry[1] >= BEGIN_NS]
    action.restore(dut)
    if errors and call == NEVER:
        raise errors[0]
    return found


def _fails(function: str, at_ns: int, after: int) -> dict[str, Any]:
    do = {"kind": "fail", "function": 0, "after": after, "value": RETURNS[function]}
    return {"do": do, "first_ns": at_ns, "every_ns": LASTS_NS, "count": 1}


def _counted(entries: Sequence[Any], probes: Mapping[str, int]) -> dict[str, int]:
    """How often each function was called; those that were not are left out."""
    counts = {name: sum(entry[0] == number for entry in entries) for number, name in enumerate(probes)}
    return {name: count for name, count in counts.items() if count}


def spread(calls: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """All calls: functions by turns, and of each the numbers in an order that is even from the beginning on."""
    orders = {name: sorted(range(count), key=lambda call: call * SPREAD % 1) for name, count in calls.items()}
    for number in range(max(calls.values(), default=0)):
        yield from ((name, order[number]) for name, order in orders.items() if number < len(order))


def _bind(place: Workplace) -> Outcome:
    with place.dut() as dut:
        device, driver = life.bus(dut, ETH)
        unbind, bind = (f"echo {device} >{driver}/{what}" for what in ("unbind", "bind"))

        def do(dut: Dut) -> None:
            dut.write(f"{driver}/bind", device)
            dut.write(FLAGS, UP)

        def restore(dut: Dut) -> None:
            dut.attempt("sh", "-c", f"[ ! -e {driver}/{device} ] || {unbind}; {bind}")
            life.configure(dut, ETH)

    return Failing(place).all([Action("bound", lambda dut: dut.run("sh", "-c", unbind), do, restore, OF_THE_KERNEL)])


def _change(place: Workplace) -> Outcome:
    rings = place.subject.facts.rings
    with place.dut() as dut:

        def restore(argv: Sequence[str], dut: Dut) -> None:
            dut.attempt(*argv)
            dut.write(FLAGS, DOWN)  # a change that failed may have closed it
            dut.write(FLAGS, UP)

        actions = [
            Action(
                "another MTU",
                lambda _: None,
                lambda dut: dut.write(MTU, "1400"),
                partial(restore, ("ip", "link", "set", ETH, "mtu", "1500")),
            )
        ]
        if rings is not None and "-g" not in place.subject.facts.refusals:
            other, now = (("ethtool", "-G", ETH, "rx", str(size)) for size in (max(rings.rx // 2, 1), rings.rx))
            if not dut.attempt(*other)["code"]:
                dut.attempt(*now)
                restored = partial(restore, now)
                actions.append(Action("other rings", lambda _: None, lambda dut: dut.attempt(*other), restored, OF_PROCESSES))
    return Failing(place).all(actions)


def _storm(place: Workplace) -> Outcome:
    """Call after call fails while frames arrive: afterwards frames pass without further help, and no memory is lost."""
    told: list[str] = []
    wrong: dict[str, str] = {}
    known = {name: at for name, at in used(place.testbed, functions(place.testbed)).items() if not name.startswith(OF_PROCESSES)}
    for number, (name, address) in enumerate(known.items()):
        try:
            with place.dut() as dut:
                count = _stormed(place, dut, name, address, place.allowance.part(len(known) - number))
            told += [f"{name}() {count} times"] if count else []
        except BROKEN as error:
            if isinstance(error, CancelledError):
                raise
            wrong[name] = str(error)
    if wrong:
        (name, text), *others = wrong.items()
        first, *rest = text.splitlines()
        more = f" (and {len(others)} more)" if others else ""
        lines = [f"{other}() failed while frames arrived: {said.splitlines()[0]}" for other, said in others]
        kinds = [f"{other}(): {kind(said)}" for other, said in wrong.items()]
        return failed(f"{name}() failed while frames arrived: {first}{more}", [*lines, *rest], kinds=kinds)
    if not told:
        return not_supported("while frames pass, the driver calls no function that can be made to fail")
    return passed(f"{', '.join(told)}, while frames arrived: frames pass without further help, no memory is lost")


def _stormed(place: Workplace, dut: Dut, name: str, address: int, allowance: Allowance) -> int:
    """How many calls of a function failed. Raises DutError, KernelProblemError or MachineError if something went wrong."""
    readings, so_far, tally = [(0, _memory_kib(dut))], 0, Tally()
    for storm in range(STORMS):
        if storm >= LEAST_STORMS and allowance.over:
            break
        count = _failed_under_load(dut, name, address)
        if not count:
            break
        so_far += count
        if not load.passes(dut, tally, f"after {so_far} failed calls"):
            raise DutError(tally.wrong[0])
        readings.append((so_far, _memory_kib(dut)))
        place.progress(f"{so_far} calls of {name}() failed")
    dut.kernel_log.check(messages=False)
    dut.kernel_log.forget()
    lost_kib = life.leak_kib(readings)
    if lost_kib >= LOST_KIB:
        raise DutError(f"each failed call costs {lost_kib:.1f} KiB of memory (failed, free KiB: {readings})")
    return so_far


def _failed_under_load(dut: Dut, name: str, address: int) -> int:
    """Frames arrive both ways while calls of a function fail, one every EVERY_NS; how many failed."""
    size = {"kind": "imix", "mix": [[64, 7], [594, 4], [1518, 1]]}
    streams = [stream(port, 1 - port, {"kind": "constant", "rate_pps": FRAMES_PPS}, size) for port in (0, 1)]
    events = [_fails(name, at_ns, 0) for at_ns in range(EVERY_NS, STORM_NS - EVERY_NS, EVERY_NS)]
    events.append(_fails(name, STORM_NS - 1_000, NEVER))
    trial = {"warmup_ns": 0, "duration_ns": STORM_NS, "drain_ns": 1_000, "probes": [address], "events": events}
    return sum(bool(entry[3]) for entry in dut.run_trial(trial, streams)["probes"])


def _memory_kib(dut: Dut) -> int:
    """Free memory, with both interfaces set down and up before: their rings are full."""
    dut.run("sh", "-c", "; ".join(f"ip link set {one} {state}" for one in INTERFACES for state in ("down", "up")))
    dut.wait_forwarding()
    return life.free_kib(dut)


ROWS = (
    Row("failures-storm", "Many allocations fail under load", GROUP, _storm, 0.8, risk=6),
    Row("failures-change", "... while a setting changes", GROUP, _change, 0.8, risk=5),
    Row("failures-bind", "... while the driver is bound", GROUP, _bind, 1.0, risk=5),
)

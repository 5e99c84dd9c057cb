# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own tests of network drivers, as its maintainers run them: two ports, one of them in a network namespace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from irqlab.check import wire
from irqlab.check.kinds import kind
from irqlab.check.row import Outcome, Row, Workplace, failed, not_covered, not_supported, passed
from irqlab.check.subject import Subject
from irqlab.config.addresses import INTERFACES
from irqlab.config.testbed import DEFAULT_MIPS
from irqlab.dut.agent import DutError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.dut.router import Dut
from irqlab.setup import SetupError, selftests
from irqlab.trials.testbed import Testbed

GROUP = "The kernel's selftests"
CPUS = 4
"""Of the DUT, without the instruction clock: programs in Python that wait for seconds; some set the affinity to more than two."""
MEMORY_MIB = 768
"""The tests and their tree lie in the DUT's memory."""
LIMIT_NS = 600_000_000_000
"""For one test program."""
NAMESPACE = "remote"
PINGS = 10
"""A second apart, until the interfaces reach each other."""
MOST_WORDS = 300
"""Letters of what a test says before a result."""
ADDRESSES = {"LOCAL_V4": "192.0.2.1", "REMOTE_V4": "192.0.2.2", "LOCAL_V6": "2001:db8::1", "REMOTE_V6": "2001:db8::2"}
"""As in drivers/net/lib/py/env.py."""
LINE = re.compile(r"^(not )?ok \d+ (\S+)(?: # (SKIP|XFAIL)(.*))?$", re.MULTILINE)
MODULES = (
    *("8021q", "act_skbedit", "cls_bpf", "cls_flower", "cls_fw", "cls_matchall", "macsec", "netconsole", "pppoe"),
    *("sch_etf", "sch_fq", "sch_ingress", "sch_prio"),
)
"""Of drivers/net/config, as far as the kernel has them."""
LACKS = re.compile(
    r"bpftrace|\.bpf\.o[^;]*No such file|psp_responder|No module named|netdevsim|CONFIG_|not supported by the kernel"
    r"|Unknown device type|qdisc kind is unknown|JSON output not available"
)
"""What a test says if the kernel or a program lacks something that it needs."""
OF_THE_LAB = re.compile(r"sw_ipv4_data_lrg_1byte$|_large_")
"""Cases of gro.py. One fails where short frames are padded: the kernel's GRO merges no IPv4 packet with padding behind it. The
others want 64 KB to arrive within a poll, which they do not on a busy host, nor through a model that cuts long frames."""
CANNOT = re.compile(
    r"Operation not supported|list index out of range|driver does not report stats|mtu greater than device maximum"
    r"|does not support XDP|sec xdp\.frags; EXIT|ksft_ge\(irqs, 1\)"
)
"""What a test says if the driver lacks what it takes for granted: an operation, a second queue, an interrupt, XDP of parts."""
KERNEL = "dmesg"
"""In place of a program: what the kernel logged while they ran."""
TIMED, SLOW = "so_txtime.py", {"KSFT_MACHINE_SLOW": "yes"}
"""A program that wants times kept to the millisecond, and how it is told that the machine is slow."""
LARGE = "ping -s 65000"
"""What the model of a USB NIC loses on a busy host: its chip has room for 12 KB."""
LONGEST = "gro.py"
"""Two hundred cases, with six tries of each one that fails: run last, and not with a driver that refuses GRO."""


@dataclass(frozen=True)
class Case:
    """A test case that ran."""

    program: str
    name: str
    result: str
    """pass, fail, skip or xfail, as NIPA has it."""
    why: str = ""
    retry: str = ""
    """What came of it the second time, if it was run again."""


def cases(program: str, output: str) -> list[Case]:
    """The cases in the output of a test program (KTAP). `why`: what the test says of it, or the lines before its result."""
    found, before = [], 0
    for line in LINE.finditer(output):
        said = [
            text[2:].removeprefix("Exception| ").strip()
            for text in output[before : line.start()].splitlines()
            if text[:2] == "# "
        ]
        before = line.end()
        if line[3]:
            result, why = {"SKIP": "skip", "XFAIL": "xfail"}[line[3]], line[4].strip()
        else:
            result, why = ("fail", "; ".join(text for text in said if text)[-MOST_WORDS:]) if line[1] else ("pass", "")
        found.append(Case(program, line[2].partition(".")[2] or line[2], result, why))
    return found


def nipa(found: Sequence[Case]) -> list[dict[str, str]]:
    """The cases in the form in which NIPA, netdev's CI, keeps them."""
    words = [{"test": one.name, "group": f"selftests-drivers-net/{one.program}", "result": one.result} for one in found]
    return [{**word, **({"retry": one.retry} if one.retry else {})} for word, one in zip(words, found, strict=True)]


def _selftests(place: Workplace) -> Outcome:
    """Runs every program that the Makefile names, with the first interface; the other one is the remote end."""
    config = replace(place.testbed.config, nic=place.testbed.nic.model, functional=True, cpus=CPUS, mips=DEFAULT_MIPS)
    testbed = Testbed.resolve(replace(config, kernel_arguments=f"{config.kernel_arguments} ipv6.disable=0".strip()))
    tests = selftests.get(testbed.machine.kernel, testbed.machine.initrd)
    if isinstance(tests, str):
        return not_supported(tests)
    # Tests switch code of the kernel's on and off all the time.
    machine = replace(testbed.machine, initrd=tests.path, initrd_sha256=tests.sha256, memory_mib=MEMORY_MIB, in_turn=True)
    testbed = replace(testbed, machine=machine)
    found: list[Case] = []
    left = sorted(tests.programs, key=LONGEST.__eq__)
    try:
        with Workplace(Subject(testbed), place.allowance).dut() as dut:
            _prepare(dut, testbed)
            while left and not (found and place.allowance.over):
                _reach(dut)
                program = left.pop(0)
                place.progress(f"{program}: {len(tests.programs) - len(left)} of {len(tests.programs)}")
                cases = _run(dut, program)
                if any(_is_wrong(one, place.subject.is_usb) for one in cases):
                    place.progress(f"{program}: again")
                    cases = again(cases, _run(dut, program))
                found += cases
    except KernelProblemError as error:
        first, *rest = str(error).splitlines()
        found.insert(0, Case(KERNEL, "log", "fail", "; ".join([first, *(line.strip() for line in rest)])))
    testbed.close()
    return _outcome(found, left, place.subject.is_usb)


def _prepare(dut: Dut, testbed: Testbed) -> None:
    """The tree with its mounts, modules, and the second interface in a namespace of its own, over a wire."""
    wire.connect(dut)
    for name in MODULES:
        with suppress(SetupError):
            wire.load(dut, testbed, name)
    root, (own, other) = f"/{selftests.PLACE}", INTERFACES
    lines = [f"mount --bind {root} {root}"]  # ip netns wants its root to be a mount point
    lines += [f"mount --bind /{name} {root}/{name}" for name in ("dev", "proc")]
    lines += [
        f"mount -t sysfs none {root}/sys",
        f"mount -t configfs none {root}/sys/kernel/config || true",
        f"mount -t tmpfs none {root}/run",
        f"mkdir -p {root}/var {root}/run/netns",
    ]
    lines += [f"ln -sfn /run {root}/var/run", f"chroot {root} /usr/bin/ip netns add {NAMESPACE}"]
    lines += [f"chroot {root} /usr/bin/ip link set {other} netns {NAMESPACE}", f"/bin/ip link set {own} up"]
    inside = f"chroot {root} /usr/bin/ip netns exec {NAMESPACE} ip"
    keeps = "echo 1 >/proc/sys/net/ipv6/conf/all/keep_addr_on_down"  # some programs set an interface down
    lines += [keeps, f"chroot {root} /usr/bin/ip netns exec {NAMESPACE} sh -c '{keeps}'"]
    lines += [f"{inside} link set lo up", f"{inside} link set {other} up"]
    for name, prefix in (("V4", "24"), ("V6", "64")):
        nodad = " nodad" if name == "V6" else ""
        lines += [f"/bin/ip addr add {ADDRESSES[f'LOCAL_{name}']}/{prefix} dev {own}{nodad}"]
        lines += [f"{inside} addr add {ADDRESSES[f'REMOTE_{name}']}/{prefix} dev {other}{nodad}"]
    dut.run("sh", "-ec", "\n".join(lines))
    if not _reach(dut):
        raise DutError("the two interfaces do not reach each other")


def _reach(dut: Dut) -> bool:
    """Waits until the interfaces reach each other: the program before may have changed their settings."""
    return any(not dut.attempt("ping", "-c", "1", "-W", "1", ADDRESSES["REMOTE_V4"])["code"] for _ in range(PINGS))


def _run(dut: Dut, program: str) -> list[Case]:
    """The cases of one program. Without any, what it says is one case that failed."""
    if program == LONGEST and "requested on" in dut.attempt("ethtool", "-K", INTERFACES[0], "gro", "on")["out"]:
        return [Case(program, "", "skip", "ethtool -K gro on: the driver refuses")]
    settings = {"NETIF": INTERFACES[0], "REMOTE_TYPE": "netns", "REMOTE_ARGS": NAMESPACE, **ADDRESSES}
    settings |= SLOW if program == TIMED else {}
    words = ["env", "-i", f"PATH={selftests.PATH}", "HOME=/tmp", *(f"{name}={value}" for name, value in settings.items())]
    home = f"/{selftests.SOURCE}/{selftests.HOME}"
    argv = ["chroot", f"/{selftests.PLACE}", "/usr/bin/env", *words[1:], "bash", "-c", f"cd {home} && exec ./{program} 2>&1"]
    done = dut.rpc.guest("exec", argv=argv, stdin=None, limit_ns=LIMIT_NS)
    found = cases(program, done["out"])
    return found or [Case(program, "", "fail", f"ended with {done['code']}: {(done['out'] or done['err']).strip()[-300:]}")]


def again(cases: Sequence[Case], second: Sequence[Case]) -> list[Case]:
    """The cases of a program that was run twice, as NIPA does if one fails: a busy host has a test miss its time."""
    results = {one.name: one.result for one in second}
    return [replace(one, retry=results.get(one.name, "")) if one.result == "fail" else one for one in cases]


def _is_broken(case: Case) -> bool:
    return case.result == "fail" and case.retry != "pass"


def _is_lacking(case: Case, usb: bool) -> bool:
    return case.program != KERNEL and bool(LACKS.search(case.why) or _of_the_lab(case, usb))


def _is_unable(case: Case, usb: bool) -> bool:
    return case.program != KERNEL and not _is_lacking(case, usb) and bool(CANNOT.search(case.why))


def _is_wrong(case: Case, usb: bool) -> bool:
    return _is_broken(case) and not _is_lacking(case, usb) and not _is_unable(case, usb)


def _of_the_lab(case: Case, usb: bool) -> bool:
    """Whether what failed is the lab's: that frames came too late, or are cut or padded. Too much merged is never."""
    if case.program == LONGEST:
        return bool(OF_THE_LAB.search(case.name)) and "over-coalesced" not in case.why
    return usb and LARGE in case.why


def _outcome(found: Sequence[Case], left: Sequence[str], usb: bool = False) -> Outcome:
    """Cases that need what the DUT lacks were not run."""
    broken = [one for one in found if _is_broken(one)]
    lacking = [one for one in broken if _is_lacking(one, usb)]
    unable = [one for one in broken if _is_unable(one, usb)]
    wrong = [one for one in broken if _is_wrong(one, usb)]
    late = sum(one.retry == "pass" for one in found)
    count = {result: sum(one.result == result for one in found) for result in ("pass", "skip", "xfail")}
    good = count["pass"] + late
    said = f"{good} cases passed" + (f" ({late} at the second try)" if late else "")
    said += f", {count['skip']} skipped themselves, {count['xfail']} were expected to fail"
    said += f", {len(unable)} need what the driver does not support" if unable else ""
    said += f", {len(lacking)} what the kernel or the lab does not have" if lacking else ""
    said += f"; no time was left for {', '.join(left)}" if left else ""
    ordered = (*wrong, *unable, *lacking, *(one for one in found if one not in broken))
    evidence = [f"{one.program} {one.name}: {one.result}{f': {one.why}' if one.why else ''}" for one in ordered]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        logged = wrong[0].program == KERNEL
        first = wrong[0].why.partition("; ")[0] if logged else f"{wrong[0].program} {wrong[0].name} failed"
        outcome = failed(f"{first}{more}; {said}", evidence, kinds=[kind(wrong[0].why)] if logged else [])
    else:
        outcome = passed(said, evidence) if good else not_covered(said)
    return replace(outcome, results=tuple(nipa(found)))


ROWS = (Row("selftests", "tools/testing/selftests/drivers/net", GROUP, _selftests, 3.0, risk=1, deep=True),)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of `irqlab live`: results, bad input, prepare and restore, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from irqlab.methods import catalogue
from irqlab.report import html
from irqlab.setup.paths import live_binary
from tests.live.bench import IRQLAB, ROOT, Bench

SHORT = ["--sleep", "--duration", "0.2", "--warmup", "0.02", "--repeat", "1", "--line-rate", "1M"]
OPEN = [*SHORT, "--uncalibrated"]


def _one_message(code: int, errors: str, *parts: str) -> None:
    assert code == 2, errors
    lines = [line for line in errors.splitlines() if line.startswith("irqlab: ")]
    assert len(lines) == 1, errors
    assert "Traceback" not in errors
    for part in parts:
        assert part in errors, errors


def test_bad_input_gives_one_message_with_the_mend(bench: Bench) -> None:
    measured = ["throughput", "p0", "p1", *OPEN]
    bad_ssh = bench.home / "bad-ssh"
    bad_ssh.write_text("#!/bin/sh\necho 'ssh: connect to host board port 22: Connection refused' >&2\nexit 255\n")
    bad_ssh.chmod(0o755)
    nmcli = bench.home / "bin/nmcli"
    nmcli.parent.mkdir()
    nmcli.write_text("#!/bin/sh\necho '100 (connected)'\n")
    nmcli.chmod(0o755)
    cases: list[tuple[list[str] | dict[str, Any], tuple[str, ...]]] = [
        (["throughput", "p0", "p0", *OPEN], ("both are p0",)),
        (["throughput", "p0", "nope0", *OPEN], ("nope0", "no such interface", "ip link")),
        (["throughput", "p0", "p1", *SHORT], ("not known", "irqlab live calibrate p0 p1")),
        ([*measured, "--kind", "af_unix"], ("--kind af_unix", "af_packet, af_xdp")),
        ([*measured, "--cpus", "1000,1001"], ("processor 1000", "allowed")),
        ([*measured, "--line-rate", "fast"], ("--line-rate fast", "1G")),
        ([*measured, "--duration", "0"], ("--duration 0", "0.01 to 3600")),
        ([*measured, "--dut-ports", "d0,d1"], ("--dut user@board",)),
        ([*measured, "--rx", "napi"], ("--rx", "need an agent")),
        (measured, ("nobody answers for 198.18.0.1 on port p0", "irqlab live prepare", "--bridge")),
        ({"IRQLAB_SSH": str(bad_ssh)}, ()),
        ([*measured, "--dut", "user@board"], ("ssh failed", "Connection refused", "ssh-copy-id user@board")),
        ([*measured, "--dut", "unix:/nowhere"], ("cannot connect to /nowhere",)),
        ({"PATH": f"{nmcli.parent}:{os.environ['PATH']}"}, ()),
        (measured, ("port p0 belongs to NetworkManager", "irqlab live prepare p0 p1")),
    ]
    found = bench.commands(*(command for command, _ in cases))
    for (code, _, errors), parts in zip(found, (p for c, p in cases if isinstance(c, list)), strict=True):
        _one_message(code, errors, *parts)


def test_a_port_that_cannot_be_used_says_why(router: Bench) -> None:
    measured = ["throughput", "p0", "p1", *OPEN]

    def does(*command: str) -> dict[str, Any]:
        return {"run": ["ip", *command]}

    forward = ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/p1/forwarding"]
    steps: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        (does("link", "set", "p0", "down"), ("port p0 is down", "ip link set p0 up")),
        (does("link", "set", "p0", "up", "mtu", "1400"), ("MTU is 1400", "ip link set p0 mtu 1500")),
        (does("link", "set", "p0", "mtu", "1500"), ()),
        (does("-n", router.device, "link", "set", "d0", "down"), ("port p0 has no carrier", "cable")),
        (does("-n", router.device, "link", "set", "d0", "up"), ()),
        (
            does("address", "add", "10.9.8.7/24", "dev", "p1"),
            ("port p1 has the address 10.9.8.7/24", "irqlab live prepare p0 p1"),
        ),
        (does("address", "del", "10.9.8.7/24", "dev", "p1"), ()),
        ({"run": forward}, ("port p1: this host forwards ipv4", "irqlab live prepare p0 p1")),
    ]
    commands: list[list[str] | dict[str, Any]] = []
    for step, parts in steps:
        commands += [step, measured] if parts else [step]
    found = router.commands(*commands)
    for (code, _, errors), parts in zip(found, (parts for _, parts in steps if parts), strict=True):
        _one_message(code, errors, *parts)


def test_without_permission_the_message_names_setcap(router: Bench) -> None:
    dropped = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=65534", "--clear-groups"]
    for kind, name in (("af-packet", "raw frames"), ("af-xdp", "AF_XDP")):
        binary = "target/x86_64-unknown-linux-gnu/release/irqlab-live"
        copy = Path("/tmp") / f"irqlab-live-{os.getpid()}"
        copy.write_bytes((Path(IRQLAB).parents[2] / binary).read_bytes())
        copy.chmod(0o755)
        try:
            command = [
                "ip",
                "netns",
                "exec",
                router.tester,
                *dropped,
                str(copy),
                "--port=p0",
                "--port=p1",
                f"--kind={kind}",
                "--sleep",
            ]
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        finally:
            copy.unlink()
        assert done.returncode == 2
        error = json.loads(done.stdout)["error"]
        assert name in error
        assert f"setcap cap_net_raw,cap_net_admin,cap_bpf+ep {copy}" in error


def test_the_session_that_starts_it_keeps_its_weight(router: Bench) -> None:
    """The threads of irqlab-live are preferred, its session only if it is its own (autogroups, sched(7))."""
    group = Path("/proc/self/autogroup")
    before = group.read_text() if group.exists() else None
    tester = router.popen(str(live_binary()), "--port=p0", "--port=p1", "--sleep", stdin=subprocess.PIPE)
    with tester:
        threads = Path(f"/proc/{tester.pid}/task")
        until = time.monotonic() + 10
        while sum(os.getpriority(os.PRIO_PROCESS, int(one.name)) == -20 for one in threads.iterdir()) < 2:
            assert time.monotonic() < until, "no threads that are preferred"
            time.sleep(0.01)
        time.sleep(0.1)
        tester.communicate()
    assert tester.returncode == 0
    assert (group.read_text() if group.exists() else None) == before


def test_without_af_xdp_the_message_names_the_other_kind(router: Bench) -> None:
    program = router.home / "without-xdp"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/live/without_xdp.py {live_binary()} "$@"\n')
    program.chmod(0o755)
    code, _, errors = router.irqlab("throughput", "p0", "p1", *OPEN, "--kind", "af_xdp", env={"IRQLAB_LIVE": str(program)})
    _one_message(code, errors, "port p0: no AF_XDP here", "CONFIG_XDP_SOCKETS", "--kind af_packet")


def test_a_port_that_another_tester_uses_is_named(router: Bench) -> None:
    first = router.popen(str(live_binary()), "--port=p0", "--port=p1", "--kind=af-xdp", "--sleep", stdin=subprocess.PIPE)
    try:
        assert first.stdout is not None
        if "error" in (hello := first.stdout.readline()):
            pytest.skip(hello)
        assert "another XDP program or socket uses it" in (why := router.refusal("--kind=af-xdp"))
        assert "ip link set p0 xdp off" in why
    finally:
        first.communicate()


def test_prepare_takes_the_ports_from_network_manager(bench: Bench) -> None:
    nmcli, said = bench.home / "bin/nmcli", bench.home / "said"
    nmcli.parent.mkdir()
    nmcli.write_text(f'#!/bin/sh\n[ "$1" = -g ] && echo "100 (connected)" || echo "$*" >>{said}\n')
    nmcli.chmod(0o755)
    path = {"PATH": f"{nmcli.parent}:{os.environ['PATH']}"}
    found = bench.commands(["prepare", "p0", "p1", "--no-governor"], ["restore", "p0", "p1"], env=path)
    assert [code for code, _, _ in found] == [0, 0], found
    assert "p0: not managed by NetworkManager" in found[0][1]
    lines = [f"device set p{n} managed {what}" for what, order in (("no", (0, 1)), ("yes", (1, 0))) for n in order]
    assert said.read_text().splitlines() == lines


def test_throughput_of_a_device_that_forwards_so_many_frames(bench: Bench, kind: str) -> None:
    """A thousand frames a second, whatever the host does: found, with a range, in the lab's schema, and in a report."""
    result = bench.home / "result.json"
    options = ["--sleep", "--duration", "0.2", "--warmup", "0.05", "--repeat", "2", "--line-rate", "2M", "--width", "0.05"]
    with bench.impaired(rate_pps=1000, queue=8):
        code, out, errors = bench.irqlab(
            "throughput",
            "p0",
            "p1",
            "--bridge",
            "--uncalibrated",
            f"--kind={kind}",
            *options,
            "--name",
            "bucket",
            "--json",
            str(result),
        )
    if code == 2 and "no verdict" in errors:
        return  # the host was too busy, and the tester says so
    assert code == 0, errors
    document = catalogue.read(result)
    rows = document["measured"]["results"]
    assert [row["ensemble"]["member"] for row in rows] == [0, 1]
    for row in rows:
        assert 0.9 * 1000 <= row["total_throughput_pps"] <= 1.06 * 1000
        assert row["driver"] == "bucket"
        assert row["mips"] == 0
        assert not row["line_rate_limited"]
    assert "bucket" in out
    assert "the host stopped the tester in" in out
    live = document["environment"]["duts"][0]["live"]
    assert [port["driver"] for port in live["ports"]] == ["veth", "veth"]
    opened = live["ports"][0]["opened"]
    assert opened["kind"] == kind
    if kind == "af_packet":  # the NIC's clock, if it had one
        assert (opened["clock"], opened["no_hardware_time_stamps"]) == ("kernel", "the NIC does not stamp frames")
    assert live["agent"] is False
    assert "bucket" in html([document])


def test_calibrate_then_measure(tmp_path: Path, bench: Bench) -> None:
    """From the first command to a verdict: a loop, its calibration, then the device."""
    short = ["--sleep", "--duration", "0.1", "--warmup", "0.02", "--line-rate", "1M"]
    with Bench(tmp_path, loop=True) as loop:
        code, out, errors = loop.irqlab("calibrate", "p0", "p1", *short, "--size", "64")
        assert code == 0, errors
    (kept,) = (tmp_path / "cache/live").glob("p0-p1-af_packet.json")
    rate = json.loads(kept.read_text())["sizes"]["64"]["rate_pps"]
    assert f"calibration: {kept}" in out
    assert 0 < rate <= 1e6 / (84 * 8) * 1.001
    bench.route()
    code, out, errors = bench.irqlab("throughput", "p0", "p1", *short, "--repeat", "1", "--calibration", str(kept))
    assert code == 0, errors
    assert "kpps" in out


def test_prepare_with_an_agent_and_restore(bench: Bench) -> None:
    for n in range(2):
        bench.run(bench.tester, "sh", "-c", f"echo 1 > /proc/sys/net/ipv4/conf/p{n}/forwarding")
    bench.run(bench.tester, "ip", "address", "add", "10.9.8.7/24", "dev", "p1")
    bench.run(bench.device, "ip", "link", "set", "d1", "down")
    bench.run(bench.device, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward")
    before = [bench.state(name) for name in (bench.tester, bench.device)]
    agent = ["--dut", "user@board", "--dut-ports", "d0,d1"]
    result = bench.home / "result.json"
    found = bench.commands(
        ["prepare", "p0", "p1", "--no-governor"],  # for the calibration
        ["prepare", "p0", "p1", *agent, "--no-governor"],
        ["prepare", "p0", "p1", *agent],
        ["throughput", "p0", "p1", *OPEN, *agent, "--json", str(result)],
        ["restore", "p0", "p1"],
        ["restore", "p0", "p1"],
        env=bench.ssh(),
    )
    first, (code, out, errors), again, measured, restored, nothing = found
    assert first[0] == 0, first[2]
    assert "p0: gso" not in out  # once is enough
    assert code == 0, errors
    out = first[1] + out
    for change in (
        "p1: without the address 10.9.8.7/24",
        "conf/p0/forwarding: 1 -> 0",
        "device: d1: up",
        "device: d0: 198.18.0.1/24",
    ):
        assert change in out
    _one_message(again[0], again[2], "prepared already", "irqlab live restore p0 p1")
    assert measured[0] == 0, measured[2]
    dut = catalogue.read(result)["environment"]["duts"][0]
    assert dut["live"]["agent"] is True
    assert dut["kernel"]["release"] == os.uname().release
    assert dut["modules"][-1]["name"] == "veth"
    trial = catalogue.read(result)["measured"]["results"][0]["trials"][0]
    assert trial["interfaces"]["d0"]["rx_packets"] >= trial["streams"][0]["sent"]
    assert restored[0] == 0, restored[2]
    for name, old in zip((bench.tester, bench.device), before, strict=True):
        assert bench.state(name).splitlines() == old.splitlines()
    assert "nothing to restore" in nothing[1]
    assert not list(Path("/tmp").glob("irqlab.??????/irqlab-board"))


def _sees_kernel_threads() -> bool:
    """Whether this is the machine's first PID namespace; that of scripts/debian13 is not."""
    kthreadd = Path("/proc/2/comm")
    return kthreadd.exists() and kthreadd.read_text() == "kthreadd\n"


@pytest.mark.skipif(not _sees_kernel_threads(), reason="the PID namespace hides ksoftirqd, which the method needs")
def test_an_application_on_the_device(router: Bench) -> None:
    result = router.home / "result.json"
    agent = ["--dut", "user@board", "--dut-ports", "d0,d1"]
    options = [*OPEN, *agent, "--rate", "200,500", "--wait", "block,epoll"]
    _, (code, out, errors), _, alone, suspended = router.commands(
        ["prepare", "p0", "p1", *agent, "--no-governor"],
        ["application", "p0", "p1", *options, "--json", str(result)],
        ["restore", "p0", "p1"],
        ["application", "p0", "p1", *OPEN, "--rate", "200"],
        ["application", "p0", "p1", *OPEN, "--wait", "suspend"],
        env=router.ssh(),
    )
    assert code == 0, errors
    assert "kpps" in out
    (row,) = catalogue.read(result)["measured"]["results"]
    assert [(sample["wait"], round(sample["offered_pps"], -1)) for sample in row["samples"]] == [
        ("block", 200),
        ("block", 500),
        ("epoll", 200),
        ("epoll", 500),
    ]
    for sample in row["samples"]:
        places = sample["places"]
        assert places["received"] == places["sent"] - places["nic"] - places["backlog"] - places["socket"] - places["elsewhere"]
        assert places["received"] > 0
        assert 0 <= sample["cpu_available"] <= 1
        assert sample["instructions_per_datagram"] is None
        assert sample["latency"]["p50_ns"] > 0
        assert 0 < sample["echo_returned_pps"] <= 1.15 * sample["echo_offered_pps"]  # one more, sent before the window
    # Not all four: a busy host may stop a process for most of a trial.
    samples = row["samples"]
    taken = [sample["application_pps"] / sample["offered_pps"] for sample in samples]
    assert sum(share == pytest.approx(1, rel=0.2) for share in taken) >= 3  # the window is read by the agent
    assert max(sample["echo_returned_pps"] / sample["echo_offered_pps"] for sample in samples) >= 0.9
    assert not list(Path("/run").glob("udp-receive.9"))
    pids = subprocess.run(["ip", "netns", "pids", router.device], capture_output=True, text=True, check=True).stdout
    assert pids.split() == []
    _one_message(alone[0], alone[2], "needs an agent: --dut user@board --dut-ports eth0,eth1")
    _one_message(suspended[0], suspended[2], "--wait suspend", "block and epoll")


COMMANDS_BEFORE = 35
"""So many commands are obeyed: in the first trial of the second frame size, if no trial of the first is repeated."""


@pytest.mark.parametrize(
    ("ending", "said"), [("exit", ("the agent is gone", "rebooted")), ("sleep 1000", ("no answer", "hangs"))]
)
def test_an_agent_that_dies_or_hangs_is_named(router: Bench, ending: str, said: tuple[str, str]) -> None:
    program = router.home / "ssh"
    inside = f'setsid ip netns exec {router.device} sh -c "$1"'
    some = f'n=0; while [ $n -lt {COMMANDS_BEFORE} ] && IFS= read -r line; do echo "$line"; n=$((n + 1)); done; {ending}'
    program.write_text(
        f'#!/bin/sh\nshift\ncase "$1" in *"agent --stdio"*) {{ {some}; }} | {inside}; exit;; esac\nexec {inside}\n'
    )
    program.chmod(0o755)
    result = router.home / "result.json"
    options = [*OPEN, "--dut", "user@board", "--dut-ports", "d0,d1", "--size", "64,128", "--json", str(result)]
    began_s = time.monotonic()
    ((code, _, errors),) = router.commands(
        {"answer_s": 2}, ["throughput", "p0", "p1", *options], env={"IRQLAB_SSH": str(program)}
    )
    _one_message(code, errors, *said, "run it again when `ssh user@board true` answers")
    assert time.monotonic() - began_s < 30
    document = catalogue.read(result)
    assert document["complete"] is False
    kept = [row["frame_bytes"] for row in document["measured"]["results"] if row["complete"]]
    assert kept == [64] or "repeated" in errors  # a busy host
    while subprocess.run(["ip", "netns", "pids", router.device], capture_output=True, text=True, check=True).stdout.split():
        assert time.monotonic() - began_s < 30, "the agent is still there"
        time.sleep(0.05)


def test_a_device_that_reboots_is_named(router: Bench) -> None:
    result = router.home / "result.json"
    options = ["--sleep", "--duration", "3", "--warmup", "0", "--repeat", "1", "--line-rate", "1M", "--uncalibrated"]
    process = router.popen(str(IRQLAB), "live", "throughput", "p0", "p1", *options, "--json", str(result))
    sent = "/sys/class/net/p0/statistics/tx_packets"
    while int(router.run(router.tester, "cat", sent)) < 500:
        time.sleep(0.05)
    for state in ("down", "up"):
        subprocess.run(["ip", "-n", router.device, "link", "set", "d0", state], check=True)
    _, errors = process.communicate()
    _one_message(process.returncode, errors, "port p0 lost its carrier during a trial", "rebooted", "run it again")
    assert catalogue.read(result)["complete"] is False


def test_ctrl_c_keeps_results_and_leaves_nothing(router: Bench, kind: str) -> None:
    result = router.home / "result.json"
    options = [one if one != "0.2" else "0.5" for one in OPEN]
    process = router.popen(str(IRQLAB), "live", "throughput", "p0", "p1", *options, f"--kind={kind}", "--json", str(result))
    assert process.stderr is not None
    assert process.stdout is not None
    for line in process.stderr:
        if line.startswith("throughput"):  # a trial is over
            break
    process.send_signal(signal.SIGINT)
    errors = process.stderr.read()
    process.stdout.read()
    process.wait()
    if process.returncode == 0:
        return  # it was ready before
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    inside = router.run(router.tester, "ip", "-d", "link", "show", "p0")
    assert "xdp" not in inside
    pids = subprocess.run(["ip", "netns", "pids", router.tester], capture_output=True, text=True, check=True).stdout
    assert pids.split() == []

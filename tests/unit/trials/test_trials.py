# SPDX-License-Identifier: GPL-2.0-or-later
"""What trials ask of the DUT and of the tester (docs/inside/protocol.md), and what they make of the answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from irqlab.config import addresses
from irqlab.config.addresses import dut_ip, dut_mac
from irqlab.config.costs import Costs
from irqlab.config.schemes import Schemes
from irqlab.config.traffic import IMIX, Load
from irqlab.dut.agent import DutError
from irqlab.dut.counters import STATISTICS, Counters
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError
from irqlab.trials import application, cache, forwarding, peers
from irqlab.trials.application import ApplicationTrial, Tuning
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.trial import Conditions
from tests.unit.fake_dut import FakeDut
from tests.unit.fakes import answer, live, memory, port, stream

CONDITIONS = Conditions("d", 250, 100_000_000, 77, Counters(interrupts={"eth0": 1}), cost_model=True)
CONSTANT = {"kind": "constant", "rate_pps": 1000.0}
FIXED = {"kind": "fixed", "frame_bytes": 64}
WHOLE = {"begin_ns": 0, "end_ns": None, "count": None}


def routed(source: int, arrivals: Any = CONSTANT, size: Any = FIXED, **more: Any) -> dict[str, Any]:
    return {
        "from": source, "to": 1 - source, "dst_mac": dut_mac(source), "src_ip": addresses.tester_ip(source),
        "dst_ip": addresses.tester_ip(1 - source), "src_port": 49184, "dst_port": 9,
        "arrivals": arrivals, "size": size, **WHOLE, **more,
    }  # fmt: skip


# A load.


def test_a_load_as_the_tester_is_told_it() -> None:
    assert (Load(1000.0).arrivals_json(), Load(1000.0).size_json()) == (CONSTANT, FIXED)
    bursts = Load(5.0, "imix", "bursts", on_ns=3, off_ns=4)
    assert bursts.arrivals_json() == {"kind": "bursts", "rate_pps": 5.0, "on_ns": 3, "off_ns": 4}
    assert bursts.size_json() == {"kind": "imix", "mix": [[64, 7], [594, 4], [1518, 1]]} == {
        "kind": "imix", "mix": [list(entry) for entry in IMIX],
    }  # fmt: skip
    assert Load(5.0, arrivals="poisson").arrivals_json() == {"kind": "poisson", "rate_pps": 5.0}


# Forwarding.


def router(streams: int = 1, **answers: Any) -> FakeDut:
    result = answer([{"sent": n} for n in range(streams)], [port(sent=9)], instructions=123, idle_ns=45)
    return FakeDut({"trial": result, "counters": Counters(interrupts={"eth0": 11}), **answers})


def test_a_forwarding_trial_asks_for_one_stream_and_returns_what_was_counted() -> None:
    dut, spec = router(), ForwardingTrial((Load(1000.0),), seed=5, late_ns=6, bucket_ns=7, histogram=True)
    found = spec.measure(dut, CONDITIONS)  # type: ignore[arg-type]
    told = {
        "seed": 5, "warmup_ns": 50_000_000, "duration_ns": 200_000_000, "drain_ns": 100_000_000, "late_ns": 6, "bucket_ns": 7,
        "histogram": True,
    }  # fmt: skip
    assert dut.asked == [
        ("play_hosts", 100_000_000),
        ("trial", told, [routed(0, phase_ns=0)], False),
        ("counters",),
        ("check log",),
    ]
    assert (found.spec, found.streams, found.ports) == (spec, [stream({})], [port(sent=9)])
    assert (found.instructions, found.idle_ns, found.link_wait_ns) == (123, 45, 77)
    assert (found.kernel_log, found.cost_events) == (["a line"], None)
    assert found.counters.interrupts == {"eth0": 10}
    assert found.processors == []
    assert "processors" not in found.to_json()


def test_a_forwarding_trial_tells_what_each_of_several_processors_did() -> None:
    result = answer([{}], [port()], window_ns=1000, processors=[[100, 600], [250, 0]])
    found = ForwardingTrial((Load(1000.0),)).measure(router(trial=result), CONDITIONS)  # type: ignore[arg-type]
    both = [{"instructions": 100, "idle_ratio": 0.6}, {"instructions": 250, "idle_ratio": 0.0}]
    assert found.to_json()["processors"] == both
    spec = found.spec
    assert spec.restore(spec.store(found)) == found


def test_what_only_some_testers_say_is_kept() -> None:
    told = answer(memory=msgspec.to_builtins(memory(L1I=3)), live=msgspec.to_builtins(live(own_loss=4)))
    found = ForwardingTrial((Load(1000.0),)).measure(router(trial=told), CONDITIONS)  # type: ignore[arg-type]
    assert (found.memory, found.live) == (memory(L1I=3), live(own_loss=4))
    plain = ForwardingTrial((Load(1000.0),)).measure(router(), CONDITIONS)  # type: ignore[arg-type]
    assert (plain.memory, plain.live) == (None, None)


def test_a_stream_without_an_answer_is_an_error() -> None:
    with pytest.raises(ValueError, match="longer"):
        ForwardingTrial((Load(1000.0),), bidirectional=True).measure(router(1), CONDITIONS)  # type: ignore[arg-type]


def test_a_used_dut_s_counters_are_read_before_the_trial() -> None:
    dut = router(counters=[Counters(interrupts={"eth0": 4}), Counters(interrupts={"eth0": 6})])
    found = ForwardingTrial((Load(1000.0),)).measure_again(dut, CONDITIONS)  # type: ignore[arg-type]
    assert found.counters.interrupts == {"eth0": 2}
    assert [name for name, *_ in dut.asked] == ["play_hosts", "counters", "trial", "counters", "check log"]


def test_the_second_direction_starts_half_a_period_later_and_loads_keep_their_numbers() -> None:
    dut = router(4)
    loads = (Load(1000.0, begin_ns=1, end_ns=2), Load(250.0, "imix", count=3))
    found = ForwardingTrial(loads, bidirectional=True, above_line_rate=True).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.of("play_hosts") == [0], "no limit"
    ((_, streams, _),) = dut.of("trial")
    second = {"arrivals": {"kind": "constant", "rate_pps": 250.0}, "size": loads[1].size_json(), "count": 3}
    assert streams == [
        routed(0, begin_ns=1, end_ns=2, phase_ns=0),
        routed(1, begin_ns=1, end_ns=2, phase_ns=500_000),
        routed(0, **second, phase_ns=0),
        routed(1, **second, phase_ns=2_000_000),
    ]
    assert [(s.sent, s.load) for s in found.streams] == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_frames_are_captured_during_the_trial() -> None:
    dut = router()
    ForwardingTrial((Load(1000.0),), capture="/somewhere/a.pcapng").measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert [name for name, *_ in dut.asked if name in ("capture", "trial")] == ["capture", "trial", "capture"]
    assert dut.of("capture") == [{"path": "/somewhere/a.pcapng"}, {"path": None}]
    spec = ForwardingTrial((Load(1000.0),), capture="a")
    assert not spec.cacheable
    assert "capture" not in spec.specification()
    assert ForwardingTrial((Load(1000.0),)).specification() == spec.specification()


@pytest.mark.parametrize(("costs", "count"), [(Costs(irq=5), False), (None, True)])
def test_costs_are_charged_and_their_events_counted(monkeypatch, costs, count) -> None:
    charged = []
    events = iter([{"irq": 10, "byte": 3}, {"irq": 17, "byte": 33}])
    monkeypatch.setattr(forwarding.costmodel, "charge", lambda *told: charged.append(told))
    asked = []
    monkeypatch.setattr(forwarding.costmodel, "events", lambda of: asked.append(of) or next(events))
    dut, spec = router(), ForwardingTrial((Load(1000.0),), costs=costs, count_events=count)
    assert spec.measure(dut, CONDITIONS).cost_events == {"irq": 7, "byte": 30}  # type: ignore[arg-type]
    assert charged == [(dut, costs or Costs(), count)]
    assert asked == [dut, dut]
    bare = Conditions("d", 250, 1, 1, Counters())
    with pytest.raises(IrqlabError, match="need a testbed with a cost model"):
        spec.measure(dut, bare)  # type: ignore[arg-type]


# An application.

SNMP = "Udp: InDatagrams RcvbufErrors\nUdp: {} {}\n"
THREAD = "/proc/14"


def host(kind: str = "udp", **answers: Any) -> FakeDut:
    """A DUT whose ksoftirqd/0 is process 14; every reading of a counter is higher."""
    interfaces = [{"eth0": dict.fromkeys(STATISTICS, 0) | {"rx_packets": n}} for n in (100, 1000)]
    readings = [{"out": json.dumps({"datagrams": n, "echoed": n // 2}), "code": 0 if kind == "udp" else 1} for n in (10, 410)]
    where = {"/run/soak": {"kilo_instructions": 4096}, "/run/udp-receive.9": {"datagrams": 8192}}
    dut = FakeDut(
        {
            "run": lambda *words: json.dumps(where[words[-1]]),
            "attempt": readings,
            "counters": [Counters(interfaces=one) for one in interfaces],
            "clock": lambda _: {"now_ns": dut.now_ns},
            "spawn": lambda told: {"pid": 21 if "soak" in told["argv"] else 20},
            "reap": {"code": 137, "out": "", "err": ""},
            "trial": answer(
                [{"sent": 800, "received_in_window": 440}], [port(sent=1000, received=620), port(received=640)],
                watched=[[0, 12_500], [0, 300]], instructions=77,
            ),
            **answers,
        },
        **{
            "/run/soak": "x", "/run/udp-receive.9": "x", "/proc/net/snmp": SNMP.format(1, 2), "/proc/13/comm": "rcu\n",
            f"{THREAD}/comm": "ksoftirqd/0\n", f"{THREAD}/status": "voluntary_ctxt_switches:\t50\n",
            f"{THREAD}/schedstat": "700 8 9\n",
            "/sys/class/net/eth0/irqmod/rx_rate_pps": "990\n",
        },
    )  # fmt: skip
    return dut


def test_an_application_trial_starts_two_processes_and_addresses_the_dut() -> None:
    dut, spec = host(), ApplicationTrial(Load(4000.0, begin_ns=1, end_ns=2, count=3), seed=6, drain_ns=5)
    found = spec.measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.of("play_hosts") == [0]
    assert dut.of("spawn") == [
        {"argv": ["irqlab-guest", "udp-receive", "--bind", dut_ip(0), "--port", "9"]},
        {"argv": ["irqlab-guest", "soak", "--file", "/run/soak"]},
    ]
    assert dut.of("run") == [("irqlab-guest", "counters", "--where", file) for file in ("/run/soak", "/run/udp-receive.9")]
    assert dut.of("attempt") == [("irqlab-guest", "counters", "/run/udp-receive.9")] * 2
    ((trial, (stream,), meanwhile),) = dut.of("trial")
    assert trial == {
        "seed": 6, "warmup_ns": 50_000_000, "duration_ns": 200_000_000, "drain_ns": 5, "histogram": False, "watch": [4096, 8192],
    }  # fmt: skip
    arrivals = {"kind": "constant", "rate_pps": 4000.0}
    assert stream == routed(0, arrivals, begin_ns=1, end_ns=2, count=3) | {"to": 0, "dst_ip": dut_ip(0), "protocol": "udp"}
    assert not meanwhile
    assert [name for name, *_ in dut.asked].count("sleep") == 0
    assert not dut.of("sysctl")
    assert not dut.of("write")
    assert (found.places.sent, found.places.received, found.places.nic) == (1000, 400, 100)
    assert (found.kernel_log, found.rate_estimates_pps, found.cpu_available) == (("a line",), (), 0.25)
    assert dut.asked[-1] == ("check log",)


def test_a_line_rate_can_be_kept() -> None:
    dut = host()
    ApplicationTrial(Load(1.0), above_line_rate=False).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.of("play_hosts") == [100_000_000]


def test_a_receiver_may_echo_and_poll() -> None:
    dut = host()
    spec = ApplicationTrial(Load(4000.0), Tuning(busy_poll_us=50), echo=True, histogram=True)
    found = spec.measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.of("spawn")[0]["argv"][-3:] == ["--echo", "--busy-poll", "50"]
    assert dut.of("trial")[0][0]["histogram"]
    assert found.polled == 0
    assert found.places.application == 200, "half of the datagrams were not echoed"


NAPI = "irqlab-guest", "napi", "eth0"


def test_interrupts_are_suspended_over_netlink_before_the_receiver_starts() -> None:
    now = {"id": 8193, "defer-hard-irqs": 100, "gro-flush-timeout": 20_000, "irq-suspend-timeout": 20_000_000}
    dut = host()
    dut.answers["attempt"].insert(0, {"out": json.dumps([now]), "code": 0})
    tuning = Tuning(
        defer_hard_irqs=100, gro_flush_timeout_ns=20_000, irq_suspend_timeout_ns=20_000_000,
        epoll=True, busy_poll_us=0, busy_poll_budget=64, prefer_busy_poll=True,
    )  # fmt: skip
    ApplicationTrial(Load(4000.0), tuning).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    changes = ("defer-hard-irqs=100", "gro-flush-timeout=20000", "irq-suspend-timeout=20000000")
    assert dut.of("attempt")[0] == (*NAPI, *(part for change in changes for part in ("--set", change)))
    assert not dut.of("write"), "not in sysfs as well"
    expected = ["--epoll", "--busy-poll", "0", "--busy-poll-budget", "64", "--prefer-busy-poll"]
    assert dut.of("spawn")[0]["argv"][6:] == expected


def test_what_the_kernel_lacks_is_named() -> None:
    dut = host()
    dut.answers["attempt"] = {"out": "", "code": 1, "err": "irqlab-guest: Linux 6.1 has no per-NAPI settings; x came with 6.13\n"}
    with pytest.raises(DutError, match=r"^d: Linux 6.1 has no per-NAPI settings; x came with 6.13$"):
        ApplicationTrial(Load(1.0), Tuning(irq_suspend_timeout_ns=1)).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    dut.answers["attempt"] = {"out": '[{"id": 5, "threaded": "enabled"}]', "code": 0}
    with pytest.raises(DutError, match="NAPI 5 of eth0 has threaded enabled instead of busy-poll"):
        ApplicationTrial(Load(1.0), Tuning(napi_threads="busy-poll")).measure(dut, CONDITIONS)  # type: ignore[arg-type]


def test_a_receiver_that_cannot_start_says_why() -> None:
    dut = host(reap={"code": 1, "out": "", "err": "irqlab-guest: the kernel has no EPIOCSPARAMS\n"})
    del dut.files["/run/udp-receive.9"]
    with pytest.raises(DutError, match=r"did not start: the kernel has no EPIOCSPARAMS$"):
        ApplicationTrial(Load(1.0), Tuning(epoll=True, prefer_busy_poll=True)).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.of("reap") == [{"pid": 20, "signal": 9}]


def test_every_setting_is_part_of_a_trials_key() -> None:
    plain = ApplicationTrial(Load(1.0))
    changes: list[dict[str, Any]] = [
        {"napi_threads": "on"}, {"napi_threads": "busy-poll"}, {"irq_suspend_timeout_ns": 5}, {"epoll": True},
        {"busy_poll_us": 0}, {"busy_poll_budget": 8}, {"prefer_busy_poll": True}, {"schemes": Schemes(napi_threads="on")},
    ]  # fmt: skip
    keys = {cache.key_of({}, replace(plain, tuning=Tuning(**change)), None) for change in changes}
    assert len({*keys, cache.key_of({}, plain, None)}) == len(changes) + 1


@pytest.mark.parametrize(
    ("kind", "sink", "address", "protocol", "out"),
    [("ping", 0, dut_ip(0), "icmp", 620), ("forward", 1, addresses.tester_ip(1), "udp", 640)],
)
def test_without_a_receiver_the_kernel_answers_or_forwards(kind, sink, address, protocol, out) -> None:
    dut = host(kind)
    spec = ApplicationTrial(Load(4000.0), kind=kind)
    found = spec.measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert [one["argv"][1] for one in dut.of("spawn")] == ["soak"]
    ((trial, (stream,), _),) = dut.of("trial")
    assert trial["watch"] == [4096]
    assert (stream["to"], stream["dst_ip"], stream["protocol"], stream["src_ip"]) == (
        sink,
        address,
        protocol,
        addresses.tester_ip(0),
    )
    assert found.places.received == out


def test_the_driver_s_estimates_are_read_at_their_times() -> None:
    dut = host()
    found = ApplicationTrial(Load(1.0), rate_after_ns=(2000, 5000)).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.of("sleep") == [3000, 3000], "the window begins at 1000 ns"
    assert found.rate_estimates_pps == ((2000, 990), (5000, 990))
    dut = host()
    dut.files["/sys/class/net/eth0/irqmod/rx_rate_pps"] = None
    dut.now_ns = 9000
    found = ApplicationTrial(Load(1.0), rate_after_ns=(2000,)).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.of("sleep") == [0], "too late"
    assert found.rate_estimates_pps == ((8000, 0),)


def test_the_dut_is_tuned_before_the_applications_start(monkeypatch) -> None:
    applied: list[Any] = []
    monkeypatch.setattr(application.schemes, "apply", lambda *told: applied.append(told[1:]))
    schemes = Schemes(rx="napi")
    tuning = Tuning(schemes, budget=6, napi_threads="on", defer_hard_irqs=2, gro_flush_timeout_ns=20_000)
    dut = host()
    ApplicationTrial(Load(1.0), tuning).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.asked[1:5] == [
        ("sysctl", "net.core.netdev_budget", "6"),
        ("write", "/sys/class/net/eth0/threaded", "1"),
        ("write", "/sys/class/net/eth0/napi_defer_hard_irqs", "2"),
        ("write", "/sys/class/net/eth0/gro_flush_timeout", "20000"),
    ]
    ApplicationTrial(Load(1.0), tuning, kind="forward").measure(host("forward"), CONDITIONS)  # type: ignore[arg-type]
    assert applied == [(schemes, ("eth0",), "d"), (schemes, ("eth0", "eth1"), "d")]


def test_a_process_on_the_path_has_a_queue_and_what_arrives_is_routed_to_it() -> None:
    dut = host("screen")
    dut.files |= {"/run/screen": "x", "/sys/class/net/screen0/statistics/tx_dropped": "30\n"}
    watched = {"kilo_instructions": 4096}
    dut.answers |= {"run": lambda *words: json.dumps(watched) if "counters" in words else "", "attempt": {"out": "", "code": 1}}
    spec = ApplicationTrial(Load(1.0), Tuning(ksoftirqd_nice=-20, screen_queue=7), kind="screen", soaker_competes=True)
    dut.answers["trial"] |= {"watched": [[0, 12_500]]}
    found = spec.measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert [told["argv"][1:] for told in dut.of("spawn")] == [
        ["screen", "--interface", "screen0", "--file", "/run/screen"],
        ["soak", "--file", "/run/soak", "--normal"],
    ]
    done = [" ".join(words) for words in dut.of("run") if words[0] != "irqlab-guest"]
    assert done == [
        "renice -20 -p 14",
        "ip link set screen0 txqueuelen 7 up",
        "ip route add default dev screen0 table 100",
        "ip rule add iif eth0 to 198.19.0.2/32 lookup 100",
    ]
    assert found.places.received == 640
    assert found.places.socket == 0, "as many before as after"


def test_what_the_kernel_rejects_is_named() -> None:
    def refuse(*_: str) -> None:
        raise TesterError("EINVAL")

    with pytest.raises(DutError, match="the kernel rejected threaded 1 for d: EINVAL"):
        ApplicationTrial(Load(1.0), Tuning(napi_threads="on")).measure(host(write=refuse), CONDITIONS)  # type: ignore[arg-type]


def test_an_application_is_waited_for() -> None:
    dut = host()
    del dut.files["/run/udp-receive.9"]
    appear = {"sleep": lambda ns: dut.files.update({"/run/udp-receive.9": "x"}) if dut.now_ns >= 3 * ns else None}
    dut.answers |= appear
    ApplicationTrial(Load(1.0)).measure(dut, CONDITIONS)  # type: ignore[arg-type]
    assert dut.of("sleep") == [application.WAIT_STEP_NS] * 3
    never = host()
    del never.files["/run/soak"]
    with pytest.raises(DutError, match="did not start: /run/soak has not appeared"):
        ApplicationTrial(Load(1.0)).measure(never, CONDITIONS)  # type: ignore[arg-type]
    assert len(never.of("sleep")) == application.WAIT_STEPS


def test_a_reading_of_the_kernel_s_counters() -> None:
    dut = host()
    found = application._Reading.take(dut)  # type: ignore[arg-type]
    assert dut.of("read")[:2] == [("/proc/net/snmp", "/proc/net/netstat"), tuple(f"/proc/{n}/comm" for n in range(2, 128))]
    assert found.counters.interfaces["eth0"]["rx_packets"] == 100
    assert found.snmp == {"Udp": {"InDatagrams": 1, "RcvbufErrors": 2}}
    assert (found.receiver, found.polled, found.wakeups, found.run_ns) == ({"datagrams": 10, "echoed": 5}, 0, 50, 700)
    dut = host()
    dut.files["/proc/net/netstat"] = "TcpExt: SyncookiesSent BusyPollRxPackets\nTcpExt: 3 44\nIpExt: InOctets\nIpExt: 5\n"
    assert application._Reading.take(dut).polled == 44  # type: ignore[arg-type]
    dut = host()
    for file in ("status", "schedstat"):
        dut.files[f"{THREAD}/{file}"] = None
    dut.answers |= {"counters": Counters(), "attempt": {"out": "no such file", "code": 1}}
    dut.files["/proc/net/snmp"] = None
    found = application._Reading.take(dut)  # type: ignore[arg-type]
    assert (found.snmp, found.receiver, found.wakeups, found.run_ns) == ({}, {}, 0, 0)
    dut.files[f"{THREAD}/comm"] = "kthreadd"
    with pytest.raises(DutError, match="no ksoftirqd"):
        application._Reading.take(dut)  # type: ignore[arg-type]


# Peers.


def test_the_tester_s_end_of_an_iperf3_test() -> None:
    assert peers.server(65536) == {"kind": "iperf3_server", "port": 5201, "window_bytes": 65536, "bucket_ns": 0}
    assert peers.server(1, 2, 3) == {"kind": "iperf3_server", "port": 2, "window_bytes": 1, "bucket_ns": 3}
    assert peers.there(kind="x") == {"to": dut_ip(0), "to_mac": dut_mac(0), "kind": "x"}
    dut = FakeDut({"apps": {"origin_ns": 5.0}, "app_results": {"apps": [{"done": True}]}, "clock": {"now_ns": 7}})
    assert (peers.serve(dut, ({"a": 1},)), peers.results(dut), peers.now_ns(dut)) == (5, [{"done": True}], 7)  # type: ignore[arg-type]
    assert dut.asked == [("apps", {"port": 0, "apps": [{"a": 1}]}), ("app_results", {"port": 0}), ("clock", {})]


def test_the_dut_s_end_of_an_iperf3_test() -> None:
    dut = FakeDut({"spawn": {"pid": 12}, "reap": {"code": 0, "out": '{"end": 1}', "err": ""}})
    assert peers.iperf3(dut, "--server") == 12  # type: ignore[arg-type]
    assert peers.said(dut, 12) == {"end": 1}  # type: ignore[arg-type]
    assert peers.reap(dut, 12, 15)["code"] == 0  # type: ignore[arg-type]
    assert dut.asked == [
        ("spawn", {"argv": ["iperf3", "--json", "--interval", "0", "--server"]}),
        ("reap", {"pid": 12, "signal": None, "limit_ns": peers.REAP_LIMIT_NS}),
        ("reap", {"pid": 12, "signal": 15, "limit_ns": peers.REAP_LIMIT_NS}),
    ]
    client = ["--client", addresses.tester_ip(0), "--port", "5201", "--time", "2", "--parallel", "3"]
    assert peers.client_options(2, 3) == client
    assert peers.client_options(2, 3, 5201, reverse=True) == [*client, "--reverse"]
    assert peers.client_options(2, 3, 5202)[3] == "5202"


@pytest.mark.parametrize(
    ("code", "out", "err", "why"),
    [
        (1, '{"error": "unable to connect"}', "", r"failed \(1\): unable to connect$"),
        (0, '{"error": "busy"}', "", r"failed \(0\): busy$"),
        (2, "{}", "went wrong", r"failed \(2\): went wrong$"),
        (1, "no JSON ", " killed \n", r"failed \(1\): killed$"),
        (1, " no JSON ", "", r"failed \(1\): no JSON$"),
    ],
)
def test_an_iperf3_that_fails_says_why(code, out, err, why) -> None:
    with pytest.raises(DutError, match=why):
        peers.said(FakeDut({"reap": {"code": code, "out": out, "err": err}}), 1)  # type: ignore[arg-type]

# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tables say, in plain words made from the figures, where hybrid loses too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irqlab import units
from irqlab.reproduce import reference
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.salah2009 import rows
from irqlab.units import duration, kpps, percent, plain

LOADS = (0.5, 1.0, 2.0, 4.0)
SHARES = (0.1, 0.5, 0.9)
EQUAL = 0.02
"""Schemes within this share of the best share the first place."""
AGREE = 0.15
"""How close the two ways to the cliff are to be."""
STARVED = 0.05
"""An application that receives less than this share of what NAPI gives it starves."""
ESTIMATE_GOOD = 0.03
SETTLED_WINDOWS = 2
NO_INTERRUPTS = 0.01
"""Interrupts a frame that count as none."""
WORSE, LATER = 0.02, 0.05

Record = dict[str, Any]


def findings(tables: Tables) -> list[str]:
    """One sentence each."""
    parts = (
        _cliff,
        _starvation,
        _hybrid_throughput,
        _throughput,
        _latency,
        _hybrid_latency,
        _adaptive,
        _cpu,
        _interrupts,
        _budget,
    )
    found = [line for part in parts for line in part(tables)]
    return [plain(line) for line in (*found, *_switches(tables), *_settling(tables), *_estimator(tables), *_today(tables))]


def _ours(data: Data) -> list[Record]:
    records = list(data.records())
    return [r for r in records if r["driver"] == records[0]["driver"]]


def _at(data: Data, column: str, load: float) -> list[Record]:
    return [r for r in _ours(data) if r[column] == load]


def _name(record: Record) -> str:
    return f"{record['scheme']} ({record['setting']})" if record["setting"] else str(record["scheme"])


def _cliff(tables: Tables) -> list[str]:
    data = tables["cliff"]
    signs = {r["found"]: r["cliff_pps"] for r in data.records(application="receives")}
    external, internal = data.one(application="receives", chosen=True)["cliff_pps"], signs["internal"]
    told = ", ".join(f"{name} {kpps(pps)}" for name, pps in signs.items() if name != "internal")
    off = internal / external - 1
    costs = next(tables["cliff_costs"].records())
    lines = [
        f"The cliff of the receiving application, in kpps by sign: {told}; the CPU's is used. From inside: {kpps(internal)}."
    ]
    if abs(off) <= AGREE:
        lines.append(f"The two ways to the cliff are {percent(abs(off))} apart.")
    else:
        lines.append(
            f"The closed form is {percent(abs(off))} {'above' if off > 0 else 'below'} the cliff from "
            f"outside: it has a packet cost "
            f"what it costs at {kpps(costs['rate_pps'])} kpps ({costs['interrupts_per_packet']:.2f} "
            f"interrupts a packet), at every load."
        )
    echo = data.one(application="echoes", chosen=True)["cliff_pps"]
    lines.append(f"An application that sends everything back has its cliff at {kpps(echo)} kpps.")
    return lines


def _starvation(tables: Tables) -> list[str]:
    by = {r["scheme"]: r for r in tables["starvation"].records()}
    napi, lines = by[rows.NAPI]["application_pps"], []
    for scheme, r in by.items():
        if scheme == rows.NAPI:
            continue
        starved = r["application_pps"] < STARVED * napi
        told = f"{kpps(r['application_pps'])} kpps of {kpps(r['offered_pps'])} ({rows.NAPI}: {kpps(napi)})"
        does = "starves" if starved else "does not starve"
        lines.append(f"Over {r['window_s']:g} s at four times the cliff {scheme} {does} the application: {told}.")
    for r in tables["overload"].records(scheme=rows.DE):
        lines.append(
            f"Under {rows.DE} at {r['load_of_cliff']:g} times the cliff softirqs have "
            f"{percent(r['softirq'])} of the instructions, "
            f"interrupts {percent(r['hardirq'])}, processes {percent(r['process_kernel'] + r['user'])}."
        )
    return lines


def _best(records: Sequence[Record], column: str, lowest: bool = False) -> tuple[list[str], float] | None:
    known = [r for r in records if r[column] is not None]
    if not known:
        return None
    values = [r[column] for r in known]
    best = min(values) if lowest else max(values)
    near = [_name(r) for r in known if abs(r[column] - best) <= EQUAL * abs(best)]
    return near, best


def _throughput(tables: Tables) -> list[str]:
    lines = []
    for load in LOADS:
        found = _best(_at(tables["application"], "load_of_cliff", load), "application_pps")
        if found:
            lines.append(f"Most received at {load:g} times the cliff: {', '.join(found[0])}, {kpps(found[1])} kpps.")
    return lines


def _hybrid_throughput(tables: Tables) -> list[str]:
    lines = []
    for load in (2.0, 4.0):
        by = {r["scheme"]: r for r in _at(tables["application"], "load_of_cliff", load) if not r["setting"]}
        hybrid = by[rows.HYBRID]
        for other in (rows.DE, rows.NAPI):
            ratio = hybrid["application_pps"] / max(by[other]["application_pps"], 1e-9)
            verdict = "at least" if ratio >= 1 else "less than"
            lines.append(
                f"At {load:g} times the cliff hybrid gives the application {kpps(hybrid['application_pps'])} kpps, {verdict} "
                f"{other}'s {kpps(by[other]['application_pps'])}."
            )
        if hybrid["application_pps"] < max(by[rows.NAPI]["application_pps"], by[rows.DE]["application_pps"]):
            lines.append(_why_hybrid(tables, hybrid, load))
    return lines


def _why_hybrid(tables: Tables, hybrid: Record, load: float) -> str:
    by = {r["scheme"]: r for r in tables["overload"].records(load_of_cliff=load)}
    mine, napi = by[rows.HYBRID], by[rows.NAPI]
    if hybrid["interrupts_per_s"] > hybrid["offered_pps"] / 2:
        return (
            f"Why: at {load:g} times the cliff nearly every frame still has an interrupt of its own "
            f"({units.grouped(hybrid['interrupts_per_s'])} "
            f"a second), so no poll finds more than its budget, ksoftirqd is not woken, and softirqs "
            f"({percent(mine['softirq'])} of the "
            f"instructions) and interrupts ({percent(mine['hardirq'])}) go before the application, "
            f"under hybrid as under {rows.NAPI}."
        )
    return (
        f"Why: at {load:g} times the cliff a budget of {rows.HYBRID_BUDGET} makes a run of every two frames: hybrid takes "
        f"{kpps(mine['taken_pps'])} kpps off the ring with {percent(mine['softirq'])} of the instructions in softirqs, "
        f"{rows.NAPI} {kpps(napi['taken_pps'])} with {percent(napi['softirq'])}."
    )


def _latency(tables: Tables) -> list[str]:
    lines = []
    for column, name in (("p50_ns", "median"), ("p99_ns", "p99")):
        for share in SHARES:
            found = _best(_at(tables["round_trip"], "load_of_echo_cliff", share), column, lowest=True)
            if found:
                at = f"at {share * 100:.0f} % of the echo's cliff"
                lines.append(f"Shortest round trip {at}, {name}: {', '.join(found[0])}, {duration(found[1])}.")
    return lines


def _hybrid_latency(tables: Tables) -> list[str]:
    lines = []
    for column, name in (("p50_ns", "median"), ("p99_ns", "p99")):
        pairs = []
        for share in _below_the_cliff(tables):
            by = {r["scheme"]: r for r in _at(tables["round_trip"], "load_of_echo_cliff", share) if not r["setting"]}
            pairs.append((share, by[rows.HYBRID][column], by[rows.NAPI][column]))
        worse = [f"{share * 100:.0f} % ({duration(h)} against {duration(n)})" for share, h, n in pairs if h > n]
        lines.append(
            f"Hybrid's {name} round trip is longer than {rows.NAPI}'s at {', '.join(worse)} of the echo's cliff."
            if worse
            else f"Below the echo's cliff hybrid's {name} round trip is at most {rows.NAPI}'s."
        )
    return lines


def _below_the_cliff(tables: Tables) -> list[float]:
    """Of the echo: the loads at which a round trip is that of a DUT with time to spare."""
    loads = {r["load_of_echo_cliff"] for r in _ours(tables["round_trip"]) if r["load_of_echo_cliff"] is not None}
    return sorted(load for load in loads if load < 1)


def _adaptive(tables: Tables) -> list[str]:
    """Its target: at most WORSE below the best throughput at any load, within LATER of the best p99 below the cliff."""
    behind, late = [], []
    for load in dict.fromkeys(r["load_of_cliff"] for r in _ours(tables["application"])):
        by = {_name(r): r["application_pps"] for r in _at(tables["application"], "load_of_cliff", load)}
        best = max(by, key=lambda name: by[name])
        if by[rows.ADAPTIVE] < (1 - WORSE) * by[best]:
            behind.append(f"{load:g} times the cliff ({kpps(by[rows.ADAPTIVE])} against {kpps(by[best])} kpps, {best})")
    for share in _below_the_cliff(tables):
        by = {_name(r): r["p99_ns"] for r in _at(tables["round_trip"], "load_of_echo_cliff", share)}
        best = min(by, key=lambda name: by[name])
        if by[rows.ADAPTIVE] > (1 + LATER) * by[best]:
            late.append(f"{share * 100:.0f} % ({duration(by[rows.ADAPTIVE])} against {duration(by[best])}, {best})")
    lines = [
        f"Adaptive is more than {percent(WORSE)} behind the best scheme in throughput at {', '.join(behind)}."
        if behind
        else f"Adaptive is never more than {percent(WORSE)} behind the best scheme in throughput."
    ]
    lines.append(
        f"Adaptive's p99 is more than {percent(LATER)} above the best at {', '.join(late)} of the echo's cliff."
        if late
        else f"Adaptive's p99 is within {percent(LATER)} of the best below the echo's cliff."
    )
    return lines


def _cpu(tables: Tables) -> list[str]:
    found = _best(_at(tables["application"], "load_of_cliff", 0.5), "cpu_available")
    return [f"Most CPU left at half the cliff: {', '.join(found[0])}, {percent(found[1])}."] if found else []


def _interrupts(tables: Tables) -> list[str]:
    lines = []
    for scheme in (rows.DE, rows.NAPI, rows.HYBRID, rows.ADAPTIVE):
        records = sorted((r for r in _ours(tables["application"]) if r["scheme"] == scheme), key=lambda r: r["offered_pps"])
        linear = [r for r in records if abs(r["interrupts_per_s"] / r["offered_pps"] - 1) <= EQUAL]
        turn = linear[-1]["load_of_cliff"] if linear else None
        top = records[-1]
        until = f"one a frame up to {turn:g} times the cliff" if turn else "fewer than one a frame at every load"
        lines.append(
            f"Interrupts under {scheme}: {until}, {units.grouped(top['interrupts_per_s'])} a second "
            f"at {top['load_of_cliff']:g} times."
        )
        if scheme == rows.HYBRID:
            lines.append(_interrupts_gone(records))
    return lines


def _interrupts_gone(records: Sequence[Record]) -> str:
    """From which load on hybrid has no interrupts; `records` by load."""
    some = [r for r in records if r["interrupts_per_s"] > NO_INTERRUPTS * r["offered_pps"]]
    after = records[len(some) :]
    paper = _paper("hybrid_interrupts_fall_to_zero_at") / _paper("cliff")
    if not after or some != records[: len(some)]:
        return f"Hybrid's interrupts do not fall to zero (the paper: at {paper:g} times the cliff)."
    line = (
        f"Hybrid's interrupts are gone, to {percent(NO_INTERRUPTS)} of the frames, from {after[0]['load_of_cliff']:g} times the "
        f"cliff on (the paper: {paper:g})."
    )
    last = some[-1]
    if last["load_of_cliff"] > 1 + _paper("epsilon"):
        ratio = last["interrupts_per_s"] / last["offered_pps"]
        line += (
            f" Below that it is NAPI that interrupts: at {last['load_of_cliff']:g} times a poll finds the ring empty behind the "
            f"frames it takes, and unmasks ({ratio:.2f} interrupts a frame)."
        )
    return line


def _paper(quantity: str) -> float:
    return float(reference.by("salah2009_points", "quantity")[quantity]["value"])


def _budget(tables: Tables) -> list[str]:
    data = tables["budget"]
    lines = []
    for load in (2.0, 4.0):
        records = list(data.records(load_of_cliff=load))
        best, worst = max(records, key=lambda r: r["application_pps"]), min(records, key=lambda r: r["application_pps"])
        lines.append(
            f"Of the budgets at {load:g} times the cliff {best['scheme']} gives the application most "
            f"({kpps(best['application_pps'])} kpps), "
            f"{worst['scheme']} least ({kpps(worst['application_pps'])}); the paper found 2 better than 300."
        )
    awake = [r for r in _ours(tables["application"]) if r["scheme"] == rows.NAPI and r["ksoftirqd_share"] > EQUAL]
    if awake:
        first = min(awake, key=lambda r: r["offered_pps"])
        lines.append(
            f"With a budget of 300 ksoftirqd runs from {first['load_of_cliff']:g} times the cliff on (the paper: from "
            f"{_paper('ksoftirqd_awakened_at_budget_300') / _paper('cliff'):g} times): "
            "since Linux 3.9 softirqs give way as soon as a process wants the CPU, so a small budget is "
            "not what saves the application."
        )
    return lines


def _switches(tables: Tables) -> list[str]:
    lines = []
    data = tables["switches"]
    for arrivals in dict.fromkeys(r["arrivals"] for r in data.records()):
        by = {r["epsilon"]: r["switches_per_s"] for r in data.records(arrivals=arrivals) if r["switches_per_s"] is not None}
        if by:
            fewest = min(by.values())
            which = ", ".join(f"{e:g}" for e, n in by.items() if n == fewest)
            told = ", ".join(f"{n:.1f} at {e:g}" for e, n in by.items())
            lines.append(
                f"Switches a second at the cliff, {arrivals}: {told}; fewest at e = {which} (the paper: {_paper('epsilon'):g})."
            )
    return lines


def _settling(tables: Tables) -> list[str]:
    late = [r for r in tables["settling"].records() if r["windows"] is None or r["windows"] > SETTLED_WINDOWS]
    if not late:
        return ["Hybrid switches within two windows of every step."]
    told = ", ".join(f"{r['step_of_cliff']:g} times the cliff: {r['windows'] or 'not within the burst'}" for r in late)
    return [f"Hybrid takes more than two windows after a step from nothing to {told}."]


def _estimator(tables: Tables) -> list[str]:
    records = list(tables["estimator"].records())
    off = [r for r in records if abs(r["error"]) > ESTIMATE_GOOD]
    if not off:
        worst = max(abs(r["error"]) for r in records)
        refused = max(r["missed_pps"] / r["offered_pps"] for r in records)
        return [
            f"The estimator is within 3 % of the offered rate at every load from {kpps(records[0]['offered_pps'])} to "
            f"{kpps(records[-1]['offered_pps'])} kpps ({percent(worst)} at worst), though the NIC refuses up to "
            f"{percent(refused)} of the frames."
        ]
    told = ", ".join(f"{r['load_of_cliff']:.2g} times the cliff ({r['error'] * 100:+.0f} %)" for r in off)
    return [f"The estimator is more than 3 % off the offered rate at {told}."]


def _today(tables: Tables) -> list[str]:
    lines = ["IRQ suspension is not in these kernels: it came with Linux 6.13."]
    data = tables["application"]
    for driver in dict.fromkeys(r["driver"] for r in data.records()):
        for load in (1.0, 2.0):
            found = _best(list(data.records(driver=driver, load_of_cliff=load)), "application_pps")
            if found:
                lines.append(
                    f"{driver} at {load:g} times the cliff: most received with {', '.join(found[0])}, {kpps(found[1])} kpps."
                )
    return lines

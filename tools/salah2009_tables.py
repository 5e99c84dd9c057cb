# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables and pictures of docs/salah2009.md, made of what is kept in docs/papers. tools.paper_tables writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irqlab.report.picture import Panel, write
from irqlab.reproduce import find
from irqlab.reproduce.claims import AIM, EXPECTED
from irqlab.reproduce.hybrid.findings import LEVEL
from irqlab.reproduce.salah2009 import experiments, report
from irqlab.reproduce.salah2009.rows import NAPI, TODAYS
from irqlab.reproduce.salah2009.switching import OverTimeRow
from irqlab.reproduce.table import Table
from irqlab.units import NONE
from tools.kept import Kept, side_by_side
from tools.pages import DOCS, Row

OURS = ("DE", "NAPI (300)", "NAPI (2)", "hybrid", "adaptive")
COMPARED = ("DE", "NAPI (300)", "hybrid", "hybrid, paced")
OF_PAPER = ("DE", "NAPI (300)", "NAPI (2)", "hybrid")
OF_LOAD = "times the cliff"
OF_TODAY = (NAPI, *TODAYS)
NOTHING_PPS = 1000.0
"""An application that receives fewer frames a second receives next to nothing."""
PICTURES = {"steps": ("step up", "step down", "ramp"), "random": ("poisson", "bursts")}
"""Of the estimate over time: the loads that are drawn side by side."""
Cell = Callable[[Row], str]


def kpps(text: str) -> str:
    """Frames a second in thousands; three digits behind the point if it is next to nothing."""
    value = float(text or 0) / 1e3
    return NONE if not text else f"{value:.1f}" if value >= 0.1 or value == 0 else f"{value:.3f}"


def us(text: str) -> str:
    """Nanoseconds in microseconds."""
    return f"{float(text) / 1e3:.1f}" if text else NONE


def share(text: str) -> str:
    """A share in per cent."""
    return f"{100 * float(text):.1f}"


def times(name: str) -> Cell:
    """A column's number, as short as it can be."""
    return lambda row: f"{float(row[name]):g}"


def received(row: Row) -> str:
    """What an application receives, in kpps; of an ensemble with the range if it is wider than a tenth of a kpps."""
    least, most = row.get("application_pps_min"), row.get("application_pps_max")
    text = kpps(row["application_pps"])
    if least and most and kpps(least) != kpps(most):
        text += f" ({kpps(least)} to {kpps(most)})"
    return text


def by(found: Sequence[Row], name: str) -> dict[str, list[Row]]:
    """The rows by the value of a column."""
    out: dict[str, list[Row]] = {}
    for row in found:
        out.setdefault(row[name], []).append(row)
    return out


def grid(found: Sequence[Row], down: Cell, across: Cell, cell: Cell, head: str) -> str:
    """A line for each value of one column, a column for each of another."""
    lines, columns = (list(dict.fromkeys(key(row) for row in found)) for key in (down, across))
    cells = {(down(row), across(row)): cell(row) for row in found}
    out = [f"| {head} | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    out += [f"| {line} | {' | '.join(cells.get((line, column), NONE) for column in columns)} |" for line in lines]
    return "\n".join(out)


def scheme(row: Row) -> str:
    """Its column."""
    return row["scheme"]


def with_setting(row: Row) -> str:
    """Its column, and the setting in it."""
    return f"{row['scheme']}, {row['setting']}" if row["setting"] else row["scheme"]


def of_salah(kept: Kept) -> dict[str, str]:
    """The figures."""
    application = kept("application")
    driver = application[0]["driver"]
    ours = [r for r in application if r["driver"] == driver and r["scheme"] in OURS and not r["setting"]]
    trips = [r for r in kept("round_trip") if r["driver"] == driver and r["scheme"] in OURS and not r["setting"]]
    loaded, low = ([r for r in trips if bool(r["load_of_echo_cliff"]) is wanted] for wanted in (True, False))
    budgets = [r for r in kept("budget_round_trip") if r["load_of_echo_cliff"]]
    load, echo = times("load_of_cliff"), times("load_of_echo_cliff")
    mean: Cell = lambda row: us(row["mean_ns"])  # noqa: E731
    today, today_trips = (
        [r for r in kept(name) if r["driver"] == driver and r["scheme"] in OF_TODAY] for name in ("application", "round_trip")
    )

    def lost(row: Row) -> str:
        return f"{share(row['loss_ratio'])} ({share(row['lost_nic'])}, {share(row['lost_socket'])})"

    return {
        "6a": grid(kept("budget"), load, scheme, received, OF_LOAD),
        "6b": grid(budgets, echo, scheme, mean, "of the echo's cliff"),
        "7a": grid(ours, load, scheme, received, OF_LOAD),
        "7b": grid([r for r in ours if float(r["load_of_cliff"]) > 1], load, scheme, lost, OF_LOAD),
        "7c": grid(loaded, echo, scheme, mean, "times the echo's cliff"),
        "7d": grid(low, times("offered_pps"), scheme, mean, "frames/s"),
        "7e": grid(ours, load, scheme, lambda r: f"{float(r['interrupts_per_s']) / 1e3:.2f}", OF_LOAD),
        "7f": grid(ours, load, scheme, lambda r: share(r["cpu_available"]), OF_LOAD),
        "8": grid(kept("ping"), times("offered_pps"), scheme, mean, "pings/s"),
        "today": grid(today, load, with_setting, received, OF_LOAD),
        "today's CPU": grid(today, load, with_setting, lambda r: share(r["cpu_available"]), OF_LOAD),
        "today's round trip": grid(
            [r for r in today_trips if r["load_of_echo_cliff"]], echo, with_setting, mean, "times the echo's cliff"
        ),
        "estimate": estimates(kept("over_time")),
    }


def estimates(found: Sequence[Row]) -> str:
    """The error of the estimate, in per cent, by pattern and time."""
    lines = [
        "| load | first reading within 3 % | mean error from 40 ms on, % | largest error from 40 ms on, % |",
        "|---|---:|---:|---:|",
    ]
    step_ms = 120.0
    for pattern, every in by(found, "pattern").items():
        begin = step_ms if pattern.startswith("step") else 0.0
        after = [(float(r["at_ms"]) - begin, float(r["error"])) for r in every if float(r["at_ms"]) >= begin]
        good = next((f"{ms:.0f} ms" for ms, error in after if abs(error) <= 0.03 and ms > 2), NONE)
        late = [error for ms, error in after if ms >= 40]
        mean, worst = sum(late) / len(late), max(late, key=abs)
        lines.append(f"| {pattern} | {good} | {100 * mean:+.1f} | {100 * worst:+.1f} |")
    return "\n".join(lines)


def of_experiments(kept: Kept) -> dict[str, str]:
    """What --long adds."""
    found = by(kept("experiments"), "experiment")
    load = times("load_of_cliff")
    offered: Cell = lambda row: f"{float(row['offered_pps']) / 1e3:.1f}"  # noqa: E731

    def whole(row: Row) -> str:
        return f"{float(row['interrupts_per_s']):,.0f} / {share(row['cpu_available'])}"

    def cost(row: Row) -> str:
        cheap = float(row["load_of_cliff"]) < 2 and row["instructions_per_frame"]
        return received(row) + (f" ({float(row['instructions_per_frame']):,.0f})" if cheap else "")

    def forwarded(row: Row) -> str:
        instructions = row["instructions_per_frame"]
        return f"{received(row)}, {float(instructions):,.0f}, {share(row['cpu_available'])}" if instructions else received(row)

    both: Cell = lambda row: f"{row['scheme']}, {row['setting']}"  # noqa: E731
    machine: Cell = lambda row: f"{row['setting']}: {row['scheme']}"  # noqa: E731
    driver: Cell = lambda row: f"`{row['setting']}`"  # noqa: E731
    wanted: dict[str, tuple[str, Callable[[list[Row]], str]]] = {
        "poisson": (experiments.POISSON, lambda rows: grid(rows, load, both, whole, OF_LOAD)),
        "forwarding": (experiments.FORWARDING, lambda rows: grid(rows, offered, scheme, forwarded, "kpps offered")),
        "interfaces": (experiments.INTERFACES, lambda rows: grid(rows, load, scheme, received, OF_LOAD)),
        "others": (experiments.OTHERS, lambda rows: grid(rows, driver, offered, received, "driver")),
        "refill": (experiments.REFILL, lambda rows: grid(rows, load, both, cost, OF_LOAD)),
        "low rates": (
            experiments.LOW_RATES,
            lambda rows: grid(rows, times("offered_pps"), machine, lambda r: us(r["mean_ns"]), "frames/s"),
        ),
    }
    made = {name: make(found[key]) for name, (key, make) in wanted.items() if key in found}
    if cliffs := kept("cliff_conditions"):
        made["cliff conditions"] = cliff_conditions(cliffs)
    return made


def cliff_conditions(found: Sequence[Row]) -> str:
    """The signs and the closed form, in kpps."""
    lines = [
        "| condition | by the CPU | by throughput | by loss | closed form | off by, % | interrupt, % of a packet's time |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for r in found:
        pps = " | ".join(kpps(r[name]) for name in ("cpu_pps", "throughput_pps", "loss_pps", "closed_form_pps"))
        lines.append(f"| {r['condition']} | {pps} | {100 * float(r['closed_form_error']):+.1f} | {share(r['interrupt_share'])} |")
    return "\n".join(lines)


def of_hybrid(kept: Kept) -> dict[str, str]:
    """Kernels and conditions."""
    found = {}
    lines = [f"| Linux | times the cliff | {' | '.join(COMPARED)} | to the best |", f"|---|---:|{'---:|' * (len(COMPARED) + 1)}"]
    for kernel, every in by(kept("throughput"), "kernel").items():
        for load, at in by(every, "load_of_cliff").items():
            of = {r["scheme"]: r for r in at}
            each = " | ".join(received(of[name]) for name in COMPARED)
            lines.append(f"| {kernel} | {float(load):g} | {each} | {float(of[COMPARED[-1]]['to_best']):.2f} |")
    found["improved"] = "\n".join(lines)
    trips = [r for r in kept("latency") if r["p50_ns"]]
    key: Cell = lambda row: f"{row['kernel']}, {100 * float(row['load_of_echo_cliff']):.0f} %"  # noqa: E731

    def median(row: Row) -> str:
        least, most = row.get("p50_ns_min"), row.get("p50_ns_max")
        spread = f" ({us(least)} to {us(most)})" if least and most and us(least) != us(most) else ""
        return us(row["p50_ns"]) + spread

    found["latency"] = grid(trips, key, scheme, median, "Linux, of the echo's cliff")
    signs = [r for r in kept("cliff") if r["application"] == "receives"]
    found["signs"] = grid(signs, lambda r: f"Linux {r['kernel']}", lambda r: r["found"], lambda r: kpps(r["cliff_pps"]), "")
    for table, name, winners, onset in (
        ("conditions", "conditions", "winners", "ksoftirqd"),
        ("softirqs", "patched", "winners (patched)", "onset"),
    ):
        if rows := kept(table):
            found[name], found[winners] = conditions(rows), most_received(rows)
            found[onset] = ksoftirqd([r for r in rows if r["scheme"] == "NAPI (300)"])
    return found


def ksoftirqd(found: Sequence[Row]) -> str:
    """Its share of the time, by condition and load."""
    of_condition: Cell = lambda row: f"Linux {row['kernel']}: {row['condition']}"  # noqa: E731
    return grid(found, of_condition, times("load_of_cliff"), lambda r: share(r["ksoftirqd_share"]), "times the cliff")


def conditions(every: Sequence[Row]) -> str:
    """A line for each condition; in a cell DE, NAPI (300), NAPI (2), hybrid, and paced hybrid."""
    names = list(dict.fromkeys(r["scheme"] for r in every))
    loads = [load for load in by(every, "load_of_cliff") if float(load) >= 2]
    lines = [
        f"| condition | options | scheme | {' | '.join(f'{float(load):g} times the cliff' for load in loads)} |",
        f"|---|---|---|{'---:|' * len(loads)}",
    ]
    for condition, of in by(every, "condition").items():
        cells = {(r["scheme"], r["load_of_cliff"]): received(r) for r in of}
        for place, name in enumerate(names):
            first = (condition, f"`{of[0]['options']}`" if of[0]["options"] else "") if place == 0 else ("", "")
            lines.append(f"| {first[0]} | {first[1]} | {name} | {' | '.join(cells[name, load] for load in loads)} |")
    return "\n".join(lines)


def most_received(every: Sequence[Row]) -> str:
    """Of the paper's schemes, those with which the application receives most: all that are level with the best."""

    def best(at: list[Row]) -> str:
        pps = {r["scheme"]: float(r["application_pps"]) for r in at if r["scheme"] in OF_PAPER}
        most = max(pps.values())
        level = [name for name, value in pps.items() if value >= (1 - LEVEL) * most]
        named = "all" if len(level) == len(pps) else ", ".join(level)
        return f"{named} ({kpps(str(most))})" if most < NOTHING_PPS else named

    loads = [load for load in by(every, "load_of_cliff") if float(load) >= 2]
    lines = [
        f"| condition | {' | '.join(f'{float(load):g} times the cliff' for load in loads)} |",
        f"|---|{'---|' * len(loads)}",
    ]
    for condition, of in by(every, "condition").items():
        at = by(of, "load_of_cliff")
        lines.append(f"| {condition} | {' | '.join(best(at[load]) for load in loads)} |")
    return "\n".join(lines)


def of_findings(salah: Kept, hybrid: Kept) -> dict[str, str]:
    """The claims of the paper that were tested on other kernels, and what was aimed at or expected."""
    lines = ["| aimed at or expected | found | verdict |", "|---|---|---|"]
    for one in (*salah.findings, *hybrid.findings):
        if one["source"] in (AIM, EXPECTED):
            verdict = one["verdict"] if one["verdict"] in ("met", "confirmed") else f"**{one['verdict']}**"
            lines.append(f"| {one['claim']} | {one['found']} | {verdict} |".replace("\n", " "))
    return {"claims (other softirqs)": side_by_side(hybrid.findings, find("hybrid").because), "expected": "\n".join(lines)}


def pictures(kept: Kept) -> None:
    """The estimate over time."""
    legend = list(enumerate(report.ESTIMATED))
    for name, patterns in PICTURES.items():
        rows = tuple(
            OverTimeRow(r["pattern"], float(r["at_ms"]), float(r["offered_pps"]), int(r["estimate_pps"]), float(r["error"]))
            for r in kept("over_time")
            if r["pattern"] in patterns
        )
        drawn = {plot.title: str(plot.svg) for plot in report.estimate_plots(Table("", OverTimeRow, rows))}
        write(DOCS / "images", f"salah2009-estimate-{name}", [Panel(title, svg, legend) for title, svg in drawn.items()])


def tables(salah: Kept, hybrid: Kept) -> dict[str, str]:
    """All but the claims of the paper's own kernels, by name."""
    return of_salah(salah) | of_experiments(salah) | of_hybrid(hybrid) | of_findings(salah, hybrid)

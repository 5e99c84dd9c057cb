# SPDX-License-Identifier: GPL-2.0-or-later
"""From result documents to what the page shows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from irqlab import units
from irqlab.present import plots, tables
from irqlab.present import svg as svgs
from irqlab.present.parts import Notice, Numbers, Origin, Page
from irqlab.present.rows import heading_of, place_of
from irqlab.present.tables import PERCENTILES, Table
from irqlab.present.variants import Row, Variant, rows_of
from irqlab.report.sections import burst, cost, iperf, latency, overload, profile, recovery, rrul, side_by_side, throughput
from irqlab.report.sections.throughput import MAX_SUMMARY

Json = dict[str, Any]

MAX_NAMES = 5
"""In the title."""


def build(documents: Sequence[Json]) -> Page:
    """The page's content. Raises KeyError, TypeError or ValueError for what is not a result document."""
    rows = rows_of(documents)
    number = Numbers()
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        by_method.setdefault(row.data["method"], []).append(row)
    best = throughput.rows_with_throughput(rows)
    variants = list(dict.fromkeys(row.variant for row in rows))
    sections = [
        throughput.section(best, by_method.get("throughput", []), number),
        overload.section(by_method.get("loss", []), number),
        latency.section(by_method.get("latency", []), number),
        cost.section(best, number),
        burst.section(by_method.get("burst", []), number),
        recovery.section(by_method.get("recovery", []), number),
        profile.section(by_method.get("profile", []), number),
        side_by_side.section(by_method.get("metrics", []), number),
        iperf.section(by_method.get("iperf", [])),
        rrul.section(by_method.get("rrul", []), number),
    ]
    drivers = list(dict.fromkeys(row.data["driver"] for row in rows))
    return Page(
        title=f"irqlab: {_names(drivers) or 'no results'}",
        lead=_lead(drivers),
        symbols=_symbols(variants),
        verdicts=throughput.verdicts(best) + overload.verdicts(by_method.get("loss", [])),
        notices=_incomplete(documents, rows),
        summary=_summary(best),
        sections=[section for section in sections if section is not None],
        origins=[origin(document) for document in documents],
        duts=duts(documents),
    )


def _lead(drivers: Sequence[str]) -> str:
    one = "the Linux network driver forwards, loses and costs"
    what = one if len(drivers) == 1 else f"{len(drivers) or 'no'} Linux network drivers forward, lose and cost"
    return f"What {what} in a router with one CPU, measured by irqlab in virtual time with the methods of RFC 2544."


def _names(drivers: Sequence[str]) -> str:
    shown = list(drivers) if len(drivers) <= MAX_NAMES else [*drivers[: MAX_NAMES - 1], f"{len(drivers) - MAX_NAMES + 1} more"]
    return ", ".join(shown)


def _symbols(variants: Sequence[Variant]) -> Markup:
    keys = {str(v.number): plots.swatch(plots.style(v.number)) for v in variants}
    keys |= {f"rank-{n}": plots.swatch(plots.rank_style(n)) for n in range(len(PERCENTILES))}
    keys |= {kind: plots.mark(kind) for kind in ("grey", "wire", "ring", "cross")}
    return Markup("\n".join(svgs.symbol(svg, f"key-{key}") for key, svg in keys.items()))


def _incomplete(documents: Sequence[Json], rows: Sequence[Row]) -> list[Notice]:
    cut = sum(not document["complete"] for document in documents)
    if not cut:
        return []
    which = "The measurement was" if len(documents) == 1 else f"Of {len(documents)} files {cut} {'was' if cut == 1 else 'were'}"
    short = [
        f"{row.data['method']} of {row.variant.label}, {heading_of(row)}" for row in rows if not row.data.get("complete", True)
    ]
    end = "; these tests were cut short:" if short else "."
    return [Notice("warn", f"{which} interrupted: what had been measured until then is here, the rest is missing{end}", short)]


def _summary(best: Sequence[Row]) -> Table | None:
    """All rows, if they are few; else those of the smallest frames, where a driver shows what it costs."""
    if len(best) <= MAX_SUMMARY:
        return tables.summary(best) if best else None
    smallest = {b: min(place_of(row) for row in best if row.bidirectional == b) for b in {row.bidirectional for row in best}}
    return tables.summary([row for row in best if place_of(row) == smallest[row.bidirectional]])


def duts(documents: Sequence[Json]) -> list[Table]:
    """What documents were measured on."""
    named: list[tuple[str, Json]] = []
    for document in documents:
        for dut in document["environment"]["duts"]:
            name = dut["modules"][-1]["name"] if dut["modules"] else dut["nic"]["model"]
            entry = (f"{name} on {dut['nic']['model']}", dut)
            if entry not in named:
                named.append(entry)
    names = [name for name, _ in named]
    unique = [(f"{name} ({n + 1})" if names.count(name) > 1 else name, dut) for n, (name, dut) in enumerate(named)]
    return tables.duts(unique) if named else []


def origin(document: Json) -> Origin:
    """How a document was measured, and how to measure it again."""
    on, host = document["environment"], document["environment"]["host"]
    facts = [
        ("irqlab", str(on["irqlab"])),
        ("Host", " ".join(str(host[k]) for k in ("system", "release", "machine") if host.get(k))),
        ("Python", str(host.get("python", units.NONE))),
    ]
    if on.get("compiler"):
        facts.append(("Compiler", str(on["compiler"])))
    return Origin(shlex.join(document["command"]), bool(document["complete"]), facts + _trials(document))


def _trials(document: Json) -> list[tuple[str, str]]:
    """How long trials were, and what was offered besides a constant rate."""
    lengths: dict[str, dict[str, None]] = {}
    arrivals: dict[str, None] = {}
    for row in document["measured"]["results"]:
        for trial in row["trials"]:
            spec = trial["spec"]
            if row["method"] != "burst":
                text = f"{units.duration(spec['duration_ns'])} after {units.duration(spec['warmup_ns'])} of warm-up"
                lengths.setdefault(row["method"], {})[text] = None
            arrivals |= {load["arrivals"]: None for load in spec["loads"]}
    tolerances = {row["summary"].get("loss_tolerance") for row in document["measured"]["results"]} - {None, 0}
    same: dict[str, list[str]] = {}
    for method, texts in lengths.items():
        same.setdefault(", ".join(texts), []).append(method)
    facts = [(f"Trials ({', '.join(methods)})" if len(same) > 1 else "Trials", text) for text, methods in same.items()]
    if arrivals:
        facts.append(("Arrivals", ", ".join(arrivals)))
    if tolerances:
        facts.append(("Loss tolerated", ", ".join(units.percent(t) for t in sorted(tolerances))))
    return facts

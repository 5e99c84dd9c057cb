# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns result documents into the content of the report."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

from markupsafe import Markup

from irqlab import units
from irqlab.methods import catalogue
from irqlab.methods.method import Method
from irqlab.present import series, swatches
from irqlab.present import svg as svgs
from irqlab.present.parts import Group, Notice, Numbers, Origin, Page
from irqlab.present.rows import heading_of
from irqlab.present.tables import Cell, Column, Table
from irqlab.present.variants import Row, Variant

Json = dict[str, Any]

MAX_NAMES = 5
"""Maximum number of drivers in the title."""


RANKS = 5
"""Number of line styles for ordered series, such as percentiles."""
MAX_PICTURES = 2


def build(documents: Sequence[Json]) -> Page:
    """The report's content. Raises IrqlabError if a document is invalid."""
    rows = catalogue.rows(documents)
    measured = [row for row in rows if row.measured]
    number = Numbers()
    chosen = [(method, mine) for method in catalogue.methods().values() if (mine := method.chosen(measured))]
    drivers = list(dict.fromkeys(row.data["driver"] for row in rows))
    own = {row.data["method"] for row in rows}
    live = ["live" in dut for document in documents for dut in document["environment"]["duts"]] or [False]
    sections = [section for method, mine in chosen for section in method.sections(mine, number)]
    return Page(
        title=f"irqlab: {_names(drivers) or 'no results'}",
        lead=_lead(drivers, own, all(live)),
        symbols=_symbols(list(dict.fromkeys(row.variant for row in rows))),
        answer=catalogue.answers(rows),
        verdicts=[],
        notices=_incomplete(documents, rows),
        summary=next((table for method, mine in chosen if (table := method.first_table(mine))), None),
        sections=sections,
        origins=[origin(document) for document in documents],
        duts=duts(documents),
        # A page's only section shows its plots on the first screen.
        picture=_picture(sorted(chosen, key=lambda one: one[0].name not in own), number) if len(sections) > 1 else None,
        lab=not all(live),
        live=any(live),
    )


def _picture(chosen: Sequence[tuple[Method, list[Row]]], number: Numbers) -> Group | None:
    """The main plots of the first methods, side by side."""
    pictures = (method.pictured(mine, number) for method, mine in chosen)
    found = list(islice((picture for picture in pictures if picture is not None), MAX_PICTURES))
    if not found:
        return None
    legend = list(dict.fromkeys(entry for picture in found for entry in picture.legend))
    return Group(plots=[picture.plot for picture in found], legend=legend)


def _lead(drivers: Sequence[str], names: Collection[str], live: bool) -> str:
    """What was measured; of one method, in its words."""
    if len(names) == 1:
        (method,) = (catalogue.methods()[name] for name in names)
        return f"{method.lead or method.title}; measured by irqlab {'between two real ports' if live else 'in virtual time'}."
    if live:
        return _live_lead(drivers)
    one = "the Linux network driver forwards, loses and costs"
    what = one if len(drivers) == 1 else f"{len(drivers) or 'no'} Linux network drivers forward, lose and cost"
    return f"What {what} in a router with one CPU, measured by irqlab in virtual time with the methods of RFC 2544."


def _live_lead(drivers: Sequence[str]) -> str:
    what = "a device" if len(drivers) == 1 else f"{len(drivers) or 'no'} devices"
    return f"What was forwarded and lost by {what} between two real ports, measured by irqlab with the methods of RFC 2544."


def _names(drivers: Sequence[str]) -> str:
    shown = list(drivers) if len(drivers) <= MAX_NAMES else [*drivers[: MAX_NAMES - 1], f"{len(drivers) - MAX_NAMES + 1} more"]
    return ", ".join(shown)


def _symbols(variants: Sequence[Variant]) -> Markup:
    keys = {str(v.number): swatches.swatch(series.style(v.number)) for v in variants}
    keys |= {f"rank-{n}": swatches.swatch(series.rank_style(n)) for n in range(RANKS)}
    keys |= {kind: swatches.mark(kind) for kind in ("grey", "wire", "dot", "ring", "cross")}
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


def duts(documents: Sequence[Json]) -> list[Table]:
    """Tables of the DUTs of documents."""
    named: list[tuple[str, Json]] = []
    for document in documents:
        for dut in document["environment"]["duts"]:
            name = dut["modules"][-1]["name"] if dut["modules"] else dut["nic"]["model"]
            entry = (f"{name} on {dut['nic']['model']}", dut)
            if entry not in named:
                named.append(entry)
    names = [name for name, _ in named]
    unique = [(f"{name} ({n + 1})" if names.count(name) > 1 else name, dut) for n, (name, dut) in enumerate(named)]
    return _dut_tables(unique) if named else []


def origin(document: Json) -> Origin:
    """How a document was measured, and how to reproduce it."""
    on, host = document["environment"], document["environment"]["host"]
    facts = [
        ("irqlab", str(on["irqlab"])),
        ("Host", " ".join(str(host[k]) for k in ("system", "release", "machine") if host.get(k))),
        ("Python", str(host.get("python", units.NONE))),
    ]
    return Origin(shlex.join(document["command"]), bool(document["complete"]), facts + _trials(document))


def _trials(document: Json) -> list[tuple[str, str]]:
    """Duration of trials, and arrivals other than a constant rate."""
    lengths: dict[str, dict[str, None]] = {}
    arrivals: dict[str, None] = {}
    for row in document["measured"]["results"]:
        for trial in row["trials"]:
            spec = trial["spec"]
            if row["method"] != "burst":
                text = f"{units.duration(spec['duration_ns'])} after {units.duration(spec['warmup_ns'])} of warm-up"
                lengths.setdefault(row["method"], {})[text] = None
            arrivals |= {load["arrivals"]: None for load in spec["loads"]}
    summaries = [row["summary"] or {} for row in document["measured"]["results"]]
    tolerances = {tolerated for summary in summaries if (tolerated := summary.get("loss_tolerance"))}
    same: dict[str, list[str]] = {}
    for method, texts in lengths.items():
        same.setdefault(", ".join(texts), []).append(method)
    facts = [(f"Trials ({', '.join(methods)})" if len(same) > 1 else "Trials", text) for text, methods in same.items()]
    if arrivals:
        facts.append(("Arrivals", ", ".join(arrivals)))
    if told := [trial["live"] for row in document["measured"]["results"] for trial in row["trials"] if "live" in trial]:
        stalled = sum(bool(one["stalls"]) for one in told)
        facts.append(("Tester stopped by its host", f"in {stalled} of {len(told)} trials"))
        facts.append(("Pacing error, p99", f"at most {units.duration(max(one['lateness_p99_ns'] for one in told))}"))
        facts.append(("Times of arrival", ", ".join(sorted({stamp for one in told for stamp in one["time_stamps"]}))))
    if tolerances:
        facts.append(("Loss tolerated", ", ".join(units.percent(t) for t in sorted(tolerances))))
    return facts


_SCHEMES = {"Receive scheme": "rx", "Transmit scheme": "tx", "Variant": "variant"}
_DUT_SETTINGS = {
    "schemes": "Scheme settings",
    "lsm": "Security modules",
    "qdisc": "qdisc",
    "netdev_max_backlog": "netdev_max_backlog",
    "netdev_budget": "netdev_budget",
    "dev_weight": "dev_weight",
    "spectre_v2": "spectre_v2",
    "clocksource": "Clock source",
    "ring_rx": "RX ring",
    "ring_tx": "TX ring",
    "offloads": "Offloads on",
    "sysctls": "sysctls set",
    "module_parameters": "Module parameters",
}


def _dut_tables(named: Sequence[tuple[str, dict[str, Any]]]) -> list[Table]:
    """Tables of the DUTs: first the facts that all share, then those that differ."""
    described = [(name, _describe(dut)) for name, dut in named]
    keys = list(dict.fromkeys(key for _, facts in described for key in facts))
    shared: list[tuple[str, list[Cell]]] = []
    apart: list[tuple[str, list[Cell]]] = []
    for key in keys:
        cells = [facts.get(key, Cell(units.NONE)) for _, facts in described]
        (shared if all(cell == cells[0] for cell in cells) else apart).append((key, cells))
    tables = []
    if apart:
        names = [name for name, _ in described]
        lines = [[Cell(key), *cells] for key, cells in apart]
        if len(names) > len(apart):  # the other way round, it fits on a screen
            names, lines = (
                [key for key, _ in apart],
                [[Cell(name), *(cells[n] for _, cells in apart)] for n, name in enumerate(names)],
            )
        columns = (Column("", number=False), *(Column(name, number=False) for name in names))
        tables.append(Table("What differs", columns, lines))
    if shared:
        caption = "The same for all" if len(described) > 1 else described[0][0]
        columns = (Column("", number=False), Column("", number=False))
        tables.append(Table(caption, columns, [[Cell(key), cells[0]] for key, cells in shared]))
    return tables


def _port(port: dict[str, Any]) -> str:
    """A port: its driver, how it was opened, and whose clock times arrivals."""
    opened = {key: value for key, value in port["opened"].items() if key not in ("kind", "no_hardware_time_stamps")}
    words = [port["driver"], port["opened"]["kind"], *(f"{key} {value}" for key, value in sorted(opened.items()))]
    return f"{port['name']} ({', '.join(words)})"


def _describe_live(dut: dict[str, Any]) -> dict[str, Cell]:
    """A real machine between real ports."""
    live = dut["live"]
    facts = {
        "Ports": Cell(", ".join(map(_port, live["ports"]))),
        "Line rate": Cell(units.bit_rate(dut["nic"]["line_rate_bps"]) if dut["nic"]["line_rate_bps"] else units.NONE),
        "Tester's processors": Cell("not its own" if live["sleep"] else _listed(live["cpus"])),
        "Tester": _hash(dut["tester_sha256"]),
        "Tester's own limits": Cell("not measured"),
        "Device": Cell("a bridge" if live["bridge"] else "a router"),
        "Agent": Cell("yes" if live["agent"] else "no: only what the ports see is known"),
    }
    if known := live["calibration"]:
        limits = (f"{size} bytes {units.kpps(one['rate_pps'])}{units.NARROW}kpps" for size, one in known["sizes"].items())
        facts["Tester's own limits"] = Cell(", ".join(limits))
    if live["agent"]:
        facts["Kernel"] = Cell(str(dut["kernel"]["release"]))
        facts["CPU"] = Cell(str(dut["cpu"]))
        facts["Memory"] = Cell(f"{dut['memory_mib']}{units.NARROW}MiB")
        facts["Driver"] = Cell(str(dut["modules"][-1]["name"]))
        facts |= {_DUT_SETTINGS.get(key, key): Cell(_listed(value)) for key, value in dut["dut"].items()}
        facts["Kernel command line"] = Cell(str(dut["kernel_command_line"]), code=True)
    return facts


def _describe(dut: dict[str, Any]) -> dict[str, Cell]:
    if "live" in dut:
        return _describe_live(dut)
    kernel, nic = dut["kernel"], dut["nic"]
    package = " ".join(str(kernel[k]) for k in ("package", "version") if kernel.get(k))
    wire = f"wire of {units.bit_rate(nic['line_rate_bps'])}" if nic["line_rate_bps"] else "no line-rate limit"
    facts = {
        "Kernel": Cell(str(kernel["release"])),
        "Kernel package": Cell(package or units.NONE),
        "Kernel image": _hash(kernel["sha256"]),
        "QEMU": Cell(str(dut["qemu"])),
        "CPU": Cell(f"{dut['cpu']}, {dut['mips']:g}{units.NARROW}million instructions per second"),
        "Memory": Cell(f"{dut['memory_mib']}{units.NARROW}MiB"),
        "NIC": Cell(f"{nic['model']}, {wire}"),
        "NIC properties": Cell(_listed(nic["properties"])),
    }
    if nic.get("timing"):
        facts["NIC timing"] = Cell(nic["timing"])
    for module in dut["modules"]:
        last = module is dut["modules"][-1]
        known = _hash(module["sha256"])
        more = "\n".join([known.title, f"vermagic {module['vermagic']}", *([module["path"]] if "path" in module else [])])
        text = f"{module['name']} {known.text}" if last else known.text
        facts["Driver module" if last else f"Module {module['name']}"] = Cell(text, more, code=True)
    for key, value in dut["dut"].items():
        if key == "schemes" and value:
            facts |= {name: Cell(_listed(value[field])) for name, field in _SCHEMES.items()}
            value = {name: value[name] for name in value if name not in _SCHEMES.values()}
        facts[_DUT_SETTINGS.get(key, key)] = Cell(_listed(value))
    facts["Kernel command line"] = Cell(str(dut["kernel_command_line"]), code=True)
    facts["Guest image"] = _hash(dut["guest_image_sha256"])
    if packages := dut.get("guest", {}).get("packages"):
        versions = "\n".join(f"{name} {version}" for name, version in packages.items())
        facts["Guest packages"] = Cell(f"{len(packages)}", versions)
    facts["Tester"] = _hash(dut["tester_sha256"])
    return facts


def _hash(sha256: str) -> Cell:
    return Cell(sha256[:12], f"sha256 {sha256}", code=True)


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or "none"
    return units.NONE if value is None else str(value) or "none"

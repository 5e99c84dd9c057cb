# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups rows of documents into variants, which are the lines of plots, and labels them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irqlab.units import NARROW, driver_of

Json = dict[str, Any]

SCHEME_KEYS = ("rx_scheme", "tx_scheme", "variant")
_NO_IDENTITY = ("tester_sha256", "guest_image_sha256", "guest")
"""Fields of a DUT's description that do not distinguish variants: they describe the instrument."""


@dataclass(frozen=True)
class Variant:
    """A driver with its schemes on one DUT: one line of a plot."""

    number: int
    label: str
    """Short, but distinct from the other variants on the page."""
    line_rate_bps: float | None


@dataclass(frozen=True)
class Row:
    """A row of `measured.results`, and its variant."""

    variant: Variant
    document: int
    data: Json
    """The row as in the document."""
    result: Any = None
    """The typed row (irqlab.results.document.row_type)."""
    members: tuple[Row, ...] = ()
    """The rows of an ensemble's members; this row then has their medians (irqlab.results.ensemble)."""

    @property
    def samples(self) -> Sequence[Any]:
        """The method's samples."""
        return self.result.samples  # type: ignore[no-any-return]

    @property
    def summary(self) -> Any:
        """The method's summary; None if it was interrupted before there was anything to sum up."""
        return self.result.summary

    @property
    def measured(self) -> bool:
        """Whether there is something to show: the method has ended, or it was cut short and has samples."""
        return self.data["summary"] is not None

    @property
    def frame_bytes(self) -> int | str:
        """The frame size, including FCS."""
        size: int | str = self.data["frame_bytes"]
        return size

    @property
    def bidirectional(self) -> bool:
        """Both directions at once."""
        return bool(self.data["bidirectional"])

    @property
    def directions(self) -> int:
        """Number of directions in which frames are offered."""
        return 2 if self.bidirectional else 1


@dataclass(frozen=True)
class _Key:
    """The identity of a variant."""

    driver: str
    nic: str
    mips: float
    dut: str
    document: int | None


def dut_of(document: Json, row: Json) -> Json | None:
    """The entry of `environment.duts` that a row was measured on."""
    duts: list[Json] = document["environment"]["duts"]
    if (index := row.get("dut")) is not None and index < len(duts):
        return duts[index]

    def name(dut: Json) -> str | None:
        return dut["modules"][-1]["name"] if dut["modules"] else None

    tests: tuple[Callable[[Json], bool], ...] = (
        lambda d: name(d) == row["driver"],
        lambda d: d["nic"]["model"] == row["nic"],
        lambda d: d["mips"] == row["mips"],
    )
    fitting = [dut for dut in duts if all(test(dut) for test in tests)]
    fitting = [dut for dut in fitting if _schemes_of(dut) == tuple(row.get(key) for key in SCHEME_KEYS)] or fitting
    return fitting[0] if fitting else duts[0] if len(duts) == 1 else None


def _schemes_of(dut: Json) -> tuple[str | None, ...]:
    schemes = dut["dut"].get("schemes") or {}
    return schemes.get("rx"), schemes.get("tx"), schemes.get("variant")


def _scheme_settings(dut: Json) -> str:
    schemes = dut["dut"].get("schemes") or {}
    return " ".join(f"{name}={value}" for name, value in sorted(schemes.items()) if isinstance(value, int))


@dataclass(frozen=True)
class _Found:
    """A row with its document and key."""

    key: _Key
    document: int
    data: Json
    result: Any
    dut: Json | None


def rows_of(documents: Sequence[Json], typed: Sequence[Sequence[Any]]) -> list[Row]:
    """Every row of the documents, in order; identical duplicates are dropped.

    `typed`: for each document, its typed results.
    """
    found = []
    for number, (document, results) in enumerate(zip(documents, typed, strict=True)):
        for data, result in zip(document["measured"]["results"], results, strict=True):
            dut = dut_of(document, data)
            key = _Key(driver_of(data), data["nic"], data["mips"], _identity(dut), None)
            found.append(_Found(key, number, data, result, dut))
    unique = _tell_documents_apart(found)
    keys = list(dict.fromkeys(one.key for one in unique))
    duts = {one.key: one.dut for one in unique}
    labels = _labels(keys, duts)
    variants = {key: Variant(n, labels[key], _wire_bps(duts[key])) for n, key in enumerate(keys)}
    return [Row(variants[one.key], one.document, one.data, one.result) for one in unique]


def _wire_bps(dut: Json | None) -> float | None:
    return float(dut["nic"]["line_rate_bps"]) or None if dut else None


def _identity(dut: Json | None) -> str:
    return json.dumps({k: v for k, v in dut.items() if k not in _NO_IDENTITY}, sort_keys=True) if dut else ""


def _tell_documents_apart(found: Sequence[_Found]) -> list[_Found]:
    """Drops duplicates; the same test of the same DUT with a different result (e.g. longer trials) is another variant."""
    seen: dict[tuple[_Key, str, str, bool], dict[str, int]] = {}
    kept, clashing = [], set()
    for one in found:
        data = one.data
        content = json.dumps({k: v for k, v in data.items() if k not in ("trials", "dut")}, sort_keys=True)
        contents = seen.setdefault((one.key, data["method"], str(data["frame_bytes"]), data["bidirectional"]), {})
        if contents.get(content, one.document) != one.document:
            continue
        if any(other != one.document for other in contents.values()):
            clashing.add(one.key)
        contents.setdefault(content, one.document)
        kept.append(one)
    return [replace(one, key=replace(one.key, document=one.document)) if one.key in clashing else one for one in kept]


def _labels(keys: Sequence[_Key], duts: dict[_Key, Json | None]) -> dict[_Key, str]:
    """The shortest distinct labels: the driver, and whatever else differs."""

    def of_dut(read: Callable[[Json], str]) -> Callable[[_Key], str]:
        def value(key: _Key) -> str:
            dut = duts[key]
            return read(dut) if dut else ""

        return value

    def setting(name: str, prefix: str) -> Callable[[_Key], str]:
        def read(dut: Json) -> str:
            value = dut["dut"].get(name)
            if isinstance(value, dict):
                value = " ".join(f"{k}={v}" for k, v in sorted(value.items()))
            return f"{prefix}{value}" if value not in (None, "") else ""

        return of_dut(read)

    details: tuple[Callable[[_Key], str], ...] = (
        lambda key: key.nic,
        lambda key: f"{key.mips:g}{NARROW}MIPS" if key.mips else "live",
        of_dut(lambda dut: str(dut["kernel"]["release"])),
        setting("ring_rx", "ring "),
        of_dut(_scheme_settings),
        setting("module_parameters", ""),
        setting("sysctls", ""),
        setting("settings", ""),
        setting("lsm", "LSM "),
        of_dut(lambda dut: str(dut["modules"][-1].get("path", "")) if dut["modules"] else ""),
        of_dut(lambda dut: f"module {(dut['modules'][-1]['sha256'] or '?')[:7]}" if dut["modules"] else ""),
        of_dut(lambda dut: str(dut["qemu"])),
        lambda key: "" if key.document is None else f"file {key.document + 1}",
    )
    labels = {key: key.driver for key in keys}
    for detail in details:
        groups: dict[str, list[_Key]] = {}
        for key in keys:
            groups.setdefault(labels[key], []).append(key)
        for group in groups.values():
            if len({detail(key) for key in group}) > 1:
                for key in group:
                    labels[key] += f", {detail(key)}" if detail(key) else ""
    again = [label for label in labels.values() if list(labels.values()).count(label) > 1]
    return {key: f"{label} #{n + 1}" if label in again else label for n, (key, label) in enumerate(labels.items())}

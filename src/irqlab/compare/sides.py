# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses the two sides of a comparison from the command line.

    DRIVER[+OPTION...]             an in-tree module, one of ours, or the path of a .ko
    git:REVISION:DRIVER[+OPTION...]  one of ours, from that revision
    linux-image-...                a kernel package (or kernel:RELEASE, or a .deb), with the driver of --driver
    FILE.json                      a file written by `irqlab compare --json`

Options: a receive scheme, then a transmit scheme; or the name of a variant; and NAME=VALUE, see OPTIONS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irqlab.compare import revision, verdict
from irqlab.config.schemes import MODERATED_RX_SCHEMES, SETTINGS, TX_SCHEMES, USB_RX_SCHEMES, VARIANTS, Schemes, combine
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.results.ensemble import collapse
from irqlab.setup import kernel as kernels

OPTIONS = {
    "variant": "variant",
    **{setting.place.option.removeprefix("--"): setting.field for setting in SETTINGS},
    "nic": "nic",
    "kernel": "kernel",
    "ring": "ring",
    "module-parameters": "module_parameters",
}
"""Options with a value, named as in the other commands, and the field each sets."""
_SEPARATOR = re.compile(r"\+(?!(?:deb|bpo)\d)")
"""What separates options: a plus, but not the one in a release such as 6.12.107+deb12-amd64."""
_FILE = re.compile(r".*\.ko(?=\+|$)")
"""A module's path, which may contain a plus."""
_NUMBERS = {"ring", *(setting.field for setting in SETTINGS if setting.type is int)}


@dataclass(frozen=True)
class Side:
    """One of the two sides: a testbed to measure, or rows that were read from a file."""

    name: str
    testbed: TestbedConfig | None = None
    rows: tuple[verdict.Row, ...] = ()
    document: dict[str, Any] | None = None


def parse(text: str, common: TestbedConfig, default_driver: str | None = None) -> Side:
    """Parses a side; unspecified settings are taken from `common`. Raises IrqlabError."""
    if text.endswith(".json"):
        return _of_file(text)
    release = text.removeprefix("kernel:")
    if release != text or text.startswith("linux-image-") or text.endswith(".deb"):
        if default_driver is None:
            raise IrqlabError(f"{text} is a kernel: give the driver to measure with --driver")
        named, given = parse_driver(default_driver)
        given = {**given, "kernel": release}
    else:
        named, given = parse_driver(text)
    if named.startswith("git:"):
        named = str(revision.module(named, kernels.resolve(given.get("kernel") or common.kernel)))
    schemes = {key: value for key, value in given.items() if key in Schemes.__dataclass_fields__}
    asked = combine(**schemes)
    if len(asked) > 1:
        raise IrqlabError(f"{text}: give one receive and one transmit scheme (only matrix takes several)")
    dut: DutConfig = replace(common.dut, schemes=asked[0] if schemes else common.dut.schemes)
    dut = replace(dut, **{key: given[key] for key in ("ring", "module_parameters") if key in given})
    return Side(text, replace(common, driver=named, dut=dut, **{key: given[key] for key in ("nic", "kernel") if key in given}))


def parse_driver(text: str) -> tuple[str, dict[str, Any]]:
    """The driver and its options by the names of Schemes, DutConfig and TestbedConfig."""
    file = _FILE.match(text)
    named, *words = _SEPARATOR.split(text[file.end() :] if file else text)
    named = f"{file[0]}{named}" if file else named
    if not named:
        raise IrqlabError(f"{text!r}: must start with a driver")
    given: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            key, value = _scheme(word, given), word
        if key not in OPTIONS or not value:
            raise IrqlabError(f"{text}: +{word}: allowed options are {_options()}")
        field = OPTIONS[key]
        if field in given:
            raise IrqlabError(f"{text}: {key} is given twice")
        given[field] = _number(text, key, value) if field in _NUMBERS else value
    return named, given


def _scheme(word: str, given: dict[str, Any]) -> str:
    """The option that a word without `=` sets: receive before transmit, since `interrupt` can be either."""
    if word in VARIANTS:  # in capitals: `napi` is a receive scheme, `NAPI` a variant
        return "variant"
    if word in (*MODERATED_RX_SCHEMES, *USB_RX_SCHEMES) and "rx" not in given and (word not in TX_SCHEMES or "tx" not in given):
        return "rx"
    return "tx" if word in TX_SCHEMES else ""


def _number(text: str, key: str, value: str) -> int:
    if not value.isdecimal():
        raise IrqlabError(f"{text}: +{key}={value}: must be a number")
    return int(value)


def _options() -> str:
    names = ", ".join(f"{name}=" for name in OPTIONS)
    receive = ", ".join(dict.fromkeys((*MODERATED_RX_SCHEMES, *USB_RX_SCHEMES)))
    return f"a receive scheme ({receive}), then a transmit scheme ({', '.join(TX_SCHEMES)}); a variant; {names}"


def _of_file(text: str) -> Side:
    content = catalogue.read(Path(text))
    rows = tuple(verdict.measured(content))
    if not rows and any(row["complete"] for row in content["measured"]["results"]):
        return Side(text, None, (), collapse(content)[0])
    if not rows:
        raise IrqlabError(f"{text} has no results to compare with; create it with irqlab compare SIDE --json {text}")
    several = {(row["frame_bytes"], row["bidirectional"], row["summary"]["base_pps"]) for row in rows}
    if len(several) != len(rows):
        raise IrqlabError(f"{text} has several configurations of the same frame size; give a file with only one")
    return Side(text, None, rows, content)

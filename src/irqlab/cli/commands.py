# SPDX-License-Identifier: GPL-2.0-or-later
"""All commands: their names, panels and help, and where they are. A command is imported when it is needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from irqlab.methods.declared import declared
from irqlab.panels import RARE

FIRST, MEASURE, CHECK, COMPARE, PAPERS, SET_UP = (
    "To begin with",
    "Measure",
    "Check a driver",
    "Compare and explain",
    "Papers and boards",
    "Set-up",
)
PANELS = (FIRST, MEASURE, CHECK, COMPARE, PAPERS, SET_UP)
"""In the order of the help."""
NAMES = ["-h", "--help"]


@dataclass(frozen=True)
class Entry:
    """A command. `at`: MODULE:FUNCTION below irqlab.cli; a typer application is a group of commands."""

    name: str
    panel: str
    help: str
    at: str
    hidden: bool = False

    def load(self) -> TyperCommand | TyperGroup:
        """The command itself."""
        module, _, name = self.at.partition(":")
        found = getattr(importlib.import_module(f"irqlab.cli.{module}"), name)
        if isinstance(found, typer.Typer):
            return typer.main.get_group(found)
        return built(found(self.name) if self.at == _METHOD else found, self.name, self.help, self.hidden)


_METHOD = "methods:of"
_OTHERS = (
    Entry("demo", FIRST, "See the lab at work: six schemes of one driver beside two of the kernel's drivers.", "demo:command"),
    Entry("compare", FIRST, "What did a change cost? Two modules, revisions or kernels; verdicts.", "compare:command"),
    Entry("live", MEASURE, "Measure a real machine with two Ethernet ports of this host.", "live_schemes:app"),
    Entry("check", FIRST, "Is a driver correct? A checklist with evidence, in a budget of host time.", "check:command"),
    Entry("stress", CHECK, "Corrupt the NIC's responses, unplug it, or suspend, under traffic.", "robustness:command"),
    Entry("tap", CHECK, "Run driver tests inside the DUT; prints TAP.", "tap:command"),
    Entry("debug", CHECK, "Run GDB on the DUT at an instant of a trial: forwards, and backwards.", "debug:command"),
    Entry("shell", CHECK, "Run shell commands in the DUT, with the driver loaded and forwarding.", "shell:command"),
    Entry("matrix", COMPARE, "Measure a grid of drivers, schemes and frame sizes.", "matrix:command"),
    Entry("bisect", COMPARE, "Find the commit that made a driver worse.", "bisect:command"),
    Entry("history", COMPARE, "Measure drivers on many kernels.", "history:command"),
    Entry("report", COMPARE, "Make HTML, JUnit, Markdown or CSV from result files.", "report:command"),
    Entry("reproduce", PAPERS, "Repeat a paper's measurements: its tables and figures beside ours.", "reproduce:command"),
    Entry("calibrate", PAPERS, "Fit hardware costs to throughputs measured on a board, for --hardware.", "calibrate:command"),
    Entry("doctor", SET_UP, "Check the set-up; say what is wrong and how to mend it.", "doctor:command"),
    Entry("list", SET_UP, "List drivers, NICs, schemes, hardware or kernels.", "listing:command"),
    Entry("kernel", SET_UP, "Build kernels from source, and your own modules.", "kernels:app"),
    Entry("cache", SET_UP, "Show or clear the cache: trial results, and what was fetched and built.", "cache:command"),
    Entry("docs", SET_UP, "Show the documents.", "docs:command"),
)  # fmt: skip
_OLD = (
    Entry("export", COMPARE, "JUnit, Markdown or CSV from result files: irqlab report --format.", "report:export", True),
    Entry("schema", COMPARE, "The JSON Schema of result files: irqlab report --schema.", "report:schema", True),
    Entry("kernels", SET_UP, "Kernels: irqlab list kernels.", "listing:kernels", True),
    Entry("fuzz", CHECK, "Corrupt the NIC's responses: irqlab stress faults.", "robustness:fuzz_command", True),
    Entry("cycles", CHECK, "Unplug or suspend: irqlab stress plug suspend autosuspend.", "robustness:cycles_command", True),
)  # fmt: skip
"""Other names, which scripts may use."""


@cache
def entries() -> dict[str, Entry]:
    """All commands by name, in the order of the help."""
    methods = [Entry(one.name, one.panel or MEASURE, one.help, _METHOD) for one in declared()]
    every = (*_OTHERS[:2], *methods, *_OTHERS[2:], *_OLD)
    ordered = sorted(every, key=lambda entry: PANELS.index(entry.panel))
    return {entry.name: entry for entry in ordered}


class Command(TyperCommand):
    """A command whose rare options are shown by --help-all only."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Answers --help-all."""
        if "--help-all" in args:
            ctx.meta[RARE] = True
            self.get_help(ctx)
            raise typer.Exit
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help."""
        rare: list[Any] = (
            [] if ctx.meta.get(RARE) else [one for one in self.params if getattr(one, "rich_help_panel", "") == RARE]
        )
        for one in rare:
            one.hidden = True
        if rare:
            self.epilog = f"{len(rare)} more options: {ctx.command_path} --help-all"
        super().format_help(ctx, formatter)


def built(function: Callable[..., None], name: str, text: str, hidden: bool = False) -> TyperCommand:
    """A command of a function with typer's annotations."""
    from irqlab.cli.output import guarded

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name, help=text, cls=Command, hidden=hidden)(guarded(function))
    command = typer.main.get_command(app)
    assert isinstance(command, TyperCommand)
    return command


class Commands(TyperGroup):
    """The group of all commands, each imported when it is run or asked for its help."""

    _listing = False

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {
            entry.name: TyperCommand(entry.name, help=entry.help, rich_help_panel=entry.panel, hidden=entry.hidden)
            for entry in entries().values()
        }

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; in lists only what stands there. None: there is none."""
        listed = super().get_command(ctx, cmd_name)
        return listed if listed is None or self._listing else entries()[cmd_name].load()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands without importing them."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Names that a shell may complete."""
        self._listing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._listing = False

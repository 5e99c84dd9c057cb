# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as JSON: `command`, `environment` (DUTs and host), `measured` (docs/use/results.md).

`measured` depends only on the inputs: repeating a command gives a byte-identical `measured`, on any host.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, field, fields
from functools import cached_property, reduce
from importlib.metadata import version
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from irqlab import files
from irqlab.config.values import Count, FrameBytes, Rate
from irqlab.errors import IrqlabError
from irqlab.results.environment import Environment
from irqlab.results.records import SCHEMA, EnsembleRow, TrialRecord
from irqlab.trials.forwarding import ForwardingResult
from irqlab.typed import typed

_ABSENT = ("_fills_per_frame", "tester_limited")
"""Ends of names of fields that are absent, instead of null, if they have no value; others are if they are UNSET."""


@dataclass
class MethodResult:
    """Results of one method for one driver and frame size; a row of `measured.results`."""

    method: str
    """Its name (irqlab.methods)."""
    driver: str
    nic: str
    frame_bytes: FrameBytes
    bidirectional: Annotated[bool, Meta(description="Both directions at once.")]
    mips: Annotated[float, Meta(ge=0, description="0: a real machine.")]
    complete: Annotated[bool, Meta(description="false: interrupted; `trials` holds the finished ones.")] = True
    """False: there is no summary."""
    rx_scheme: str | None = None
    tx_scheme: str | None = None
    """Schemes, for drivers built on irqmod; None for other drivers."""
    variant: Annotated[str | None, Meta(description="The first paper's name for the schemes, if requested by it.")] = None
    total_throughput_pps: Rate | None = None
    """Highest loss-free rate, all directions together, in frames/s."""
    per_interface_throughput_mbps: Rate | None = None
    """The same per interface, including preamble and inter-frame gap, in Mbit/s."""
    instructions_per_frame: Rate | None = None
    interrupts_per_frame: Rate | None = None
    rx_interrupts_per_frame: Rate | None = None
    tx_interrupts_per_frame: Rate | None = None
    """By cause, if the driver distinguishes them."""
    l1i_fills_per_frame: Annotated[Rate | None, Meta(description="Line fills; absent: no memory model.")] = None
    l1d_fills_per_frame: Rate | None = None
    l2_fills_per_frame: Annotated[Rate | None, Meta(description="absent: no second level.")] = None
    line_rate_limited: bool | None = None
    """Whether line rate limits the throughput."""
    tester_limited: Annotated[bool | None, Meta(description="The tester limits the throughput; absent: in the lab.")] = None
    samples: list[Any] = field(default_factory=list)
    """The method's samples: instances of its sample type."""
    summary: Any = None
    """The method's summary: an instance of its summary type; None if interrupted."""
    dut: Annotated[Count | UnsetType, Meta(description="Index of its DUT in `environment.duts`; absent: there is only one.")] = (
        UNSET
    )
    ensemble: Annotated[EnsembleRow | UnsetType, Meta(description="absent: no ensemble.")] = UNSET
    trials: list[ForwardingResult] = field(default_factory=list)

    def copy_per_frame_metrics(self, trial: ForwardingResult) -> None:
        """Copies the costs per frame from a trial."""
        self.instructions_per_frame = trial.instructions_per_frame
        self.interrupts_per_frame = trial.interrupts_per_frame()
        self.rx_interrupts_per_frame = trial.caused_per_frame("rx")
        self.tx_interrupts_per_frame = trial.caused_per_frame("tx")
        self.l1i_fills_per_frame = trial.fills_per_frame("L1I")
        self.l1d_fills_per_frame = trial.fills_per_frame("L1D")
        self.l2_fills_per_frame = trial.fills_per_frame("L2")

    def copy_throughput(self, found: MethodResult) -> None:
        """Copies the throughput from another row."""
        self.total_throughput_pps = found.total_throughput_pps
        self.per_interface_throughput_mbps = found.per_interface_throughput_mbps
        self.line_rate_limited = found.line_rate_limited
        self.tester_limited = found.tester_limited

    def to_json(self) -> dict[str, Any]:
        """The row as stored in `measured.results`."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "trials"}
        row = {name: value for name, value in row.items() if value is not (None if name.endswith(_ABSENT) else UNSET)}
        return {**msgspec.to_builtins(row), "trials": [trial.to_json() for trial in self.trials]}


def row_type(method: str, sample: Any, summary: Any) -> type[Struct]:
    """The type of a method's rows in a document: a MethodResult with its types of samples and summary."""
    own = {"samples": list[sample], "summary": summary | None, "trials": list[TrialRecord]}
    hints = get_type_hints(MethodResult, include_extras=True) | own
    absent = {one.name: one.default for one in fields(MethodResult) if one.name.endswith(_ABSENT) or one.default is UNSET}
    return msgspec.defstruct(
        f"{method.capitalize()}Row",
        [(name, hint, absent[name]) if name in absent else (name, hint) for name, hint in hints.items() if name != "method"],
        namespace={"__doc__": f"A row of method {method}.", "__post_init__": _summed_up},
        module=__name__,
        frozen=True,
        forbid_unknown_fields=True,
        kw_only=True,
        tag_field="method",
        tag=method,
    )


def _summed_up(row: Any) -> None:
    if row.complete and row.summary is None:
        raise ValueError("`summary` is null, though the method was not interrupted")


def host() -> dict[str, Any]:
    """Describes the host without identifying it."""
    return {
        "irqlab": version("irqlab"),
        "host": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "python": platform.python_version(),
        },
    }


def document(
    command: list[str], environment: list[dict[str, Any]], results: list[MethodResult], complete: bool
) -> dict[str, Any]:
    """The whole JSON document. `environment` holds one entry per driver, in the order of the command."""
    return {
        "schema": SCHEMA,
        "command": command,
        "complete": complete,
        "environment": {**host(), "duts": environment},
        "measured": {"results": [result.to_json() for result in results]},
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Writes a document atomically."""
    files.write_atomically(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


@dataclass(frozen=True)
class Documents:
    """Reads and validates documents with rows of the given types."""

    rows: tuple[type[Struct], ...]
    """One type per method (row_type)."""

    @cached_property
    def type(self) -> type[Struct]:
        """The type of a document."""
        row: Any = reduce(or_, self.rows)
        measured = msgspec.defstruct("Measured", [("results", list[row])], forbid_unknown_fields=True, module=__name__)
        command = Annotated[list[str], msgspec.Meta(min_length=1, description="How to measure it again.")]
        complete = Annotated[bool, msgspec.Meta(description="false: interrupted; these are the results until then.")]
        return msgspec.defstruct(
            "Document",
            [
                ("schema", Literal[SCHEMA]),
                ("command", command),
                ("complete", complete),
                ("environment", Environment),
                ("measured", measured),
            ],
            forbid_unknown_fields=True,
            module=__name__,
            namespace={"__doc__": "What irqlab measured, and what it was measured on."},
        )

    def schema(self) -> dict[str, Any]:
        """The JSON Schema (2020-12) of documents."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:irqlab:schema:{SCHEMA}",
            "title": SCHEMA,
            **msgspec.json.schema(self.type),
        }

    def convert(self, content: Any) -> Any:
        """A document as an instance of `type`. Raises IrqlabError, with the field that is wrong."""
        try:
            return typed(content, self.type)
        except msgspec.ValidationError as error:
            raise IrqlabError(f"not a valid result document (docs/use/results.md): {error}") from error

    def read(self, path: Path) -> dict[str, Any]:
        """Reads a document back and validates it. Raises IrqlabError if it is invalid."""
        content = _json(path)
        schema = content.get("schema") if isinstance(content, dict) else None
        if schema != SCHEMA and isinstance(schema, str) and schema.startswith(SCHEMA.partition("/")[0] + "/"):
            raise IrqlabError(
                f"{path} was written by another version of irqlab ({schema}; this one reads {SCHEMA}): measure again"
            )
        if schema != SCHEMA:
            raise IrqlabError(f"{path} is not a result file of irqlab ({SCHEMA})")
        try:
            self.convert(content)
        except IrqlabError as error:
            raise IrqlabError(f"{path}: {error}") from error
        return content  # type: ignore[no-any-return]


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise IrqlabError(f"cannot read {path}: {error.strerror}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise IrqlabError(f"{path} is not JSON: {error}") from error

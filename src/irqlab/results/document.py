# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as JSON: `command`, `environment` (DUTs and host), `measured` (docs/use/results.md).

`measured` depends only on the inputs: repeating a command gives a byte-identical `measured`, on any host.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, field
from functools import cached_property, reduce
from importlib.metadata import version
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from irqlab import files
from irqlab.config.traffic import FrameSize
from irqlab.errors import IrqlabError
from irqlab.results.environment import Environment
from irqlab.results.records import SCHEMA, ResultRow
from irqlab.trials.forwarding import ForwardingResult

_ABSENT = ("_fills_per_frame", "dut", "ensemble", "tester_limited")
"""Ends of names of fields that are absent, instead of null, if they have no value."""


@dataclass
class MethodResult:
    """Results of one method for one driver and frame size; a row of `measured.results`."""

    method: str
    """Its name (irqlab.methods)."""
    driver: str
    nic: str
    frame_bytes: FrameSize
    bidirectional: bool
    mips: int
    complete: bool = True
    """False: interrupted; `trials` holds the finished ones, and there is no summary."""
    rx_scheme: str | None = None
    tx_scheme: str | None = None
    """Schemes, for drivers built on irqmod; None for other drivers."""
    variant: str | None = None
    """The first paper's name for the schemes, if requested by it."""
    total_throughput_pps: float | None = None
    """Highest loss-free rate, all directions together, in frames/s."""
    per_interface_throughput_mbps: float | None = None
    """The same per interface, including preamble and inter-frame gap, in Mbit/s."""
    instructions_per_frame: float | None = None
    interrupts_per_frame: float | None = None
    rx_interrupts_per_frame: float | None = None
    tx_interrupts_per_frame: float | None = None
    """By cause, if the driver distinguishes them."""
    l1i_fills_per_frame: float | None = None
    l1d_fills_per_frame: float | None = None
    l2_fills_per_frame: float | None = None
    """Line fills of the caches; None, and not in the document, without a memory model."""
    line_rate_limited: bool | None = None
    """Whether line rate limits the throughput."""
    tester_limited: bool | None = None
    """Whether the tester limits it, on real ports; None, and not in the document, in the lab."""
    samples: list[Any] = field(default_factory=list)
    """The method's samples: instances of its sample type."""
    summary: Any = None
    """The method's summary: an instance of its summary type; None if interrupted."""
    dut: int | None = None
    """Index of its DUT in the document's environment; None, and not in the document, if there is only one."""
    ensemble: dict[str, Any] | None = None
    """Which member of an ensemble this is (irqlab.results.records.EnsembleRow); None, and not in the document, without one."""
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
        row = {name: value for name, value in row.items() if value is not None or not name.endswith(_ABSENT)}
        return {**msgspec.to_builtins(row), "trials": [trial.to_json() for trial in self.trials]}


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

    rows: tuple[type[ResultRow], ...]
    """One type per method (irqlab.results.records.row_type)."""

    @cached_property
    def type(self) -> type[msgspec.Struct]:
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
            return msgspec.convert(content, self.type)
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

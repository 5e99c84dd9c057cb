# SPDX-License-Identifier: GPL-2.0-or-later
"""One command per method, generated from its declaration (irqlab.methods.method)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from typing import Any

import typer

from irqlab.cli import options as opt
from irqlab.cli.output import check_directory, check_outputs, leave, save, show, show_answers
from irqlab.methods import catalogue
from irqlab.methods.method import Method
from irqlab.runner.measure import measure
from irqlab.trials.testbed import Testbed


def of(name: str) -> Callable[..., None]:
    """The command of a method."""
    return command(catalogue.methods()[name])


def command(method: Method) -> Callable[..., None]:
    """A method's command: takes the method's own options, the shared ones, --json and --report."""
    run = method.run
    assert run is not None

    def measured(
        *,
        request: opt.Request,
        json_file: opt.JsonFile = None,
        report_file: opt.ReportFile = None,
        plots_directory: opt.PlotsDirectory = None,
        **own: Any,
    ) -> None:
        options = method.options(**own)
        check_outputs(json_file, report_file, *method.outputs(options))
        if plots_directory is not None:
            check_directory(plots_directory)
        if (sizes := method.sizes(options)) is not None:
            request = replace(request, sizes=sizes)
        if method.on_card:
            request = replace(request, testbeds=tuple(Testbed.on_card(one) for one in request.testbeds))
        outcome = measure(
            request.testbeds,
            request.workloads(),
            request.jobs,
            lambda runner, workload: run(runner, workload, options),
            method.name,
            method.name,
            [request.ensemble] * len(request.testbeds),
        )
        save(outcome, json_file, report_file, plots_directory)
        rows = catalogue.rows([outcome.document])
        show(method.printed(rows, options))
        show_answers(rows)
        method.write([row for row in rows if row.data["complete"]], options)
        leave(outcome)
        if method.failed(rows):
            raise typer.Exit(1)

    request, *rest = (p for p in inspect.signature(measured, eval_str=True).parameters.values() if p.name != "own")
    measured.__name__ = method.name
    measured.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [request, *own_options(method), *rest]
    )
    return opt.asks(*method.shared, *(opt.ENSEMBLE if method.repeats else ()), **method.fixed)(measured)


def own_options(method: Method) -> list[inspect.Parameter]:
    """A method's own options as parameters; types, help and defaults come from its dataclass."""
    hints = typing.get_type_hints(method.options, include_extras=True)
    for field in fields(method.options):
        if field.default is MISSING:
            raise TypeError(f"{method.options.__qualname__}.{field.name} has no default")
    return [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in fields(method.options)
    ]

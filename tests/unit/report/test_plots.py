# SPDX-License-Identifier: GPL-2.0-or-later
"""`--plots`: each plot of a report as files that stand alone."""

from __future__ import annotations

import csv
import struct
from pathlib import Path
from xml.etree import ElementTree

from typer.testing import CliRunner

from irqlab.cli.app import app
from irqlab.report import plots, view
from tests.data.samples import file, sample

PNG = b"\x89PNG\r\n\x1a\n"


def test_every_plot_is_drawn_as_svg_and_png_that_need_no_page(tmp_path: Path) -> None:
    content = sample()
    count = sum(len(group.plots) for section in view.build([content]).sections for group in section.groups)
    found = CliRunner().invoke(app, ["report", str(file(tmp_path)), "--plots", str(tmp_path / "drawn")])
    assert found.exit_code == 0, found.output
    written = sorted((tmp_path / "drawn").iterdir())
    assert f"{len(written)} files in " in found.output
    assert count > 5
    by_kind = {kind: [one for one in written if one.suffix == kind] for kind in (".svg", ".png", ".csv")}
    assert len(by_kind[".svg"]) == len(by_kind[".png"]) == count
    for one in by_kind[".svg"]:
        text = one.read_text()
        assert "var(" not in text
        assert ElementTree.fromstring(text).get("viewBox")
    sizes = [one.stat().st_size for one in by_kind[".png"]]
    assert all(one.read_bytes().startswith(PNG) for one in by_kind[".png"])
    assert min(sizes) > 5_000, "a picture without text is smaller"
    width, _ = struct.unpack(">II", by_kind[".png"][0].read_bytes()[16:24])
    assert width == plots.ZOOM * 428
    methods = {row["method"] for row in content["measured"]["results"] if row["complete"]}
    assert {one.stem for one in by_kind[".csv"]} <= methods
    rows = list(csv.DictReader((tmp_path / "drawn" / "loss.csv").open()))
    assert {"driver", "offered_pps"} <= set(rows[0])

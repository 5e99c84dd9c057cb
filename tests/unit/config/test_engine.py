# SPDX-License-Identifier: GPL-2.0-or-later
"""The schemes that the engine's sources declare."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import irqlab
from irqlab.config import engine
from irqlab.config.engine import MASK, TRANSFERS, Scheme
from irqlab.config.schemes import COMBINATIONS, Combination
from irqlab.errors import IrqlabError

SOURCE = """/* Built if CONFIG_DIMLIB */
static int rx_third_poll(void);

IRQMOD_RX_SCHEME(third) = {
\t.name = "third",
\t.needs = IRQMOD_CAP_MASK | IRQMOD_CAP_TX_IRQ_BIT,
\t.masks = true,
\t.tasklet = true,
\t.irq = rx_third_irq,
\t.poll = rx_third_poll,
};
"""


def test_a_declaration_is_read() -> None:
    assert engine.declared(SOURCE, "rx") == Scheme(
        "third", frozenset({"IRQMOD_CAP_MASK", "IRQMOD_CAP_TX_IRQ_BIT"}), masks=True, polls=True, tasklet=True, option="DIMLIB"
    )
    plain = engine.declared(
        'IRQMOD_TX_SCHEME(late) = {\n\t.name = "late",\n\t.needs_masks = true,\n\t.limits = true,\n};\n', "tx"
    )
    assert plain == Scheme("late", needs_masks=True, limits=True)


def test_frames_carry_the_id_of_the_napi_that_delivers_them() -> None:
    """Unless the scheme calls irqmod_napi_start_poll(), or sets its own delivery."""
    plain, other, own = "\tirqmod_napi_start(queue);\n", "\tirqmod_napi_start_poll(queue);\n", "\tqueue->deliver = f;\n"
    carry = [engine.declared(f"{{\n{body}}}\n{SOURCE}", "rx").napi_id for body in ("", plain, other, plain + own)]
    assert carry == [False, True, False, False]
    assert {one.name for one in engine.all_schemes("rx") if one.napi_id} == {"napi", "dim", "aim", "itr", "howto"}


def test_a_file_without_a_scheme_is_an_error() -> None:
    with pytest.raises(IrqlabError, match=r"no IRQMOD_TX_SCHEME\(\) in a file of drivers/irqmod named tx_\*\.c"):
        engine.declared(SOURCE, "tx")


def test_a_package_without_the_drivers_sources_says_what_is_missing(tmp_path: Path) -> None:
    """As a wheel would be installed: it has src/irqlab, and nothing else."""
    shutil.copytree(
        Path(irqlab.__file__).parent, tmp_path / "lib/site-packages/irqlab", ignore=shutil.ignore_patterns("__pycache__")
    )
    command = [sys.executable, "-c", "import irqlab.config.schemes"]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "lib/site-packages")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    missing = tmp_path / "lib/drivers/irqmod"
    assert done.stderr.splitlines()[-1].startswith(
        f"irqlab.errors.IrqlabError: the drivers' sources are missing: {missing} has no rx_*.c (make wheel"
    )


def test_hardware_decides_on_the_schemes() -> None:
    pci, usb = ({scheme.name for scheme in engine.schemes("rx", has)} for has in (MASK, TRANSFERS))
    moderated = {scheme.name for scheme in engine.schemes("rx", MASK, engine.MODERATION)}
    assert moderated - pci == {"aim", "itr"}
    assert moderated > pci
    assert "standard" in usb - pci
    assert "interrupt" in pci - usb
    assert "napi" in pci & usb


def test_completions_are_polled_only_where_receiving_masks() -> None:
    assert Combination("napi", "poll") in COMBINATIONS
    assert not {Combination("interrupt", "poll"), Combination("timer", "poll")} & set(COMBINATIONS)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of the page allocator: which pages are free, in which order, and in how large blocks."""

from __future__ import annotations

from irqlab.perturb import churn
from irqlab.perturb.perturbation import Perturbation

PERTURBATION = Perturbation(
    name="pages",
    help="free pages: files and memory of many sizes are made and partly freed",
    prepare=churn.install,
    prepared_with=churn.sha256,
    begin=lambda dut, random: churn.run(dut, "pages", random),
)

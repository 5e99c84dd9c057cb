# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of the slab allocator: which caches have partly used slabs, and the order of their free objects."""

from __future__ import annotations

from irqlab.perturb import churn
from irqlab.perturb.perturbation import Perturbation

PERTURBATION = Perturbation(
    name="slab",
    help="free objects of the slab allocator: sockets, packets, pipes and files are made and partly freed",
    prepare=churn.install,
    prepared_with=churn.sha256,
    begin=lambda dut, random: churn.run(dut, "slab", random),
)

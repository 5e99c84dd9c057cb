# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m irqlab`."""

from irqlab.cli.app import main

main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""The measurement methods, one module each: what it runs, what it records, and how that is shown (irqlab.methods.method)."""

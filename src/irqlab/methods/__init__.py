# SPDX-License-Identifier: GPL-2.0-or-later
"""Methods, a module each: what it runs, what it finds, and how that is shown (irqlab.methods.method)."""

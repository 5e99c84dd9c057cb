# SPDX-License-Identifier: GPL-2.0-or-later
"""Data that ships with irqlab."""

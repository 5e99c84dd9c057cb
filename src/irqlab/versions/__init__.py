# SPDX-License-Identifier: GPL-2.0-or-later
"""Drivers and kernels over their versions: which commit made one worse, and what each version costs."""

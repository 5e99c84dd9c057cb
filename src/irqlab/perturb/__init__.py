# SPDX-License-Identifier: GPL-2.0-or-later
"""Perturbations: what members of an ensemble differ in, a module each."""

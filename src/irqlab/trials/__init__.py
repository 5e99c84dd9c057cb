# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials: what they offer, how they run, their results, and the cache of results."""

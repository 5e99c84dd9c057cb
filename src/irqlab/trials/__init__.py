# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials: what is offered, how it runs, what came of it, and the cache of results."""

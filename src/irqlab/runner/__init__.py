# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs methods and jobs in parallel, with progress and a limit on concurrent trials."""

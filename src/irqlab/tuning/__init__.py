# SPDX-License-Identifier: GPL-2.0-or-later
"""The search of `irqlab tune`: what can be set, what is wanted, and which settings are tried."""

# SPDX-License-Identifier: GPL-2.0-or-later
"""The race hunt: which instants are tried, how what happened is judged, and how findings are made small."""

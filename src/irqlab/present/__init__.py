# SPDX-License-Identifier: GPL-2.0-or-later
"""Building blocks of tables, plots and reports, independent of any method."""

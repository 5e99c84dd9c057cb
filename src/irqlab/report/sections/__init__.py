# SPDX-License-Identifier: GPL-2.0-or-later
"""The sections of a report, one module each; `section()` answers None where there is nothing to show."""

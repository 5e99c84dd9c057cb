# SPDX-License-Identifier: GPL-2.0-or-later
"""What developers run to measure for, and write, the pages in docs; and to test the lab itself: `python -m tools.NAME`."""

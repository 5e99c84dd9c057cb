# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a frame's instructions go: by function, by context and by owner, counted one by one (docs/measuring.md, "A profile")."""

# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab check`: whether a driver is correct, as a checklist (docs/use/check.md)."""

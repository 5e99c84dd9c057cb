# SPDX-License-Identifier: GPL-2.0-or-later
"""Result documents: types, schema, files, export."""

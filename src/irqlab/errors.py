# SPDX-License-Identifier: GPL-2.0-or-later
"""The exception for errors that are reported to the user."""


class IrqlabError(Exception):
    """An error that the user can fix; the message says what is wrong. The CLI prints it and exits with 2."""

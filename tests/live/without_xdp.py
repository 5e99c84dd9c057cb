# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program as on a kernel without AF_XDP: ``python without_xdp.py PROGRAM ARGUMENTS``."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys

_SOCKET = 41
"""Its system call on x86-64."""
_AF_XDP = 44
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_CODE = (
    (_LOAD, 0, 0, 0),  # the system call
    (_EQUAL, 0, 3, _SOCKET),
    (_LOAD, 0, 0, 16),  # its first argument
    (_EQUAL, 0, 1, _AF_XDP),
    (_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT),
    (_RETURN, 0, 0, _ALLOW),
)


def main(argv: list[str]) -> None:
    """Filters the system calls (seccomp(2)) and becomes the program."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in _CODE))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(_CODE), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _FILTER, program):
        raise OSError(ctypes.get_errno(), "prctl")
    try:
        socket.socket(_AF_XDP, socket.SOCK_RAW).close()
        raise SystemExit("the filter does not work")
    except OSError:
        os.execv(argv[0], argv)


if __name__ == "__main__":
    main(sys.argv[1:])

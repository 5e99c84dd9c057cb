# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses of the DUT and of the tester's hosts, and the streams between them.

From the range reserved by RFC 2544 (appendix C.2.2): port n is 198.(18+n).0.0/24, the DUT .1, the tester's host .2.
"""

from __future__ import annotations

from typing import Any

PORTS = 2
"""Number of tester ports, each connected to a NIC of the DUT."""
INTERFACES = ("eth0", "eth1")
"""The DUT's interface names, by port."""
UDP_DISCARD = 9
"""The discard service (RFC 863)."""


def dut_mac(port: int) -> str:
    """The MAC address of the DUT's interface eth<port>."""
    return f"52:54:00:00:00:{port + 1:02x}"


def tester_mac(port: int) -> str:
    """The MAC address of the tester's host on a port."""
    return f"52:54:00:00:01:{port + 1:02x}"


def dut_ip(port: int) -> str:
    """The DUT's address on a port."""
    return f"198.{18 + port}.0.1"


def tester_ip(port: int) -> str:
    """The address of the tester's host on a port."""
    return f"198.{18 + port}.0.2"


def stream(source: int, sink: int, arrivals: dict[str, Any], size: dict[str, Any]) -> dict[str, Any]:
    """A routed UDP stream from one port of the tester to another (docs/inside/protocol.md, TRIAL)."""
    return {
        "from": source,
        "to": sink,
        "dst_mac": dut_mac(source),
        "src_ip": tester_ip(source),
        "dst_ip": tester_ip(sink),
        "src_port": 49184,
        "dst_port": UDP_DISCARD,
        "arrivals": arrivals,
        "size": size,
    }

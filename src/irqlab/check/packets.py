# SPDX-License-Identifier: GPL-2.0-or-later
"""IPv4 packets with UDP and TCP, and how they are left to an interface: checksums and segments."""

from __future__ import annotations

import struct
from dataclasses import dataclass

UDP, TCP = 17, 6
IPV4 = b"\x08\x00"
ETHERNET, IP, UDP_HEADER, TCP_HEADER = 14, 20, 8, 20
PUSH_ACK, FIN_PUSH_ACK = 0x18, 0x19
NEEDS_CHECKSUM = 1
"""VIRTIO_NET_HDR_F_NEEDS_CSUM (include/uapi/linux/virtio_net.h)."""
NO_SEGMENTS, TCP_V4 = 0, 1
"""VIRTIO_NET_HDR_GSO_NONE, VIRTIO_NET_HDR_GSO_TCPV4."""


def checksum(data: bytes | bytearray, begin: int = 0) -> int:
    """The checksum of the Internet (RFC 1071)."""
    total: int = (
        begin + sum(struct.unpack(f"!{len(data) // 2}H", data[: len(data) & ~1])) + (data[-1] << 8 if len(data) & 1 else 0)
    )
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass(frozen=True)
class Packet:
    """An IPv4 packet."""

    protocol: int
    payload: bytes
    source: bytes = bytes((192, 0, 2, 1))
    destination: bytes = bytes((192, 0, 2, 2))
    port: int = 9
    sequence: int = 1000
    flags: int = PUSH_ACK
    fragment: int = 0
    """The field with flags and offset."""

    @property
    def header(self) -> int:
        """Bytes of the header of UDP or TCP."""
        return UDP_HEADER if self.protocol == UDP else TCP_HEADER

    @property
    def checksum_at(self) -> int:
        """Where the checksum is in that header."""
        return 6 if self.protocol == UDP else 16

    def _pseudo(self) -> int:
        """The sum of the pseudo header, as it is left in the checksum's field for the interface."""
        length = self.header + len(self.payload)
        return ~checksum(self.source + self.destination + struct.pack("!BBH", 0, self.protocol, length)) & 0xFFFF

    def whole(self, partial: bool = False, wrong: bool = False, wrong_header: bool = False) -> bytes:
        """From the IP header on. `partial`: the checksum is left to the interface. `wrong`: it is not right."""
        length = self.header + len(self.payload)
        ip = struct.pack(
            "!BBHHHBBH4s4s", 0x45, 0, IP + length, 7, self.fragment, 64, self.protocol, 0, self.source, self.destination
        )
        own = checksum(ip) ^ (0x0101 if wrong_header else 0)
        ip = ip[:10] + struct.pack("!H", own) + ip[12:]
        if self.protocol == UDP:
            head = struct.pack("!HHHH", 1024, self.port, length, 0)
        else:
            head = struct.pack("!HHIIBBHHH", 1024, self.port, self.sequence, 1, 0x50, self.flags, 4096, 0, 0)
        value = self._pseudo() if partial else checksum(head + self.payload, self._pseudo())
        if wrong:
            value ^= 0x0404
        if self.protocol == UDP and not partial:
            value = value or 0xFFFF
        return ip + head[: self.checksum_at] + struct.pack("!H", value) + head[self.checksum_at + 2 :] + self.payload

    def offload(self, segment_bytes: int = 0, vlan_bytes: int = 0) -> bytes:
        """The virtio_net_hdr that leaves the checksum, and segments of so many bytes, to the interface."""
        start = ETHERNET + vlan_bytes + IP
        kind = TCP_V4 if segment_bytes else NO_SEGMENTS
        headers = start + self.header
        return struct.pack("<BBHHHH", NEEDS_CHECKSUM, kind, headers, segment_bytes, start, self.checksum_at)


def verdict(data: bytes) -> str:
    """What is wrong with the checksums of a frame with IPv4 and UDP or TCP; empty: nothing."""
    if data[12:14] != IPV4:
        return f"its EtherType is {data[12:14].hex()}"
    ip = data[ETHERNET:]
    size = struct.unpack("!H", ip[2:4])[0]
    if checksum(ip[:IP]):
        return "the checksum of its IP header is wrong"
    whole = ip[IP:size]
    pseudo = ip[12:20] + struct.pack("!BBH", 0, ip[9], len(whole))
    if checksum(pseudo + whole):
        return f"its {'UDP' if ip[9] == UDP else 'TCP'} checksum is wrong"
    return ""

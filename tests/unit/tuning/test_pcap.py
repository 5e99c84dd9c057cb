# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of frames: both formats, both byte orders, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab.errors import IrqlabError
from irqlab.tuning.pcap import read
from tests.unit.tuning.recordings import pcap, pcapng

T0_NS = 1_700_000_000_000_000_000
FRAMES = [(T0_NS, 60), (T0_NS + 1_000, 42), (T0_NS + 1_000, 1_514), (T0_NS + 10_000, 1_518)]


def kept(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "a.pcap"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        *(pcap(FRAMES, order, unit_ns) for order in "<>" for unit_ns in (1, 1_000)),
        *(pcapng(FRAMES, order, resolution) for order in "<>" for resolution in (None, 6, 9)),
        pcap(list(reversed(FRAMES))),
        pcap(FRAMES) + b"part of one",
        pcapng(FRAMES)[:] + b"\x06\0\0\0\x20\0\0\0cut",
    ],
)
def test_gaps_and_sizes(tmp_path: Path, data: bytes) -> None:
    found = read(kept(tmp_path, data))
    # The gap after the last frame is the mean; short frames are padded, and a VLAN tag is left out.
    assert found.gaps_ns == (1_000, 0, 9_000, 3_333)
    assert found.frame_bytes == (64, 64, 1_518, 1_518)


def test_a_binary_resolution(tmp_path: Path) -> None:
    found = read(kept(tmp_path, pcapng([(0, 60), (10**9, 60)], resolution=0x80 | 20)))
    assert found.gaps_ns == (10**9, 10**9)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "neither pcap nor pcapng"),
        (bytes(100), "neither pcap nor pcapng"),
        (pcap([]), "0 frames: at least two"),
        (pcap([(5, 60), (5, 60)]), "2 frames: at least two at different times"),
        (pcap([(0, 60), (1, 1_519)]), "a frame of 1523 bytes with FCS: at most 1518. Offloads"),
        (pcap(FRAMES, link=113), "link type 113: must be Ethernet"),
        (pcapng(FRAMES, link=276), "link type 276: must be Ethernet"),
        (pcapng([])[:28] + b"\x03\0\0\0\x10\0\0\0\0\0\0\0\x10\0\0\0", "no times"),
        (pcapng([])[:28] + pcapng(FRAMES)[-36:], "damaged"),
        (pcapng([])[:28] + b"\x06\0\0\0\x0c\0\0\0\x0c\0\0\0", "damaged"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(IrqlabError, match=why):
        read(kept(tmp_path, data))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(IrqlabError, match=r"--load .*: No such file"):
        read(tmp_path / "none.pcap")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Packs an initramfs; the same files give a byte-identical archive.

The format is newc (Documentation/driver-api/early-userspace/buffer-format.rst): per entry a header of the magic 070701
and 13 numbers of 8 hexadecimal digits, the name and the content, both padded to a multiple of 4; the last entry is
TRAILER!!!.
"""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """A file, directory, symbolic link (its content is the target) or character device, owned by root."""

    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def directory() -> Entry:
    """A directory."""
    return Entry(stat.S_IFDIR | 0o755)


def file(content: bytes, mode: int = 0o644) -> Entry:
    """A regular file."""
    return Entry(stat.S_IFREG | mode, content)


def symlink(target: str) -> Entry:
    """A symbolic link."""
    return Entry(stat.S_IFLNK | 0o777, target.encode())


def character_device(major: int, minor: int) -> Entry:
    """A character device."""
    return Entry(stat.S_IFCHR | 0o600, device=(major, minor))


def pack(entries: Mapping[str, Entry]) -> bytes:
    """An archive of ``{path without a leading slash: entry}``; parent directories are added as needed."""
    everything = dict(entries)
    for path in entries:
        while "/" in path:
            path = path.rpartition("/")[0]
            everything.setdefault(path, directory())
    parts = [_record(number, path, everything[path]) for number, path in enumerate(sorted(everything), 1)]
    parts.append(_record(0, _TRAILER, Entry(0)))
    archive = b"".join(parts)
    return archive + bytes(-len(archive) % 512)


def unpack(archive: bytes) -> Iterator[tuple[str, Entry]]:
    """The entries of an archive."""
    position = 0
    while True:
        header = archive[position : position + 110]
        if header[:6] != b"070701":
            raise ValueError(f"no newc header at {position}")
        numbers = [int(header[begin : begin + 8], 16) for begin in range(6, 110, 8)]
        mode, size, name_size = numbers[1], numbers[6], numbers[11]
        name = archive[position + 110 : position + 109 + name_size].decode()
        if name == _TRAILER:
            return
        position = _padded(position + 110 + name_size)
        yield name, Entry(mode, archive[position : position + size], (numbers[9], numbers[10]))
        position = _padded(position + size)


def _record(inode: int, path: str, entry: Entry) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    numbers = (inode, entry.mode, 0, 0, links, 0, len(entry.content), 0, 0, *entry.device, len(name), 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name
    return head + bytes(-len(head) % 4) + entry.content + bytes(-len(entry.content) % 4)


def _padded(position: int) -> int:
    return position + -position % 4

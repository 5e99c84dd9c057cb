# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile as a flame graph: each box is a function, as wide as the instructions of it and its callees, above its caller.

The SVG is self-contained and deterministic. It takes its colours from the page it is embedded in; a separate file has the
light ones. Boxes have tooltips (<title>).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape as escaped

from irqlab import units
from irqlab.present.svg import clean
from irqlab.profile.owners import OWNERS
from irqlab.profile.tree import CONTEXT_NAMES, Row

WIDTH = 1200
ROW = 21
FONT = 13
LETTER = 7.0
"""Average width of a letter, rounded up."""
MIN_WIDTH = 0.7
"""Narrower boxes, and all above them, are omitted."""

LIGHT = ("#0068b5", "#b83b00", "#129070", "#8c2468", "#ab8700", "#4a2a8c", "#2f9fd0", "#2b2e33")
"""The page's series colours (report/style.css)."""
HUES = {
    "driver": 1,
    "engine": 4,
    "IP stack": 0,
    "allocator": 2,
    "qdisc": 6,
    "interrupts": 3,
    "primitives": 5,
    "DMA mapping": 7,
}
"""Owner -> series colour; the others are grey."""


@dataclass
class _Box:
    name: str
    owner: str
    context: str
    own: int = 0
    total: int = 0
    children: dict[str, _Box] = field(default_factory=dict)


def _boxes(row: Row) -> _Box:
    """The tree of boxes of a row of method `profile`, with totals. Functions of the same name with the same caller are merged."""
    root = _Box("all", "", "")
    found: list[_Box] = []
    for parent, number, instructions, _ in row["summary"]["stacks"]:
        point = row["samples"][number]
        above = found[parent] if parent >= 0 else root
        name = point["function"] + (f" [{point['module']}]" if point["module"] else "")
        box = above.children.setdefault(name, _Box(name, point["owner"], point["context"]))
        box.own += instructions
        found.append(box)
    for box in reversed([root, *_preorder(root)]):
        box.total = box.own + sum(child.total for child in box.children.values())
    return root


def _preorder(box: _Box) -> Iterable[_Box]:
    for child in box.children.values():
        yield child
        yield from _preorder(child)


def _depth(box: _Box, scale: float) -> int:
    return 1 + max((_depth(child, scale) for child in box.children.values() if child.total * scale >= MIN_WIDTH), default=0)


def svg(row: Row, what: str = "Flame graph") -> str:
    """The graph of a row of method `profile` (docs/use/results.md), for an HTML page. `what` is its label for screen readers."""
    found = row["summary"]
    frames, root = found["frames"], _boxes(row)
    scale = WIDTH / max(1, root.total)
    depth = _depth(root, scale)
    height = depth * ROW + 2 * ROW
    by_owner: dict[str, list[str]] = {}
    labels: list[str] = []

    def draw(box: _Box, x: float, level: int) -> None:
        width, y = box.total * scale, (depth - level - 1) * ROW
        title = f"{box.name}: {_figure(box.total / frames)} instructions per frame ({units.percent(box.total / root.total)})"
        if box.children and box.own:
            title += f", {_figure(box.own / frames)} of them its own"
        if box.owner:
            title += f"; {box.owner}, {CONTEXT_NAMES.get(box.context, box.context)}"
        letters = int((width - 6) / LETTER)
        label = box.name if len(box.name) <= letters else box.name[: letters - 1] + "…" if letters > 3 else ""
        if label:
            labels.append(f'<text x="{x + 3:.2f}" y="{y + 15}">{escape(label)}</text>')
        size = f'width="{max(0.3, width - 0.5):.2f}" height="{ROW - 1}"'
        rect = f'<rect x="{x:.2f}" y="{y}" {size}><title>{escape(title)}</title></rect>'
        by_owner.setdefault(box.owner, []).append(rect)
        for child in sorted(box.children.values(), key=lambda child: child.name):
            if child.total * scale >= MIN_WIDTH:
                draw(child, x, level + 1)
            x += child.total * scale

    draw(root, 0.0, 0)
    key = 0.0
    for owner in _present(row):
        by_owner.setdefault(owner, []).append(f'<rect x="{key:.2f}" y="{height - ROW}" width="14" height="14"/>')
        labels.append(f'<text x="{key + 19:.2f}" y="{height - ROW + 12}">{escape(owner)}</text>')
        key += 34 + LETTER * len(owner)
    layers = "".join(f'<g style="{paint(owner)}">{"".join(by_owner[owner])}</g>' for owner in sorted(by_owner))
    return (
        f'<svg class="flame" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(what)}"><g fill-opacity="0.35">{layers}</g>'
        f'<g pointer-events="none" fill="currentColor" font-family="sans-serif" font-size="{FONT}">{"".join(labels)}</g></svg>'
    )


def file(row: Row) -> str:
    """The graph as an SVG file of its own."""
    return svg(row).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def escape(text: str) -> str:
    """Escapes text for XML, since names come from files."""
    return escaped(clean(text))


def paint(owner: str) -> str:
    """The style of an owner's boxes."""
    if owner not in HUES:
        return "fill:var(--grey,#8f959e)"
    number = HUES[owner]
    return f"fill:var(--s{number},{LIGHT[number]})"


def _present(row: Row) -> list[str]:
    """The owners in a graph, as the table of owners lists them."""
    present = {point["owner"] for point in row["samples"] if point["instructions"]}
    return [owner for owner in OWNERS if owner in present]


def _figure(value: float) -> str:
    return f"{value:,.1f}".replace(",", "\u202f")

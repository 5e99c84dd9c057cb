# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of the objects that a frame uses, as a picture: a row for each object, a box for each of its lines.

A box is the darker, the more frames use the line; the bar in it is as high as the share of the uses that missed. Boxes have
tooltips. Colours come from the page.
"""

from __future__ import annotations

from irqlab.profile.flamegraph import LIGHT, escape
from irqlab.profile.line_tables import NAMED, Part, Row, figure, parts

WIDTH = 1200
LABEL = 330
BOX, STEP = 22, 24
MOST_OBJECTS = 26
MOST_BOXES = (WIDTH - LABEL - STEP) // STEP
LETTERS = 30
"""Of a label."""
FAINT = 0.02
"""Lines that fewer frames use are left out."""


def svg(row: Row, what: str = "Lines of memory") -> str:
    """The picture of a row of method `profile` with lines, for an HTML page. `what` is its label for screen readers."""
    objects: dict[str, list[Part]] = {}
    for part in parts(row):
        if part.lines >= FAINT:
            objects.setdefault(part.object, []).append(part)
    chosen = sorted(objects.items(), key=lambda item: (-sum(p.lines for p in item[1]), item[0]))[:MOST_OBJECTS]
    height = (len(chosen) + 2) * (STEP + 4)
    drawn: list[str] = []
    for number, (name, found) in enumerate(chosen):
        y = number * (STEP + 4)
        total = sum(p.lines for p in found)
        label = name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
        drawn.append(f'<text x="{LABEL - 60}" y="{y + 16}" text-anchor="end">{escape(label)}</text>')
        drawn.append(f'<text x="{LABEL - 10}" y="{y + 16}" text-anchor="end">{figure(total)}</text>')
        ordered = found if found[0].kind in NAMED else sorted(found, key=lambda p: p.line)
        for place, part in enumerate(ordered[:MOST_BOXES]):
            drawn.append(_box(part, LABEL + place * STEP, y))
        if len(ordered) > MOST_BOXES:
            drawn.append(f'<text x="{WIDTH - STEP}" y="{y + 16}">…</text>')
    drawn.append(_legend(len(chosen) * (STEP + 4) + 14))
    return (
        f'<svg class="flame" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(what)}">'
        f'<g fill="currentColor" font-family="sans-serif" font-size="13">{"".join(drawn)}</g></svg>'
    )


def _box(part: Part, x: float, y: float) -> str:
    where = (
        f"{part.object}, {part.name}" if part.kind in NAMED else f"{part.object}, line {part.name}" if part.name else part.object
    )
    title = (
        f"{where}: used by {figure(part.lines)} per frame, {figure(part.accesses)} accesses, {figure(part.misses)} misses"
        f"{'; ' if part.text else ''}{part.text}"
    )
    share = min(1.0, part.misses / part.lines) if part.lines else 0.0
    shade = 0.12 + 0.68 * min(1.0, part.lines)
    bar = (
        f'<rect x="{x}" y="{y + BOX * (1 - share):.1f}" width="7" height="{BOX * share:.1f}" style="fill:var(--s1,{LIGHT[1]})"/>'
    )
    return (
        f'<g><title>{escape(title)}</title><rect x="{x}" y="{y}" width="{BOX}" height="{BOX}" fill-opacity="{shade:.2f}" '
        f'style="fill:var(--s0,{LIGHT[0]})"/>{bar if share > 0.01 else ""}</g>'
    )


def _legend(y: float) -> str:
    made, x = [], 0.0
    for text, shade, share in (
        ("used by one frame in ten", 0.1, 0.0),
        ("by every frame", 1.0, 0.0),
        ("by every frame, and half of the uses miss L1D", 1.0, 0.5),
    ):
        made.append(_box(Part("", "", "", 0, lines=shade, misses=share * shade), x, y).replace("<title>", "<title>Legend ", 1))
        made.append(f'<text x="{x + BOX + 6}" y="{y + 16}">{text}</text>')
        x += BOX + 40 + 7.4 * len(text)
    made.append(f'<text x="{x}" y="{y + 16}">The figures are lines per frame.</text>')
    return "".join(made)

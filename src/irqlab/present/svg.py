# SPDX-License-Identifier: GPL-2.0-or-later
"""Rewrites matplotlib's SVG for embedding: the page's colours and fonts, unique identifiers, no external links."""

from __future__ import annotations

import io
import re
import unicodedata
import warnings
from collections.abc import Iterable
from typing import Any, Protocol
from xml.etree import ElementTree

# Colours drawn by matplotlib, and the page's replacements.
INK, GRID, AXIS, GREY, PAPER = "#0b0001", "#0b0002", "#0b0003", "#0b0004", "#0b0005"
_NAMED = {INK: "currentColor", GRID: "var(--grid)", AXIS: "var(--axis)", GREY: "var(--grey)", PAPER: "var(--paper)"}
_SERIES = re.compile(r"#0a00([0-9a-f]{2})")

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"


class Drawing(Protocol):
    """The part of matplotlib's figure that is used."""

    def savefig(self, fname: Any, /, *, format: str, metadata: Any) -> None:  # noqa: A002
        """Writes it to a file."""


def finish(figure: Drawing, what: str, titles: dict[str, str], decorative: bool = False) -> str:
    """Writes a figure and rewrites it for a page. Identifiers start with `@@`, which `numbered` replaces."""
    raw = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the page uses another font
        figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ElementTree.fromstring(raw.getvalue())
    used = dict.fromkeys(value for element in root.iter() for value in _references(element))
    _rewrite(root, {old: f"@@{n}" for n, old in enumerate(used)}, titles)
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.set("viewBox", box)
    if decorative:
        root.set("aria-hidden", "true")
    else:
        root.set("role", "img")
        root.set("aria-label", what)
    return ElementTree.tostring(root, encoding="unicode")


def numbered(svg: str, number: int) -> str:
    """Makes the identifiers of a plot unique on a page."""
    return svg.replace("@@", f"p{number}-")


def _references(element: ElementTree.Element) -> Iterable[str]:
    if link := element.get(_HREF):
        yield link.removeprefix("#")
    if clip := _CLIP.fullmatch(element.get("clip-path", "")):
        yield clip[1]


_LONG = re.compile(r"-?\d+\.\d{3,}")
"""A coordinate with needless precision."""
_CLIP = re.compile(r"url\(#(.+)\)")
_OWN = re.compile(r"(?:series|bar|wire|ring|cross|diagonal|rank|band)\b")


def _rewrite(element: ElementTree.Element, used: dict[str, str], titles: dict[str, str]) -> None:
    for child in list(element):
        if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
            element.remove(child)
        else:
            _rewrite(child, used, titles)
    element.tag = element.tag.removeprefix(_SVG)
    element.text = (element.text or "").strip() or None
    element.tail = None
    if element.tag == "defs" and not len(element):
        element.tag = "g"
    identifier = element.attrib.pop("id", None)
    if identifier in used:
        element.set("id", used[identifier])
    elif identifier is not None and _OWN.match(identifier):
        element.set("id", f"@@{identifier}")
    if identifier in titles:
        title = ElementTree.Element("title")
        title.text = clean(titles[identifier])
        element.insert(0, title)
    if link := element.attrib.pop(_HREF, None):
        element.set("href", f"#{used[link.removeprefix('#')]}")
    if clip := _CLIP.fullmatch(element.get("clip-path", "")):
        element.set("clip-path", f"url(#{used[clip[1]]})")
    if "style" in element.attrib:
        rules = [rule.strip() for rule in element.attrib.pop("style").split(";")]
        kept = [_recolour(rule) for rule in rules if rule and not rule.startswith("font")]
        if kept:
            element.set("style", ";".join(kept))
    for name, value in element.attrib.items():
        if name in ("d", "x", "y", "width", "height", "transform"):
            element.set(name, _LONG.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), " ".join(value.split())))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]


def _recolour(rule: str) -> str:
    for drawn, meant in _NAMED.items():
        rule = rule.replace(drawn, meant)
    return _SERIES.sub(lambda match: f"var(--s{int(match[1], 16)})", rule)


def clean(text: str) -> str:
    """Removes characters that XML forbids and bidirectional controls; keeps line feeds."""
    return "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n" else c for c in text)


def symbol(svg: str, name: str) -> str:
    """A swatch as a reusable SVG symbol."""
    inner = re.sub(r"^<svg (viewBox=\"[^\"]*\")[^>]*>(.*)</svg>$", rf'<symbol id="{name}" \1>\2</symbol>', svg)
    return inner.replace("@@", f"{name}-")

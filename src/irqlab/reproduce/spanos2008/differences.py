# SPDX-License-Identifier: GPL-2.0-or-later
"""Why claims differ, as docs/papers/spanos2008.md has it. Each names an experiment or says that there is none.

Costs that were fitted to a figure do not explain it.
"""

from __future__ import annotations

from irqlab.reproduce.claims import Because

_FITTED = Because("differs", "not explained: the costs that change it were fitted to this figure")
_FREEING = Because(
    "differs",
    "freeing a sent packet in an interrupt costs this DUT less than the board: on and off with [its costs](#why-they-differ)",
)
_LISTS = Because(
    "differs",
    "freeing in an interrupt is cheap here: with the board's costs NAPI is behind. That NAPI passes frames as lists makes a part "
    "of its lead ([lists off](#why-they-differ))",
)
_STACK = Because(
    "differs",
    "in part because NAPI passes lists, for which the kernel looks up one route ([lists off](#why-they-differ)). The rest is not "
    "explained: no experiment gives NAPI a backlog",
)
_TOO_FAST = "not explained: this DUT is faster than the board, by costs that were fitted to this figure"

BECAUSE = {
    "With 256-byte frames the order": _LISTS,
    "With 896-byte frames the order": _LISTS,
    "With 64-byte frames NAPI-TX-OFF forwards": _FITTED,
    "The improvement can reach": _FITTED,
    "NAPI-TX-128 is slightly faster": _FREEING,
    "Freeing with dev_kfree_skb()": _FREEING,
    "Frames of 512 bytes at 100 Mbit/s": Because("differs", _TOO_FAST),
    "With 64-byte frames the highest rate without loss": Because("differs", _TOO_FAST),
    "Under overload with 256-byte frames": _FREEING,
    "The formulas, in which": _STACK,
    "The variants mainly differ": _STACK,
    "A byte takes": _FITTED,
    "The constant part takes": _FITTED,
    "By the model NAPI-TX-OFF is faster with large frames": _FITTED,
}
"""Instructions alone."""

_COMPLETION = Because("differs", "not explained: [TX-OFF is too fast](#why-they-differ)")
_HANDLER = Because("differs", "the costs charge the handler nothing: on and off [under conditions](#why-they-differ)")

WITH_COSTS = {
    **{f"With {size}-byte frames the order": _COMPLETION for size in (64, 128, 256, 512)},
    "NAPI and TX-OFF provide similar": _COMPLETION,
    "Both perform much better": _COMPLETION,
    "The constant part takes": _COMPLETION,
    "Under that load they forward": Because("differs", "in part because [the handler costs nothing](#why-they-differ)"),
    "With 64-byte frames ORIGINAL collapses": _HANDLER,
    "That is 3.24 times": _HANDLER,
}
"""With the costs of the board."""

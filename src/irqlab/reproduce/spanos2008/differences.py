# SPDX-License-Identifier: GPL-2.0-or-later
"""Why claims differ, as docs/papers/spanos2008.md has it. Each names an experiment or says that there is none."""

from __future__ import annotations

from irqlab.reproduce.claims import Because

_BOARD = "[its costs](#why-they-differ)"
_FREEING = Because(
    "differs", f"freeing a sent packet in an interrupt costs this DUT less than the board: on and off with {_BOARD}"
)
_FASTER = Because("differs", f"this DUT is faster than the board: on and off with {_BOARD}")
_BYTE = Because("differs", f"a byte costs this DUT next to nothing: on and off with {_BOARD}")
_LISTS = Because(
    "differs",
    "freeing in an interrupt is cheap here: with the board's costs NAPI is behind. That NAPI passes frames as lists makes a part "
    "of its lead ([lists off](#why-they-differ))",
)

BECAUSE = {
    "With 256-byte frames the order": _LISTS,
    "With 896-byte frames the order": _LISTS,
    "With 64-byte frames NAPI-TX-OFF forwards": _FREEING,
    "With 64-byte frames NAPI-TX-OFF is faster than NAPI by more than 48": _FREEING,
    "With 64-byte frames NAPI-TX-OFF is faster than NAPI by more than 55": _FREEING,
    "With 256-byte frames NAPI-TX-OFF is faster than NAPI": _FREEING,
    "NAPI and TX-OFF provide similar": _FREEING,
    "Both perform much better than TX-128": _FREEING,
    "NAPI-TX-128 is slightly faster": _FREEING,
    "Freeing with dev_kfree_skb()": _FREEING,
    "Frames of 512 bytes at 100 Mbit/s": _FASTER,
    "Under that load NAPI takes": Because(
        "differs",
        f"this DUT is faster than the board, so polls empty the ring and unmask receive interrupts: on and off with {_BOARD}",
    ),
    "With 64-byte frames the highest rate without loss": _FASTER,
    "By the formulas ORIGINAL and NAPI-TX-OFF": Because(
        "differs",
        "in part because NAPI passes lists, for which the kernel looks up one route ([lists off](#why-they-differ)). The rest is "
        "not explained: no experiment gives NAPI a backlog",
    ),
    "A byte takes": _BYTE,
    "The constant part takes": _FASTER,
    "By the model NAPI-TX-OFF is faster with large frames": _BYTE,
    "The improvements that it prints": Because("differs", "[misprints](#what-the-paper-prints)"),
}
"""Instructions alone."""

_COMPLETION = Because(
    "differs",
    "not explained. TX-OFF is not charged the fitted cost of freeing in an interrupt, which may contain other costs of a "
    "transmit completion on the board; no experiment separates them",
)
_HANDLER = Because("differs", "the costs charge the handler nothing: on and off [under conditions](#why-they-differ)")

WITH_COSTS = {
    "With 64-byte frames the order": _COMPLETION,
    "With 128-byte frames the order": _COMPLETION,
    "With 256-byte frames the order": _COMPLETION,
    "With 512-byte frames the order": _COMPLETION,
    "With 896-byte frames the order": _COMPLETION,
    "NAPI and TX-OFF provide similar": _COMPLETION,
    "With 256-byte frames NAPI-TX-OFF is faster": Because(
        "differs", "not explained; the difference is smaller than the [error](../use/costs.md#mpc8250) of the fit"
    ),
    "By the formulas ORIGINAL and NAPI-TX-OFF differ": Because(
        "differs", "the cost of freeing in an interrupt is charged in T_SKB"
    ),
    "The constant part takes": _COMPLETION,
    "With 64-byte frames ORIGINAL collapses": _HANDLER,
    "A byte takes": Because("differs", "the fit to table 1 is not the paper's own fit: [costs.md](../use/costs.md#mpc8250)"),
}
"""With the costs of the board."""

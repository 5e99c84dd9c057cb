# SPDX-License-Identifier: GPL-2.0-or-later
"""irqlab: a laboratory for the interrupt handling of Linux network drivers."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Lab", "__version__"]

if TYPE_CHECKING:
    from irqlab.lab import Lab


def __getattr__(name: str) -> Any:  # so that `import irqlab.setup` needs none of the lab's dependencies
    if name == "Lab":
        from irqlab.lab import Lab

        return Lab
    raise AttributeError(name)

# SPDX-License-Identifier: GPL-2.0-or-later
"""A cache of a test's own, in which what was fetched and built need not be fetched and built again."""

from pathlib import Path

from irqlab.setup.paths import cache_dir


def own_cache(home: Path, *private: str) -> Path:
    """Makes `home`/cache: the present cache without the entries `private`. Its user sets IRQLAB_CACHE."""
    cache = home / "cache"
    cache.mkdir(parents=True)
    for entry in cache_dir().iterdir() if cache_dir().is_dir() else ():
        if entry.name not in private:
            (cache / entry.name).symlink_to(entry)
    return cache

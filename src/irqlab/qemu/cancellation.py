# SPDX-License-Identifier: GPL-2.0-or-later
"""How work that runs side by side is ended: by Ctrl-C, or by the first error of a part of it.

Who starts threads has a Cancellation for them. What they wait for, such as a QEMU, is ended with it; nothing else is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

from irqlab.errors import IrqlabError


class CancelledError(IrqlabError):
    """The user pressed Ctrl-C, or other work of the same batch has failed."""


class Cancellation:
    """Ends what a batch of work waits for, and keeps the batch from starting more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[Callable[[], object]] = []
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Calls what was added; what is added from now on is refused."""
        with self._lock:
            self._cancelled = True
            ends = list(self._ends)
        for end in ends:
            end()

    def check(self) -> None:
        """Raises CancelledError after `cancel`."""
        if self._cancelled:
            raise CancelledError("cancelled")

    def add(self, end: Callable[[], object]) -> None:
        """`cancel` calls `end`, which must not wait. Raises CancelledError after `cancel`: the caller has to end it itself."""
        with self._lock:
            self.check()
            self._ends.append(end)

    def remove(self, end: Callable[[], object]) -> None:
        """`cancel` does not call `end` any more."""
        with self._lock:
            self._ends.remove(end)

    @contextmanager
    def ending(self, end: Callable[[], object]) -> Iterator[None]:
        """Context manager: `cancel` calls `end` meanwhile. Raises CancelledError after `cancel`."""
        self.add(end)
        try:
            yield
        finally:
            self.remove(end)


_OF_THREAD: ContextVar[Cancellation] = ContextVar("cancellation")


def current() -> Cancellation:
    """The one of the batch that this thread works for; of a thread that `workers` did not start: one that nobody cancels."""
    return _OF_THREAD.get(None) or Cancellation()


@contextmanager
def workers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Context manager: threads with a Cancellation. An exception that leaves the block cancels it; so does the caller's own."""
    own = Cancellation()
    pool = ThreadPoolExecutor(max(1, threads), initializer=_OF_THREAD.set, initargs=(own,))
    with current().ending(own.cancel), pool:
        try:
            yield pool
        except BaseException:
            own.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def cancelled_or_failed() -> Iterator[None]:
    """Context manager: an error after `cancel`, such as that a QEMU was killed, becomes a CancelledError."""
    try:
        yield
    except IrqlabError as error:
        if current().cancelled and not isinstance(error, CancelledError):
            raise CancelledError("cancelled") from error
        raise

# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

import pytest

from irqlab.errors import IrqlabError
from irqlab.qemu.cancellation import Cancellation, CancelledError, cancelled_or_failed, current, workers

PATIENCE_S = 10.0


def waiting(begun: threading.Barrier) -> None:
    """Work that waits for something, as for a QEMU, until that is ended."""
    ended = threading.Event()
    with current().ending(ended.set):
        begun.wait(PATIENCE_S)
        with cancelled_or_failed():
            assert ended.wait(PATIENCE_S)
            raise IrqlabError("killed")


def ended_by(error: BaseException, *works: Callable[[threading.Barrier], None]) -> list[Future[None]]:
    """Does works with one thread, of which the first has begun when the error is raised. Returns what they become."""
    begun = threading.Barrier(2)
    futures: list[Future[None]] = []
    with suppress(type(error)), workers(1) as pool:
        futures += [pool.submit(work, begun) for work in works]
        begun.wait(PATIENCE_S)
        raise error
    return futures


@pytest.mark.parametrize("error", [IrqlabError("failed"), KeyboardInterrupt()])
def test_an_error_ends_what_the_batch_waits_for_and_nothing_else(error: BaseException) -> None:
    with workers(1) as other:
        under_way, not_begun = ended_by(error, waiting, waiting)
        assert isinstance(under_way.exception(), CancelledError)
        assert not_begun.cancelled()
        other.submit(lambda: current().check()).result()
    current().check()
    with workers(1) as later:
        later.submit(lambda: current().check()).result()


def test_with_a_batch_its_threads_batches_end() -> None:
    def outer(begun: threading.Barrier) -> None:
        with workers(1) as pool:
            pool.submit(waiting, begun).result()

    (future,) = ended_by(KeyboardInterrupt(), outer)
    assert isinstance(future.exception(), CancelledError)


def test_after_it_nothing_can_be_added() -> None:
    ended: list[str] = []
    ends: list[Callable[[], object]] = [lambda: ended.append("a"), lambda: ended.append("b")]
    batch = Cancellation()
    batch.add(ends[0])
    with batch.ending(ends[1]):
        pass
    batch.cancel()
    assert ended == ["a"]
    with pytest.raises(CancelledError), batch.ending(ends[1]):
        pass
    assert ended == ["a"]

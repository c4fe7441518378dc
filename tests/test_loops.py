import asyncio
import contextlib
import os
import signal
import threading

import pytest

from yaoci import loops


async def stubborn():
    """Work that swallows every cancel."""
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)


def test_the_result_is_that_of_the_work():
    async def work():
        await asyncio.sleep(0)
        return 5

    assert loops.run(work()) == 5


def test_an_error_is_that_of_the_work():
    async def work():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        loops.run(work())


def test_what_swallows_its_cancel_is_left_behind(monkeypatch):
    monkeypatch.setattr(loops, "PATIENCE", 0.05)

    async def work():
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        return task

    assert not loops.run(work()).done()


def test_a_first_ctrl_c_cancels_the_work_and_a_second_one_ends_it(monkeypatch):
    monkeypatch.setattr(loops, "PATIENCE", 0.05)
    seen = []

    async def work():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            os.kill(os.getpid(), signal.SIGINT)
        await stubborn()

    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        loops.run(work())
    timer.join()
    assert seen == ["cancelled"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_may_run_a_loop_too():
    found = []
    thread = threading.Thread(target=lambda: found.append(loops.run(asyncio.sleep(0, 7))))
    thread.start()
    thread.join()
    assert found == [7]

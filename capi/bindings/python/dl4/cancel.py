"""What stops long calls: flags of one's own, and Ctrl-C."""

import contextlib
import os
import signal
import threading

from .abi import Object, library, made


class Cancel(Object):
    """A flag for any number of calls; triggered, from any thread, it ends them with dl4.Cancelled, and stays so."""

    __slots__ = ()

    def __init__(self):
        super().__init__(made("dl4_cancel_create"))

    def trigger(self):
        library.dl4_cancel_trigger(self.handle)

    @property
    def triggered(self):
        return bool(library.dl4_cancel_triggered(self.handle))


_current = None  # what Ctrl-C triggers while a call is under way
_INTERRUPT = {signal.SIGINT}
_inside = 0  # how many callbacks of Python's that call is in


def _pressed(*_):
    """Ctrl-C: in a callback as always; elsewhere it would be lost in whatever Python happens to run on the way."""
    _current.trigger()
    if _inside:
        raise KeyboardInterrupt


class Inside:
    """A callback of Python's, in which Ctrl-C is raised; where it may wait, `waiting`, it is woken by it."""

    def __init__(self, waiting=False):
        self.waiting = waiting

    def __enter__(self):
        global _inside
        _inside += 1
        if self.waiting and _current is not None and threading.current_thread() is threading.main_thread():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPT)

    def __exit__(self, *_):
        global _inside
        if self.waiting and _current is not None and threading.current_thread() is threading.main_thread():
            signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPT)
        _inside -= 1


inside, inside_waiting = Inside(), Inside(waiting=True)


@contextlib.contextmanager
def interruptible(given=None):
    """The flag of a long call: the one that is given, or one that Ctrl-C triggers at once, for Python itself looks at
    signals only when the call has returned. KeyboardInterrupt is raised then."""
    global _current
    handler = signal.getsignal(signal.SIGINT)
    alone = given is None and threading.current_thread() is threading.main_thread()
    if not alone or handler is not signal.default_int_handler:
        yield _current if alone and handler is _pressed else given  # a call within a callback ends with the outer one
        return
    cancel, (reading, writing) = Cancel(), os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch():
        while True:
            numbers = os.read(reading, 64)
            if not numbers:
                return
            if signal.SIGINT in numbers:
                cancel.trigger()
            if before >= 0:  # of an event loop
                with contextlib.suppress(OSError):
                    os.write(before, numbers)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    _current = cancel
    signal.signal(signal.SIGINT, _pressed)
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPT)  # it goes to the thread that watches
    try:
        yield cancel
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        signal.signal(signal.SIGINT, handler)
        signal.set_wakeup_fd(before)
        os.close(writing)
        thread.join()
        os.close(reading)
        _current = None
        if cancel.triggered:
            raise KeyboardInterrupt from None

"""Cancellation of long calls: cancel flags and Ctrl-C."""

import _thread
import contextlib
import os
import signal
import sys
import threading

from .abi import check, Object, library, made


class Cancel(Object):
    """A flag for any number of calls. When it is triggered, from any thread, they end with dl4.Cancelled. It stays
    triggered."""

    __slots__ = ()

    def __init__(self):
        super().__init__(made("dl4_cancel_create"))

    def trigger(self):
        """Stops the calls that were given this flag; from any thread."""
        library.dl4_cancel_trigger(self.handle)

    @property
    def triggered(self):
        """Whether trigger() was called."""
        return bool(library.dl4_cancel_triggered(self.handle))


_current = None  # what Ctrl-C triggers while a call is under way
_INTERRUPT = {signal.SIGINT}
_inside = 0  # how many callbacks of Python's that call is in


def _block(yes, signals=_INTERRUPT):
    """Blocks Ctrl-C in this thread, or no longer; what was blocked before. Windows has a thread of its own for it."""
    if os.name == "nt":
        return set()
    return signal.pthread_sigmask(signal.SIG_BLOCK if yes else signal.SIG_UNBLOCK, signals)


def _pressed(*_):
    """Ctrl-C: in a callback as always; elsewhere it would be lost in whatever Python happens to run on the way."""
    if _current is not None:
        _current.trigger()
    if _inside or _current is None:
        raise KeyboardInterrupt


class Inside:
    """A callback of Python's, in which Ctrl-C is raised; where it may wait, `waiting`, it is woken by it."""

    def __init__(self, waiting=False):
        self.waiting = waiting

    def __enter__(self):
        global _inside
        _inside += 1
        if self.waiting and _current is not None and threading.current_thread() is threading.main_thread():
            _block(False)

    def __exit__(self, *_):
        global _inside
        _inside -= 1
        if self.waiting and _current is not None and threading.current_thread() is threading.main_thread():
            _block(True)


inside, inside_waiting = Inside(), Inside(waiting=True)


def _of_a_signal(unraisable):
    """Was it raised by the handler of a signal, or on the way into a callback, where only such a handler runs?"""
    if "ctypes callback function" in (unraisable.err_msg or ""):
        return True
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(getattr(h, "__func__", h), "__code__", None) for h in handlers} - {None}
    at = unraisable.exc_traceback
    while at is not None:
        if at.tb_frame.f_code in codes:
            return True
        at = at.tb_next
    return False


@contextlib.contextmanager
def heard():
    """A list of what handlers of signals raise while a call is under way and Python can only report: as a callback
    begins, and in finalizers. The call raises it as it ends."""
    lost = []
    if threading.current_thread() is not threading.main_thread():  # where handlers never run
        yield lost
        return
    before = sys.unraisablehook

    def keep(unraisable):
        if _of_a_signal(unraisable):
            lost.append(unraisable.exc_value or unraisable.exc_type())
        else:
            before(unraisable)

    sys.unraisablehook = keep
    try:
        yield lost
    finally:
        sys.unraisablehook = before


def check_call(error, raised):
    """Raises the first of what callbacks and handlers of signals raised during a call, else what the call returned."""
    try:
        check(error)
    except Exception as e:
        raise (raised + [e])[0] from None
    if raised:
        raise raised[0]


@contextlib.contextmanager
def interruptible(given=None):
    """The flag of a long call: the one that is given, or one that Ctrl-C triggers at once, for Python itself looks at
    signals only when the call has returned. KeyboardInterrupt is raised then."""
    global _current, _inside
    handler = signal.getsignal(signal.SIGINT)
    alone = given is None and threading.current_thread() is threading.main_thread()
    if not alone or handler is not signal.default_int_handler:
        yield _current if alone and handler is _pressed else given  # a call within a callback ends with the outer one
        return
    cancel = Cancel()
    blocked = signal.SIGINT in _block(True, [])
    try:
        _current, _inside = cancel, 0
        # Ctrl-C raises nothing from here on. A handler of another signal may, at each step.
        signal.signal(signal.SIGINT, _pressed)
        with _watched(cancel):
            _block(True)  # it goes to the thread that watches
            yield cancel
    finally:
        try:
            if not blocked:
                _block(False)
        finally:
            try:
                signal.signal(signal.SIGINT, handler)
            finally:
                _current, _inside = None, 0
        if cancel.triggered:
            raise KeyboardInterrupt from None


@contextlib.contextmanager
def _watched(cancel):
    """A thread sees Ctrl-C at once. It is started by _thread, for threading.Thread.start() does not bear that the
    handler of a signal raises."""
    before, ended = -1, threading.Lock()

    def watch():
        with open(reading, "rb", buffering=0) as pipe:
            while numbers := pipe.read(64):
                if signal.SIGINT in numbers:
                    cancel.trigger()
                if before >= 0:  # of an event loop
                    with contextlib.suppress(OSError):
                        os.write(before, numbers)
        ended.release()

    ended.acquire()
    reading, writing = os.pipe()
    try:
        try:
            _thread.start_new_thread(watch, ())
        except RuntimeError:  # no more threads
            os.close(reading)
            ended.release()
            raise
        if os.name != "nt":  # where a pipe of so few bytes takes them
            os.set_blocking(writing, False)
        before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        yield
    finally:
        try:
            signal.set_wakeup_fd(before)
        finally:
            os.close(writing)
        ended.acquire()

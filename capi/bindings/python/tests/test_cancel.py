"""Ctrl-C and flags end long calls soon, and leave things as they were."""

import os
import signal
import sys
import threading
import time
import types
import unittest

import numpy as np

import dl4
import dl4.keras as keras
from dl4.cancel import interruptible


def wide():
    model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(512), keras.layers.Dense(512)])
    model.compile("sgd", "mse")
    return model


X, Y = np.zeros((60000, 256), "float32"), np.zeros((60000, 512), "float32")


def press():
    """As Ctrl-C: Windows has it in a thread of its own, and there os.kill() ends the process."""
    signal.raise_signal(signal.SIGINT) if os.name == "nt" else os.kill(os.getpid(), signal.SIGINT)


def after(seconds, f, *arguments):
    threading.Timer(seconds, f, arguments).start()


class Interrupts(unittest.TestCase):
    def setUp(self):  # a job in the background ignores it
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def interrupted(self, call):
        """Calls until Ctrl-C comes, 0.3 s after the first one began; says how late it was noticed."""
        at = []
        after(0.3, lambda: (at.append(time.monotonic()), press()))
        with self.assertRaises(KeyboardInterrupt):
            for _ in range(200):
                call()
        return time.monotonic() - at[0]

    def test_evaluate_predict_and_fit_end_between_batches(self):
        m = wide()
        for call in (
            lambda: m.evaluate(X, Y, batch_size=60000 // 40, verbose=0),
            lambda: m.predict(X, batch_size=60000 // 40, verbose=0),
            lambda: m.fit(X, Y, batch_size=60000 // 40, epochs=50, verbose=0),
            lambda: m._trainer.fit(dl4.Dataset([dl4.Tensor.of(X)], [dl4.Tensor.of(Y)], batch_size=1500), epochs=50),
        ):
            self.assertLess(self.interrupted(call), 20)
            self.assertEqual(signal.set_wakeup_fd(-1), -1)
            self.assertEqual(m.predict(X[:3], verbose=0).shape, (3, 512))  # and goes on

    def test_a_long_call_does_not_hold_the_signal_back(self):
        m, data = wide(), dl4.Dataset([dl4.Tensor.of(X)], [dl4.Tensor.of(Y)], batch_size=500)
        begun = time.monotonic()
        m._get_trainer().evaluate(data)
        whole = time.monotonic() - begun
        epochs = int(30 / whole) + 2  # half a minute without a callback
        late = self.interrupted(lambda: m._get_trainer().fit(data, epochs=epochs))
        self.assertLess(late, 10)

    def test_a_handler_of_ones_own_is_left_alone(self):
        mine = lambda *_: None
        before = signal.signal(signal.SIGINT, mine)
        try:
            with interruptible() as flag:
                self.assertIsNone(flag)
                self.assertIs(signal.getsignal(signal.SIGINT), mine)
        finally:
            signal.signal(signal.SIGINT, before)
        with interruptible() as flag:
            self.assertIsNotNone(flag)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        if os.name != "nt":
            self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, []), set())

    def test_an_event_loops_descriptor_still_hears(self):
        reading, writing = os.pipe()
        if os.name != "nt":
            os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)
        try:
            self.interrupted(lambda: wide().fit(X, Y, epochs=50, verbose=0))
        finally:
            self.assertEqual(signal.set_wakeup_fd(-1), writing)
        self.assertIn(signal.SIGINT, os.read(reading, 9))
        os.close(reading), os.close(writing)

    def test_a_generator_that_waits_is_woken(self):
        m = wide()

        def batches():
            yield X[:10], Y[:10]
            yield X[:10], Y[:10]
            time.sleep(60)  # of Python's waits the one that Ctrl-C ends on Windows too

        self.assertLess(self.interrupted(lambda: m.fit(batches(), steps_per_epoch=9, verbose=0)), 20)
        self.assertEqual(m.predict(X[:3], verbose=0).shape, (3, 512))

    def test_flags(self):
        m = wide()
        flag = dl4.Cancel()
        data = dl4.Dataset([dl4.Tensor.of(X)], [dl4.Tensor.of(Y)], batch_size=100)
        after(0.3, flag.trigger)
        with self.assertRaises(dl4.Cancelled):
            m._get_trainer().fit(data, epochs=100000, cancel=flag)
        self.assertTrue(flag.triggered)
        for call in (
            lambda: m._get_trainer().evaluate(data, cancel=flag),
            lambda: m._session().predict(data, cancel=flag),
            lambda: m._session().run([dl4.Tensor.of(X)], cancel=flag),
        ):
            with self.assertRaises(dl4.Cancelled):
                call()
        raised = []

        def elsewhere():
            try:
                m._get_trainer().fit(data, cancel=flag)
            except dl4.Cancelled as e:
                raised.append(e)

        thread = threading.Thread(target=elsewhere)
        thread.start(), thread.join()
        self.assertEqual(len(raised), 1)


class Mine(Exception):
    pass


@unittest.skipUnless(hasattr(signal, "setitimer"), "there is no alarm")
class Signals(unittest.TestCase):
    """What a handler raises comes out of the call that is under way as itself."""

    def setUp(self):
        def ring(*_):
            raise Mine

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, ring))
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)

    def rings(self, call, times=25, raised=Mine):
        """Runs a call again and again, each time until the signal comes, at some moment of it."""
        r = np.random.default_rng(2)
        hook = sys.unraisablehook
        between = []  # what a finalizer lost while no call of the library was under way: Python reports it as always

        def reported(unraisable):
            frame, files = sys._getframe(), set()
            while frame is not None:
                files.add(os.path.basename(frame.f_code.co_filename))
                frame = frame.f_back
            if unraisable.exc_type is raised and not files & {"core.py", "session.py", "stream.py", "cancel.py"}:
                between.append(unraisable.exc_type)
            else:
                hook(unraisable)

        sys.unraisablehook = reported
        try:
            for i in range(times):
                with self.subTest(i=i), self.assertRaises(raised):
                    until = time.monotonic() + 30
                    while time.monotonic() < until:
                        between.clear()
                        signal.setitimer(signal.ITIMER_REAL, r.uniform(0.001, 0.02))
                        while not between and time.monotonic() < until:
                            call()
            self.assertIs(sys.unraisablehook, reported)
        finally:
            sys.unraisablehook = hook
        self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, []), set())

    def test_no_code_of_pythons_runs_while_an_argument_is_converted(self):
        self.assertIs(type(dl4.abi.Object._as_parameter_), types.MemberDescriptorType)

    def test_in_fit(self):
        m = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64)])
        m.compile("sgd", "mse")
        x, y = np.zeros((256, 64), "float32"), np.zeros((256, 64), "float32")
        trainer, data = m._get_trainer(), dl4.Dataset([dl4.Tensor.of(x)], [dl4.Tensor.of(y)], batch_size=1)
        self.rings(lambda: trainer.fit(data, progress=lambda *_: None, epochs=50))
        self.rings(lambda: m.fit(x, y, batch_size=1, epochs=50, verbose=0))

        class Hears(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                sum(range(50))

        self.rings(lambda: m.fit(x, y, batch_size=2, epochs=50, verbose=0, callbacks=[Hears()], validation_data=(x, y)))
        self.assertTrue(np.isfinite(m.evaluate(x, y, verbose=0)))

    def test_ctrl_c_as_calls_begin_and_end(self):
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
        m.compile("sgd", "mse")
        data = dl4.Dataset([dl4.Tensor.of(X[:8, :4])], [dl4.Tensor.of(Y[:8, :4])], batch_size=4)
        trainer, opened = m._get_trainer(), len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            self.rings(lambda: trainer.evaluate(data), 20, KeyboardInterrupt)
            self.assertEqual(signal.set_wakeup_fd(-1), -1)
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
            self.assertEqual(len(os.listdir("/proc/self/fd")), opened)

    def test_in_what_asks_for_batches(self):
        m = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64)])
        m.compile("sgd", "mse")

        def batches():
            for _ in range(500):
                yield np.zeros((4, 64), "float32"), np.zeros((4, 64), "float32")

        for call in (lambda: m.fit(batches(), verbose=0), lambda: m.evaluate(batches()), lambda: m.predict(batches())):
            self.rings(call, 12)

    def test_what_a_generator_raises_comes_out_of_predict(self):
        def batches():
            yield (np.zeros((4, 64), "float32"),)
            raise Mine

        m = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64)])
        with self.assertRaises(Mine):
            m.predict(batches(), verbose=0)

    def test_what_others_lose_is_reported_as_before(self):
        reported = []

        class Fails:
            def __del__(self):
                raise LookupError

        class Drops(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                Fails()

        before, sys.unraisablehook = sys.unraisablehook, lambda u: reported.append(u.exc_type)
        try:
            m = wide()
            m.fit(X[:32], Y[:32], verbose=0, callbacks=[Drops()])
        finally:
            sys.unraisablehook = before
        self.assertEqual(reported, [LookupError])


if __name__ == "__main__":
    unittest.main()

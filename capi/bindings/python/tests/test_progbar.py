"""keras.utils.Progbar."""

import contextlib
import io
import re
import unittest

import numpy as np
from dl4.keras.utils import Progbar


def shown(bar, *updates, **how):
    """What is printed, without the signs for a terminal and the times."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for current, values in updates:
            bar.update(current, values, **how)
    text = re.sub("\x1b\\[[0-9]+m|\b+", "", out.getvalue())
    return re.sub(r"[0-9]+(?=(s|ms|us)[ /])", "T", re.sub(r" +(\r|\n|$)", r"\1", text))


class Bars(unittest.TestCase):
    def test_a_bar(self):
        text = shown(Progbar(4, width=8, interval=0), (1, [("loss", 2.0)]), (4, [("loss", 0.00001)]))
        first, last = text.strip().split("\r")
        self.assertRegex(first, "^1/4 ━━━━━━━━ Ts T(ms|us|s)/step - loss: 2.0000$")
        self.assertRegex(last, "^4/4 ━━━━━━━━ Ts T(ms|us|s)/step - loss: 1.0000e-05$")
        self.assertTrue(text.endswith("\n"))

    def test_means_and_last_values(self):
        for how, wanted in (
            ({}, "1.5000"),
            ({"stateful_metrics": []}, "1.5000"),
            ({"stateful_metrics": ["v"]}, "3.0000"),
            ({"stateless_metrics": []}, "3.0000"),
            ({"stateless_metrics": ["v"]}, "1.5000"),
        ):
            bar = Progbar(9, interval=0, **how)
            text = shown(bar, (1, [("v", 0.0)]), (2, [("v", np.array([2.0, 4.0]))]))
            self.assertTrue(text.endswith(f"v: {wanted}"), (how, text))
        with self.assertRaisesRegex(ValueError, "Only one of"):
            Progbar(1, stateful_metrics=[], stateless_metrics=[])
        bar = Progbar(9, interval=0)  # a value of three steps counts for three
        self.assertTrue(shown(bar, (1, [("v", 1.0)]), (4, [("v", 5.0)])).endswith("v: 4.0000"))

    def test_lines_and_silence(self):
        text = shown(Progbar(2, verbose=2), (1, [("v", 1.0)]), (2, [("v", 3.0)]))
        self.assertRegex(text, "^2/2 - Ts - T(ms|us|s)/step - v: 3.0000\n$")
        self.assertEqual(shown(Progbar(2, verbose=0), (2, [("v", 3.0)])), "")
        self.assertEqual(shown(Progbar(2, verbose=2), (1, None)), "")

    def test_targets_that_are_not_known(self):
        self.assertIn("      3/Unknown ", shown(Progbar(None, interval=0), (3, [("v", 1.0)])))
        self.assertIn("0/Unknown", shown(Progbar(0), (0, None), finalize=True))

    def test_it_waits_between_updates(self):
        bar = Progbar(100, interval=1000)
        self.assertNotEqual(shown(bar, (1, None)), "")
        self.assertEqual(shown(bar, (2, None)), "")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            bar.add(98)
        self.assertIn("100/100", out.getvalue())


if __name__ == "__main__":
    unittest.main()

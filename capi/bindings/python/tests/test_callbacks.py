"""Callbacks, and what they are told."""

import json
import sys
import types
import unittest
import unittest.mock

import dl4.keras as keras
import numpy as np


class Remote(unittest.TestCase):
    """RemoteMonitor sends by the package requests, of which there is a stand-in here."""

    def sent(self, fails=False, **how):
        calls = []

        class Failure(Exception):
            pass

        def post(url, **given):
            calls.append((url, given))
            if fails:
                raise Failure

        requests = types.SimpleNamespace(
            post=post, exceptions=types.SimpleNamespace(RequestException=Failure)
        )
        with unittest.mock.patch.dict(sys.modules, {"requests": requests}):
            keras.callbacks.RemoteMonitor("http://there", **how).on_epoch_end(2, {"loss": np.float32(0.5), "n": 1})
        return calls

    def test_as_json_and_as_a_form(self):
        said = {"epoch": 2, "loss": 0.5, "n": 1}
        ((url, given),) = self.sent(send_as_json=True, headers={"a": "b"})
        self.assertEqual(url, "http://there/publish/epoch/end/")
        self.assertEqual(given, {"json": said, "headers": {"a": "b"}})
        ((url, given),) = self.sent(path="/x", field="f")
        self.assertEqual(url, "http://there/x")
        self.assertEqual(json.loads(given["data"]["f"]), said)

    def test_a_server_that_is_not_there(self):
        with self.assertWarnsRegex(UserWarning, "Could not reach RemoteMonitor root server at http://there"):
            self.sent(fails=True)
        with unittest.mock.patch.dict(sys.modules, {"requests": None}), self.assertRaisesRegex(ImportError, "requests"):
            keras.callbacks.RemoteMonitor().on_epoch_end(0)


if __name__ == "__main__":
    unittest.main()

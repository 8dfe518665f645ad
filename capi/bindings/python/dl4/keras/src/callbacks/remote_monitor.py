"""RemoteMonitor."""

import json
import warnings

from ..export import keras_export
from .callback import Callback


@keras_export("callbacks")
class RemoteMonitor(Callback):
    """Sends the logs of each epoch to a server, as JSON or in a field of a form."""

    def __init__(
        self,
        root="http://localhost:9000",
        path="/publish/epoch/end/",
        field="data",
        headers=None,
        send_as_json=False,
    ):
        super().__init__()
        self.root, self.path, self.field, self.headers, self.send_as_json = root, path, field, headers, send_as_json

    def on_epoch_end(self, epoch, logs=None):
        try:
            import requests
        except ImportError:
            raise ImportError("RemoteMonitor requires the `requests` library.") from None

        send = {"epoch": epoch, **{k: v.item() if hasattr(v, "item") else v for k, v in (logs or {}).items()}}
        said = {"json": send} if self.send_as_json else {"data": {self.field: json.dumps(send)}}
        try:
            requests.post(self.root + self.path, **said, headers=self.headers)
        except requests.exceptions.RequestException:
            warnings.warn(f"Could not reach RemoteMonitor root server at {self.root}", stacklevel=2)

"""Export of models."""

from .dtypes import Unsupported


class NumpyExportArchive:
    """Keras imports it by this name."""

    def track(self, resource):
        raise Unsupported("a SavedModel can't be exported by the backend dl4: save as `.keras`, which libdl4 reads")

    add_endpoint = track

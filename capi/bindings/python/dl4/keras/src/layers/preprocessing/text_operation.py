"""Functions of keras.ops on symbolic texts."""

from ...on_arrays.texts import on_texts, shape_of
from ...symbolic.numpy_call import output_spec
from ..layer import category
from .data_layer import DataLayer


@category.add
class TextOperation(DataLayer):
    """A function of keras.ops that moves elements, of the name `function`. It is called as the function is."""

    _is_operation = True

    def __init__(self, function, name=None, dtype="string"):
        super().__init__(name=name, dtype=dtype)
        self.function = function

    def call(self, *args, **kwargs):
        return on_texts(self.function, args, kwargs)

    def _spec(self, *args, **kwargs):
        return shape_of(self.function, args, kwargs, output_spec), self.dtype

    def get_config(self):
        return {"function": self.function, "name": self.name, "dtype": self.dtype}

"""Functions between tensors of a model, and operations of one's own, without weights."""

from ..export import keras_export
from ..utils.naming import snake_case, unique_name
from .model import Model


@keras_export("")
class Function:
    """Computes outputs from inputs, which are nests of symbolic tensors, for other nests like the inputs."""

    def __init__(self, inputs, outputs, name=None):
        self.name = name or unique_name("function")
        self._model = Model(inputs, outputs, name=self.name)

    inputs = property(lambda self: self._model.inputs, doc="The symbolic inputs.")
    outputs = property(lambda self: self._model.outputs, doc="The symbolic outputs.")

    def __call__(self, inputs):
        return self._model(inputs)

    def compute_output_shape(self, input_shape):
        """The shape of the outputs for a shape of the inputs."""
        return self._model.compute_output_shape(input_shape)


@keras_export("")
class Operation:
    """A function of tensors with a name and a config; of symbolic ones a model holds what its call() is made of."""

    def __init__(self, name=None):
        self.name = name or unique_name(snake_case(type(self).__name__))

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)

    def call(self, *args, **kwargs):
        """The computation, on tensors; override it."""
        raise NotImplementedError(f"{type(self).__name__} has no call()")

    def get_config(self):
        """The arguments of the constructor, as a dict."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config):
        """An operation of what get_config() gave."""
        return cls(**config)

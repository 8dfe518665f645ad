"""Models that are stacks of layers."""

import numpy as np

from ... import core
from ...abi import Error, InvalidArgument, InvalidType
from . import state
from .layer import InputLayer, Layer
from .model import Model
from .tensor import Input, is_tensor
from .training import Training
from .tree import flatten

_MADE = {"inputs", "outputs", "core", "_calls", "_graph", "_nest_in", "_nest_out", "_layer", "_masked", "_says"}


class Sequential(Model):
    """A stack of layers, each on what the one before gives."""

    def __init__(self, layers=None, trainable=True, name=None):
        Training.__init__(self)
        self.name = name or state.unique_name("sequential")
        self.layers, self._entry, self._last = [], None, None
        for layer in layers or ():
            self.add(layer)
        if not trainable:
            self.trainable = False

    def add(self, layer, rebuild=True):
        """Puts a layer on top. An Input is the first one."""
        if is_tensor(layer) or isinstance(layer, InputLayer):
            if self.layers or self._entry is not None:
                raise InvalidArgument(f"{self.name}: expected an Input as the first layer")
            self._entry = self._last = layer if is_tensor(layer) else layer.output
            return
        if not isinstance(layer, (Layer, Model)):
            raise InvalidType(f"{self.name}: expected a layer or a model, got {type(layer).__name__}")
        names = [v.name for v in self.layers]
        if layer.name in names:
            raise InvalidArgument(f'{self.name}: expected layers of different names, got a second "{layer.name}"')
        first = getattr(layer, "_first_shape", None) if isinstance(layer, Layer) else None
        if self._entry is None and not self.layers:
            if first is not None:
                self._entry = self._last = Input(batch_shape=first)
            elif isinstance(layer, Model) and layer.built:
                self._entry = self._last = Input(batch_shape=layer.inputs[0].shape, dtype=layer.inputs[0].dtype)
        if self._entry is not None:
            self._last = self._step(layer, self._last)
        self.layers.append(layer)
        self._renew()

    def _step(self, layer, tensor):
        outputs = flatten(layer(tensor))
        if len(outputs) != 1:
            raise InvalidArgument(f'{self.name}: layer "{layer.name}" gives {len(outputs)} outputs, expected 1')
        return outputs[0]

    def pop(self, rebuild=True):
        """Takes the last layer off and gives it."""
        layer = self.layers.pop()
        if self._entry is not None:
            self._last = self._entry
            for kept in self.layers:
                self._last = self._step(kept, self._last)
        self._renew()
        return layer

    def _renew(self):
        for key in _MADE:
            self.__dict__.pop(key, None)
        self._forget()

    def build(self, input_shape=None):
        """Takes the shape of the input, with the batch axis."""
        if self._entry is None and input_shape is not None:
            self._begin(Input(batch_shape=input_shape))

    def _begin(self, entry):
        last = entry
        for layer in self.layers:
            last = self._step(layer, last)
        self._entry, self._last = entry, last
        self._renew()

    def _build_for(self, x):
        """Without an input shape it takes that of the data."""
        if self._entry is None:
            if isinstance(x, (list, tuple)) and len(x) == 1 and hasattr(x[0], "shape"):
                x = x[0]
            if not (hasattr(x, "__array__") or isinstance(x, (list, tuple)) or is_tensor(x)):
                raise InvalidArgument(
                    f"{self.name}: expected an Input as the first layer where batches come one by one"
                )
            x = x if is_tensor(x) else np.asarray(x)
            kind = "tensor" if is_tensor(x) else x.dtype.kind
            dtype = x.dtype if kind == "tensor" else {"U": "string", "S": "string", "O": "string"}.get(kind, "float32")
            shape = (None, *x.shape[1:])
            if kind in "iub" and self._takes(shape, "int64" if x.dtype.name == "int64" else "int32"):
                dtype = "int64" if x.dtype.name == "int64" else "int32"
            self._begin(Input(batch_shape=shape, dtype=dtype))

    def _takes(self, shape, dtype):
        """Whether the first layer takes an input of a type."""
        first = self.layers[0]
        if isinstance(first, Model):
            return first.inputs[0].dtype == dtype
        graph = core.Graph(state.context())
        config, models = first._parts()
        try:
            graph.call(graph.layer(first._class_name, None, config, models), [graph.input("x", dtype, shape)])
        except Error:
            return False
        return True

    def __getattr__(self, key):
        if key in _MADE:
            if self._last is None or not self.layers:
                what = "a layer" if not self.layers else "an Input as the first layer, build(input_shape) or data"
                raise InvalidArgument(f"{self.name}: expected {what} first")
            layers = self.layers
            self._set(self._entry, self._last)
            self.layers = layers
            return self.__dict__[key]
        return super().__getattr__(key)

    def __call__(self, inputs, training=None, mask=None):
        self._build_for(inputs)
        return super().__call__(inputs, training, mask)

    def _named(self, config):
        """Keras's config of a Sequential model."""
        layers = [
            {k: v for k, v in item.items() if k not in ("name", "inbound_nodes")} for item in config["config"]["layers"]
        ]
        config.update(class_name="Sequential", module="keras", registered_name=None)
        config["build_config"] = {"input_shape": list(self.inputs[0].shape)}
        config["config"] = {"name": self.name, "trainable": self._trainable, "dtype": "float32", "layers": layers}
        config["config"]["build_input_shape"] = list(self.inputs[0].shape)
        return config

    def _all_layers(self):
        if self._entry is None:
            return [layer._as_layer() if isinstance(layer, Model) else layer for layer in self.layers]
        return super()._all_layers()

    @property
    def built(self):
        """Whether it has an input shape."""
        return self._entry is not None

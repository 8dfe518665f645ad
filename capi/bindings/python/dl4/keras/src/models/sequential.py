"""Sequential models."""

import inspect

from ..backend import call_context
from ..backend.eager_tensor import is_array
from ..backend.lazy import np
from ..export import keras_export
from ..layers.input_layer import InputLayer
from ..layers.lambda_layer import Lambda
from ..layers.layer import Layer
from ..registry import register_model
from ..saving.object_registration import custom_object_scope
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..symbolic.function import Function
from ..symbolic.tensor import Input, is_tensor
from ..tree import flatten, map_nest
from ..utils.naming import unique_name
from .model import Model


_OF_IMAGES = "Resizing", "CenterCrop"


def _need_one_argument(layer):
    """Of a custom layer: its call() needs the input and no more."""
    if layer._class_name is not None or isinstance(layer, Model):
        return
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in inspect.signature(layer.call).parameters.values() if p.kind in kinds and p.default is p.empty]
    if len(needed) > 1:
        raise ValueError(
            "Layers added to a Sequential model can only have a single required positional argument, the input "
            f"tensor. Layer {type(layer).__name__} has multiple required positional arguments: {needed}"
        )


@keras_export("models")
class Sequential(Model):
    """Layers, one after the other."""

    _summary_needs_build = False

    def __init__(self, layers=None, trainable=True, name=None):
        super().__init__(name=name or unique_name("sequential"), trainable=trainable)
        self._list = []
        if layers is not None:
            if not isinstance(layers, (list, tuple)):
                layers = [layers]
            for layer in layers:
                self.add(layer, rebuild=False)
            self._rebuild()

    def _is_given_one_image(self, x):
        """Without a batch, which layers of images take alone."""
        return (
            not self.built
            and is_array(x)
            and x.ndim == 3
            and not self._has_custom_call()
            and any(getattr(v, "_changes_images", v._class_name in _OF_IMAGES) for v in self._list)
        )

    def add(self, layer, rebuild=True):
        """Adds a layer behind the last one."""
        if is_tensor(layer):
            layer = InputLayer(input_tensor=layer)
        if callable(layer) and not isinstance(layer, (Layer, type)):
            layer = Lambda(layer)
        if not isinstance(layer, (Layer, InputLayer)):
            raise ValueError(
                f"Only instances of `keras.Layer` can be added to a Sequential model. Received: {layer} (of "
                f"type {type(layer)})"
            )
        if any(layer.name == other.name and layer is not other for other in self._list):
            raise ValueError(
                f"All layers added to a Sequential model should have unique names. Name '{layer.name}' is "
                "already the name of a layer in this model. Update the `name` argument to pass a unique "
                "name."
            )
        if isinstance(layer, InputLayer) and self._list:
            raise ValueError(
                f"Sequential model '{self.name}' has already been configured to use input shape "
                f"{self._list[0].output.shape if hasattr(self._list[0], 'output') else ''}. You cannot add a "
                f"different Input layer to it."
            )
        first = getattr(layer, "_batch_input_shape", None)
        if first is not None and not self._list:
            dtype = "int32" if layer._class_name == "Embedding" else "float32"
            self._list.append(InputLayer(batch_shape=first, dtype=dtype))
        self._list.append(layer)
        if rebuild:
            self._rebuild()

    def pop(self, rebuild=True):
        """Takes the last layer away and returns it."""
        layer = self._list.pop()
        if rebuild:
            self._rebuild()
        else:
            self.built, self._functional = False, None
        return layer

    def _rebuild(self):
        before = self.__dict__.get("_functional")
        self._functional, self.built = None, False
        self.__dict__.pop("_pending", None)
        first = self._list[0] if self._list else None
        if isinstance(first, InputLayer):
            self._trace_when_asked(first.tensor)
        elif isinstance(first, Model) and first._functional is not None and len(first.inputs) == 1:
            self._trace_when_asked(Input(batch_shape=first.inputs[0].shape, dtype=first.inputs[0].dtype))
        elif before is not None and self._list:  # which data built
            self._trace_when_asked(before.inputs[0])

    def _trace_when_asked(self, inputs):
        if not self._has_custom_call():
            return self._trace(inputs)
        self._begin(inputs, None)

    def _follows_sizes(self):
        return super()._follows_sizes() or not isinstance(self._list[0], (InputLayer, Model))

    def _replaced(self):
        self._rebuild()

    def build(self, input_shape=None):
        first = self._list[0] if self._list else None
        if isinstance(first, InputLayer) and input_shape is not None:
            if tuple(input_shape) != tuple(first.batch_shape):
                raise ValueError(
                    f"Sequential model '{self.name}' has already been configured to use input shape "
                    f"{first.batch_shape}. You cannot build it with input_shape {input_shape}"
                )
        if self._functional is None and input_shape is not None and self._list:
            kind = getattr(self._list[0], "_class_name", "")
            dtype = "int32" if kind == "Embedding" else getattr(self._list[0], "_input_dtype", "float32")
            self._trace(Input(batch_shape=tuple(input_shape), dtype=dtype))

    def _build_from_data(self, x, free=1):
        """As Keras, from numbers of any type for a layer of float32."""
        kind = getattr(self._list[0], "_class_name", None) if self._list else None
        if self._functional is None and kind not in (None, "Embedding") and is_array(x) and x.dtype.kind in "iub":
            x = np.asarray(x, "float32")
        return super()._build_from_data(x, free)

    def _trace(self, inputs):
        if not self._list:
            raise ValueError(f"Sequential model {self.name} cannot be built because it has no layers.")
        if self._has_custom_call():
            return super()._trace(inputs)
        try:
            outputs = inputs
            for layer in self._list:
                if not isinstance(layer, InputLayer):
                    _need_one_argument(layer)
                    outputs = layer(outputs)
        except NotImplementedError as e:
            if "call()" in str(e):
                return
            raise
        if outputs is inputs:
            return
        self._set_function(Function(inputs, outputs))

    def call(self, inputs, training=None, mask=None):
        """The layers, one after the other."""
        for layer in self._list:
            if not isinstance(layer, InputLayer):
                inputs = layer(inputs) if training is None else layer(inputs, training=training)
        return inputs

    def __call__(self, *args, **kwargs):
        on_arrays = call_context.owner() is None and not any(is_tensor(leaf) for leaf in flatten([args, kwargs]))
        if on_arrays and len(args) == 1 and self._is_given_one_image(args[0]):
            return self._one_by_one(args[0], kwargs.get("training"))
        if self._functional is None and on_arrays and len(args) == 1 and any(one._is_custom() for one in self.layers):
            try:
                self._build_from_data(args[0])
            except NotImplementedError:  # as Keras: they can't be called on symbolic tensors
                return self._one_by_one(args[0], kwargs.get("training"))
        return super().__call__(*args, **kwargs)

    def _one_by_one(self, x, training):
        with call_context.running(None, training):
            for layer in self.layers:
                x = layer(x)
        return x

    def _inner_layers(self):
        return [layer for layer in self.__dict__.get("_list", ()) if isinstance(layer, Layer)]

    @property
    def input(self):
        """Of its first call on symbolic tensors, as in Keras; `inputs` are the model's own."""
        return Layer.input.fget(self)

    @property
    def output(self):
        """The symbolic output."""
        return Layer.output.fget(self)

    @property
    def inputs(self):
        """The symbolic inputs, as a flat list."""
        return self._built_part("inputs")

    @property
    def outputs(self):
        """The symbolic outputs, as a flat list."""
        return self._built_part("outputs")

    @property
    def input_shape(self):
        """The shape of the input, None where it is free."""
        return self._built_part("nest_in").shape

    @property
    def output_shape(self):
        """The shape of the output, None where it is free."""
        return map_nest(lambda t: t.shape, self._built_part("nest_out"))

    def _built_part(self, name):
        if self._functional is None:
            raise AttributeError(f"Sequential model '{self.name}' has no defined inputs or outputs yet.")
        return getattr(self._functional, name)

    @property
    def layers(self):
        """The layers, without the Input."""
        return [layer for layer in self._list if not isinstance(layer, InputLayer)]

    @layers.setter
    def layers(self, _):
        raise AttributeError(
            "`Sequential.layers` attribute is reserved and should not be used. Use `add()` and `pop()` to change the "
            "layers in this model."
        )

    def get_config(self):
        config = {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": "float32",
            "layers": [serialize_keras_object(layer) for layer in self._list],
        }
        for layer, item in zip(self._list, config["layers"] if self._functional is None else ()):
            if layer.built and layer.get_build_config() is not None:  # nothing else says what it was built for
                item["build_config"] = serialize_keras_object(layer.get_build_config())
        if self._functional is not None:
            config["build_input_shape"] = self._functional.inputs[0].shape
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """A model of what get_config() gave; `custom_objects` is a dict from name to class."""
        if not {"name", "layers"} <= config.keys():
            raise ValueError(
                "A Sequential model configuration must be a dictionary containing the 'name' and 'layers' keys. "
                f"Received: {config}"
            )
        with custom_object_scope(custom_objects):
            model = cls(name=config["name"], trainable=config.get("trainable", True))
            for layer in config["layers"]:
                model.add(deserialize_keras_object(layer), rebuild=False)
            model._rebuild()
            if model._functional is None and config.get("build_input_shape"):
                model.build(tuple(config["build_input_shape"]))
        return model


register_model(Sequential)

"""How an architecture becomes a model: its function's arguments, its input, its top, its weights."""

import inspect
import os
import types

from ... import layers
from ...models import Model
from ..backend import config
from ..symbolic.tensor import is_tensor
from ..utils.file_utils import get_file
from .imagenet_utils import obtain_input_shape, validate_activation

STORE = "https://storage.googleapis.com/tensorflow/keras-applications/"
STANDARD = "include_top weights input_tensor input_shape pooling classes classifier_activation name"
DEFAULTS = {
    "include_top": True,
    "include_preprocessing": True,
    "weights": "imagenet",
    "input_tensor": None,
    "input_shape": None,
    "pooling": None,
    "classes": 1000,
    "classifier_activation": "softmax",
    "alpha": 1.0,
}


def architecture(name, model_name, build, *given, arguments=STANDARD, **defaults):
    """The public function of an architecture: it calls build(asked, *given), where `asked` holds its arguments."""
    known = {**DEFAULTS, "name": model_name, **defaults}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(a, kind, default=known[a]) for a in arguments.split()])

    def function(*args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{name}() {e}") from None
        bound.apply_defaults()
        return build(types.SimpleNamespace(**bound.arguments), *given)

    function.__name__ = function.__qualname__ = name
    function.__signature__, function.__module__ = signature, "dl4.keras.applications"
    function.__doc__ = f"The architecture {name}, as `keras.applications.{name}` makes it."
    return function


def check_weights(asked):
    if asked.weights not in ("imagenet", None) and not os.path.exists(asked.weights):
        raise ValueError(
            "The `weights` argument should be either `None` (random initialization), 'imagenet' (pre-training on "
            f"ImageNet), or the path to the weights file to be loaded.  Received: weights={asked.weights}"
        )
    if asked.weights == "imagenet" and asked.include_top and asked.classes != 1000:
        raise ValueError(
            "If using `weights='imagenet'` with `include_top=True`, `classes` should be 1000.  "
            f"Received classes={asked.classes}"
        )


def image_input(asked, default_size, min_size=32):
    """The tensor of images; `input_shape` becomes what it is."""
    check_weights(asked)
    asked.input_shape = obtain_input_shape(
        asked.input_shape, default_size, min_size, config.image_data_format(), asked.include_top, asked.weights
    )
    return tensor_of(asked)


def tensor_of(asked):
    if asked.input_tensor is None:
        return layers.Input(shape=asked.input_shape)
    if not is_tensor(asked.input_tensor):
        raise ValueError(f"`input_tensor`: expected a Keras tensor, got {type(asked.input_tensor).__name__}")
    return asked.input_tensor


def named(name):
    return {"name": name} if name else {}


def dense_top(asked, x, pool="avg_pool", **dense):
    x = layers.GlobalAveragePooling2D(**named(pool))(x)
    return classifier(asked, x, **dense)


def classifier(asked, x, **dense):
    validate_activation(asked.classifier_activation, asked.weights)
    return layers.Dense(asked.classes, activation=asked.classifier_activation, name="predictions", **dense)(x)


def pooled(asked, x, average="avg_pool", largest="max_pool"):
    if asked.pooling not in (None, "avg", "max"):
        raise ValueError(f"`pooling`: expected None, 'avg' or 'max', got {asked.pooling!r}")
    if asked.pooling == "avg":
        return layers.GlobalAveragePooling2D(**named(average))(x)
    return layers.GlobalMaxPooling2D(**named(largest))(x) if asked.pooling == "max" else x


def complete(asked, image, x, file):
    """The model from its input to `x`, with its weights. file(top): name, address and hash of ImageNet's."""
    inputs = image
    if asked.input_tensor is not None:
        calls = asked.input_tensor.call.needed()
        inputs = [t for c in calls if c.layer is None and c.value is None and c.host is None for t in c.outputs]
    model = Model(inputs, x, name=asked.name)
    if asked.weights == "imagenet":
        name, address, file_hash = file(asked.include_top)
        model.load_weights(get_file(name, address, cache_subdir="models", file_hash=file_hash))
    elif asked.weights is not None:
        model.load_weights(asked.weights)
    return model


def old_file(folder, name, with_top, without_top):
    """Where the older models' weights are."""

    def file(top):
        full = f"{name}_weights_tf_dim_ordering_tf_kernels{'' if top else '_notop'}.h5"
        return full, f"{STORE}{folder}/{full}", with_top if top else without_top

    return file

"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

from ._tensors import KerasTensor as KerasTensor

class InputLayer:
    """An input among the layers of a model, or as the first entry of a Sequential one."""

    tensor: _Any
    output: _Any
    name: _Any
    dtype: _Any
    batch_shape: _Any
    trainable: _Any
    built: _Any
    weights: _Any
    is_operation: _Any
    def __init__(
        self,
        shape: _Any = None,
        batch_size: _Any = None,
        dtype: _Any = None,
        sparse: _Any = None,
        ragged: _Any = None,
        batch_shape: _Any = None,
        input_tensor: _Any = None,
        optional: _Any = False,
        name: _Any = None,
        input_shape: _Any = None,
        **_: _Any,
    ) -> None: ...
    trainable_weights: _Any
    non_trainable_weights: _Any
    variables: _Any
    def get_weights(self) -> list[_Any]: ...
    def count_params(self) -> int: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any) -> _Any: ...

class InputSpec:
    """What a layer expects of an input, as Keras programs state it."""

    dtype: _Any
    shape: _Any
    ndim: _Any
    max_ndim: _Any
    min_ndim: _Any
    axes: _Any
    def __init__(
        self,
        dtype: _Any = None,
        shape: _Any = None,
        ndim: _Any = None,
        max_ndim: _Any = None,
        min_ndim: _Any = None,
        axes: _Any = None,
        optional: _Any = False,
    ) -> None: ...
    def check(self, shape: _Any, name: _Any) -> _Any: ...

class Layer:
    """A layer: called on symbolic tensors it gives symbolic tensors, called on arrays it computes."""

    graph: _Any
    name: _Any
    built: _Any
    category: _Any
    class_name: _Any
    def __init__(
        self,
        *args: _Any,
        name: _Any = None,
        trainable: _Any = True,
        dtype: _Any = None,
        activity_regularizer: _Any = None,
        **kwargs: _Any,
    ) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def add_weight(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_variable(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_loss(self, loss: _Any) -> _Any: ...
    call: _Any
    compute_mask: _Any
    compute_output_spec: _Any
    compute_output_shape: _Any
    @property
    def losses(self) -> _Any: ...
    is_operation: _Any
    supports_masking: _Any
    input_spec: _Any
    def placed(self, graph: _Any) -> _Any: ...
    def live_in(self, core_model: _Any) -> _Any: ...
    def home(self) -> _Any: ...
    def weight_facts(self) -> _Any: ...
    def forget_facts(self) -> _Any: ...
    def __call__(self, *args: _Any, **kwargs: _Any) -> _Any: ...
    build: _Any
    @property
    def input(self) -> _Any: ...
    @property
    def output(self) -> _Any: ...
    @property
    def trainable(self) -> _Any: ...
    @trainable.setter
    def trainable(self, value: _Any) -> None: ...
    @property
    def weights(self) -> _Any: ...
    @property
    def variables(self) -> _Any: ...
    @property
    def trainable_weights(self) -> _Any: ...
    @property
    def non_trainable_weights(self) -> _Any: ...
    @property
    def trainable_variables(self) -> _Any: ...
    @property
    def non_trainable_variables(self) -> _Any: ...
    metrics_variables: _Any
    metrics: _Any
    def get_weights(self) -> list[_Any]: ...
    def set_weights(self, weights: _Any) -> None: ...
    def count_params(self) -> int: ...
    def __getattr__(self, name: str) -> _Any: ...

class Lambda(Layer):
    """A function as a layer, traced: it is written in operators, layers and keras.ops."""

    function: _Any
    arguments: _Any
    mask: _Any
    category: _Any
    class_name: _Any
    def __init__(
        self, function: _Any, output_shape: _Any = None, mask: _Any = None, arguments: _Any = None, **kwargs: _Any
    ) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def add_weight(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_variable(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_loss(self, loss: _Any) -> _Any: ...
    call: _Any
    compute_mask: _Any
    compute_output_spec: _Any
    compute_output_shape: _Any
    @property
    def losses(self) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class Wrapper(Layer):
    """A layer of one's own around another one."""

    layer: _Any
    category: _Any
    class_name: _Any
    def __init__(self, layer: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, custom_objects: _Any = None) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def add_weight(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_variable(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_loss(self, loss: _Any) -> _Any: ...
    call: _Any
    compute_mask: _Any
    compute_output_spec: _Any
    compute_output_shape: _Any
    @property
    def losses(self) -> _Any: ...
    build: _Any
    def __getattr__(self, name: str) -> _Any: ...

class Dense(Layer):
    """The product of the last axis with a kernel, plus a bias, through an activation: activation(x kernel + bias).."""

    def __init__(
        self,
        units: int,
        activation: _Any = "linear",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        lora_rank: _Any = None,
        lora_alpha: _Any = None,
        quantization_config: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    units: _Any
    activation: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class Activation(Layer):
    """Applies an activation function.."""

    def __init__(
        self,
        activation: _Any,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    activation: _Any

class ReLU(Layer):
    """max_value where x >= max_value, x from the threshold up, else negative_slope * (x - threshold).."""

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    max_value: _Any
    negative_slope: _Any
    threshold: _Any

class LeakyReLU(Layer):
    """x where x > 0, else negative_slope * x.."""

    def __init__(
        self,
        negative_slope: float = 0.3,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    negative_slope: _Any

class ELU(Layer):
    """x where x > 0, else alpha * (exp(x) - 1).."""

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    alpha: _Any

class PReLU(Layer):
    """x where x > 0, else alpha * x, with a learned alpha for every feature.."""

    def __init__(
        self,
        alpha_initializer: _Any = "Zeros",
        alpha_regularizer: _Any = None,
        alpha_constraint: _Any = None,
        shared_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    alpha_initializer: _Any
    alpha_regularizer: _Any
    alpha_constraint: _Any
    shared_axes: _Any

class Softmax(Layer):
    """exp(x) over its sum along an axis, or along several axes together.."""

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any

class Flatten(Layer):
    """Joins all axes but the batch into one, in row-major order, the channels last.."""

    def __init__(
        self,
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    data_format: _Any

class Reshape(Layer):
    """The same elements with other axes behind the batch.."""

    def __init__(
        self,
        target_shape: int | Sequence[int],
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    target_shape: _Any

class Permute(Layer):
    """The axes behind the batch in another order.."""

    def __init__(
        self,
        dims: int | Sequence[int],
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    dims: _Any

class Transpose(Layer):
    """The axes in another order, the batch included: keras.ops.transpose.."""

    def __init__(
        self,
        perm: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    perm: _Any

class ZeroPadding1D(Layer):
    """Zeros before and after a sequence.."""

    def __init__(
        self,
        padding: int | Sequence[int] = 1,
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    padding: _Any
    data_format: _Any

class ZeroPadding2D(Layer):
    """Zeros around an image.."""

    def __init__(
        self,
        padding: int | Sequence[int] = ...,
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    padding: _Any
    data_format: _Any

class ZeroPadding3D(Layer):
    """Zeros around a volume.."""

    def __init__(
        self,
        padding: int | Sequence[int] = ...,
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    padding: _Any
    data_format: _Any

class Cropping1D(Layer):
    """A sequence without its first and last places.."""

    def __init__(
        self,
        cropping: int | Sequence[int] = 1,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    cropping: _Any

class Cropping2D(Layer):
    """An image without its margins.."""

    def __init__(
        self,
        cropping: int | Sequence[int] = ...,
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    cropping: _Any
    data_format: _Any

class Cropping3D(Layer):
    """A volume without its margins.."""

    def __init__(
        self,
        cropping: int | Sequence[int] = ...,
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    cropping: _Any
    data_format: _Any

class UpSampling1D(Layer):
    """Each step of a sequence several times.."""

    def __init__(
        self,
        size: int = 2,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    size: _Any

class UpSampling2D(Layer):
    """Larger images: rows and columns repeated, or blended between neighbours.."""

    def __init__(
        self,
        size: int | Sequence[int] = 2,
        data_format: str = "channels_last",
        interpolation: str = "nearest",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    size: _Any
    data_format: _Any
    interpolation: _Any

class UpSampling3D(Layer):
    """Larger volumes: planes, rows and columns repeated.."""

    def __init__(
        self,
        size: int | Sequence[int] = 2,
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    size: _Any
    data_format: _Any

class RepeatVector(Layer):
    """A vector as every step of a sequence.."""

    def __init__(
        self, n: int, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    n: _Any

class Identity(Layer):
    """The input as it is.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Rescaling(Layer):
    """x * scale + offset, in float32: images of bytes become numbers of a small range.."""

    def __init__(
        self,
        scale: float | Sequence[float],
        offset: float | Sequence[float] = 0.0,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    scale: _Any
    offset: _Any

class Dropout(Layer):
    """In training, sets values to 0 with probability rate and scales the others by 1 / (1 - rate).."""

    def __init__(
        self,
        rate: float,
        noise_shape: int | Sequence[int] | None = None,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    rate: _Any
    noise_shape: _Any
    seed: _Any

class SpatialDropout1D(Layer):
    """In training, sets whole channels of an item to 0 with probability rate, at all steps, and scales the others by 1 / (1 - rate).."""

    def __init__(
        self,
        rate: float,
        seed: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        *,
        trainable: bool = None,
        **kwargs: _Any,
    ) -> None: ...
    rate: _Any
    seed: _Any

class SpatialDropout2D(Layer):
    """In training, sets whole channels of an item to 0 with probability rate, in all of the image, and scales the others by 1 / (1 - rate).."""

    def __init__(
        self,
        rate: float,
        data_format: str = "channels_last",
        seed: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        *,
        trainable: bool = None,
        **kwargs: _Any,
    ) -> None: ...
    rate: _Any
    data_format: _Any
    seed: _Any

class SpatialDropout3D(Layer):
    """In training, sets whole channels of an item to 0 with probability rate, in all of the volume, and scales the others by 1 / (1 - rate).."""

    def __init__(
        self,
        rate: float,
        data_format: str = "channels_last",
        seed: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        *,
        trainable: bool = None,
        **kwargs: _Any,
    ) -> None: ...
    rate: _Any
    data_format: _Any
    seed: _Any

class GaussianNoise(Layer):
    """In training, adds normal noise of mean 0.."""

    def __init__(
        self,
        stddev: float,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    stddev: _Any
    seed: _Any

class GaussianDropout(Layer):
    """In training, multiplies by normal noise of mean 1 and standard deviation sqrt(rate / (1 - rate)).."""

    def __init__(
        self,
        rate: float,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    rate: _Any
    seed: _Any

class AlphaDropout(Layer):
    """In training, sets values to SELU's negative limit with probability rate, then scales and shifts all of them so that a mean of 0 and a variance of 1 stay.."""

    def __init__(
        self,
        rate: float,
        noise_shape: int | Sequence[int] | None = None,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    rate: _Any
    noise_shape: _Any
    seed: _Any

class ActivityRegularization(Layer):
    """Passes its input on and adds l1 * sum(|x|) + l2 * sum(x^2), divided by the batch size, to the loss.."""

    def __init__(
        self,
        l1: float = 0.0,
        l2: float = 0.0,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    l1: _Any
    l2: _Any

class BatchNormalization(Layer):
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta for each index of an axis. In training with the mean and variance of the batch, by which the moving ones are moved; else, and where the layer is frozen, with those.."""

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: _Any = "Zeros",
        gamma_initializer: _Any = "Ones",
        moving_mean_initializer: _Any = "Zeros",
        moving_variance_initializer: _Any = "Ones",
        beta_regularizer: _Any = None,
        gamma_regularizer: _Any = None,
        beta_constraint: _Any = None,
        gamma_constraint: _Any = None,
        renorm: bool = False,
        renorm_clipping: _Any = None,
        renorm_momentum: float = 0.99,
        synchronized: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    momentum: _Any
    epsilon: _Any
    center: _Any
    scale: _Any
    beta_initializer: _Any
    gamma_initializer: _Any
    beta_regularizer: _Any
    gamma_regularizer: _Any
    beta_constraint: _Any
    gamma_constraint: _Any
    moving_mean_initializer: _Any
    moving_variance_initializer: _Any
    synchronized: _Any
    renorm: _Any
    renorm_clipping: _Any
    renorm_momentum: _Any

class LayerNormalization(Layer):
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta, the mean and variance over an axis, or over several axes together, of each item.."""

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: _Any = "Zeros",
        gamma_initializer: _Any = "Ones",
        beta_regularizer: _Any = None,
        gamma_regularizer: _Any = None,
        beta_constraint: _Any = None,
        gamma_constraint: _Any = None,
        *,
        rms_scaling: bool = False,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    epsilon: _Any
    rms_scaling: _Any
    center: _Any
    scale: _Any
    beta_initializer: _Any
    gamma_initializer: _Any
    beta_regularizer: _Any
    gamma_regularizer: _Any
    beta_constraint: _Any
    gamma_constraint: _Any

class RMSNormalization(Layer):
    """scale * x / sqrt(mean of squares + epsilon), the mean over an axis, or over several axes together, of each item.."""

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-06,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    epsilon: _Any

class GroupNormalization(Layer):
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta, the mean and variance over a group of channels and all places of each item; gamma and beta for each channel.."""

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: _Any = "Zeros",
        gamma_initializer: _Any = "Ones",
        beta_regularizer: _Any = None,
        gamma_regularizer: _Any = None,
        beta_constraint: _Any = None,
        gamma_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    groups: _Any
    axis: _Any
    epsilon: _Any
    center: _Any
    scale: _Any
    beta_initializer: _Any
    gamma_initializer: _Any
    beta_regularizer: _Any
    gamma_regularizer: _Any
    beta_constraint: _Any
    gamma_constraint: _Any

class Normalization(Layer):
    """(x - mean) / max(sqrt(variance), 1e-7), with a mean and a variance for each index of the axes: given as attributes, or as weights that are set before anything runs, as Keras's adapt() does.."""

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        mean: float | Sequence[float] | None = None,
        variance: float | Sequence[float] | None = None,
        invert: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    mean: _Any
    variance: _Any
    invert: _Any

class UnitNormalization(Layer):
    """x over its norm along an axis, or along several axes together: x / max(norm, 1e-12).."""

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any

class LocalResponseNormalization(Layer):
    """x / (bias + alpha sum(x^2))^beta, summed over the features up to depth_radius away, as in AlexNet and in TensorFlow's local_response_normalization. Not a layer of Keras.."""

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    depth_radius: _Any
    bias: _Any
    alpha: _Any
    beta: _Any

class Masking(Layer):
    """Masks the steps whose features all equal mask_value, and sets them to 0.."""

    def __init__(
        self,
        mask_value: float = 0.0,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    mask_value: _Any

class GetMask(Layer):
    """The mask that the input carries, as a value; an input without one is refused.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class SetMask(Layer):
    """The first input with the second as its mask, in place of the one it carries.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Embedding(Layer):
    """Rows of a learned table by their number. An id outside [0, input_dim) is an error of the run.."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: _Any = "RandomUniform",
        embeddings_regularizer: _Any = None,
        embeddings_constraint: _Any = None,
        mask_zero: bool = False,
        weights: _Any = None,
        lora_rank: _Any = None,
        lora_alpha: _Any = None,
        quantization_config: _Any = None,
        *,
        activity_regularizer: _Any = None,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    input_dim: _Any
    output_dim: _Any
    embeddings_initializer: _Any
    embeddings_regularizer: _Any
    activity_regularizer: _Any
    embeddings_constraint: _Any
    mask_zero: _Any

class ReversibleEmbedding(Layer):
    """An Embedding that also leads back: called with reverse, it multiplies vectors by the table, or by a weight of its own, to a score of each id.."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        tie_weights: bool = True,
        embeddings_initializer: _Any = "RandomUniform",
        embeddings_regularizer: _Any = None,
        embeddings_constraint: _Any = None,
        mask_zero: bool = False,
        reverse_dtype: str | None = None,
        logit_soft_cap: float | None = None,
        *,
        activity_regularizer: _Any = None,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    input_dim: _Any
    output_dim: _Any
    embeddings_initializer: _Any
    embeddings_regularizer: _Any
    activity_regularizer: _Any
    embeddings_constraint: _Any
    mask_zero: _Any
    tie_weights: _Any
    reverse_dtype: _Any
    logit_soft_cap: _Any

class EinsumDense(Layer):
    """A Dense layer over any axes: the product of x and a kernel that an equation tells ("abc,cd->abd"), plus a bias, through an activation.."""

    def __init__(
        self,
        equation: str,
        output_shape: int | Sequence[int],
        activation: _Any = "linear",
        bias_axes: str | None = None,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        lora_rank: _Any = None,
        lora_alpha: _Any = None,
        gptq_unpacked_column_size: _Any = None,
        quantization_config: _Any = None,
        *,
        activity_regularizer: _Any = None,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    equation: _Any
    output_shape: _Any
    activation: _Any
    bias_axes: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class Conv1D(Layer):
    """Convolution along time (cross-correlation: the kernel is not flipped).."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        groups: int = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    groups: _Any
    activation: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class Conv2D(Layer):
    """Convolution over images (cross-correlation: the kernel is not flipped).."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        groups: int = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    groups: _Any
    activation: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class Conv3D(Layer):
    """Convolution over volumes (cross-correlation: the kernel is not flipped).."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        groups: int = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    groups: _Any
    activation: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class Conv1DTranspose(Layer):
    """The gradient of a Conv1D by its input, as a layer: it makes sequences longer.."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        output_padding: int | Sequence[int] | None = None,
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    output_padding: _Any
    activation: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class Conv2DTranspose(Layer):
    """The gradient of a Conv2D by its input, as a layer: it makes images larger.."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        output_padding: int | Sequence[int] | None = None,
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    output_padding: _Any
    activation: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class Conv3DTranspose(Layer):
    """The gradient of a Conv3D by its input, as a layer: it makes volumes larger.."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        output_padding: int | Sequence[int] | None = None,
        dilation_rate: int | Sequence[int] = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    output_padding: _Any
    activation: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class DepthwiseConv1D(Layer):
    """Convolution along time of each channel by itself.."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        depthwise_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        depthwise_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        depthwise_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    depth_multiplier: _Any
    activation: _Any
    use_bias: _Any
    bias_initializer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    bias_constraint: _Any
    depthwise_initializer: _Any
    depthwise_regularizer: _Any
    depthwise_constraint: _Any

class DepthwiseConv2D(Layer):
    """Convolution over images of each channel by itself.."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        depthwise_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        depthwise_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        depthwise_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    depth_multiplier: _Any
    activation: _Any
    use_bias: _Any
    bias_initializer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    bias_constraint: _Any
    depthwise_initializer: _Any
    depthwise_regularizer: _Any
    depthwise_constraint: _Any

class SeparableConv1D(Layer):
    """Convolution along time of each channel by itself, then a product that mixes them.."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        depth_multiplier: int = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        depthwise_initializer: _Any = "GlorotUniform",
        pointwise_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        depthwise_regularizer: _Any = None,
        pointwise_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        depthwise_constraint: _Any = None,
        pointwise_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    depth_multiplier: _Any
    activation: _Any
    use_bias: _Any
    bias_initializer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    bias_constraint: _Any
    depthwise_initializer: _Any
    depthwise_regularizer: _Any
    depthwise_constraint: _Any
    pointwise_initializer: _Any
    pointwise_regularizer: _Any
    pointwise_constraint: _Any

class SeparableConv2D(Layer):
    """Convolution over images of each channel by itself, then a product that mixes them.."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        depth_multiplier: int = 1,
        activation: _Any = "linear",
        use_bias: bool = True,
        depthwise_initializer: _Any = "GlorotUniform",
        pointwise_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        depthwise_regularizer: _Any = None,
        pointwise_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        depthwise_constraint: _Any = None,
        pointwise_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    depth_multiplier: _Any
    activation: _Any
    use_bias: _Any
    bias_initializer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    bias_constraint: _Any
    depthwise_initializer: _Any
    depthwise_regularizer: _Any
    depthwise_constraint: _Any
    pointwise_initializer: _Any
    pointwise_regularizer: _Any
    pointwise_constraint: _Any

class STFTSpectrogram(Layer):
    """The spectrum of each frame of a sequence, channel by channel, by kernels of cosines and sines that may be trained.."""

    def __init__(
        self,
        mode: str = "log",
        frame_length: int = 256,
        frame_step: int | None = None,
        fft_length: int | None = None,
        window: str = "hann",
        periodic: bool = False,
        scaling: str = "density",
        padding: str = "valid",
        expand_dims: bool = False,
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    mode: _Any
    frame_length: _Any
    frame_step: _Any
    fft_length: _Any
    window: _Any
    periodic: _Any
    scaling: _Any
    padding: _Any
    expand_dims: _Any
    data_format: _Any

class MaxPooling1D(Layer):
    """The largest value of each window, channel by channel.."""

    def __init__(
        self,
        pool_size: int | Sequence[int] = 2,
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        *,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    pool_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any

class AveragePooling1D(Layer):
    """The mean of each window, channel by channel, over the places that lie inside.."""

    def __init__(
        self,
        pool_size: int | Sequence[int],
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        *,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    pool_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any

class AdaptiveMaxPooling1D(Layer):
    """The largest value of each part, channel by channel, of as many parts as asked for: from i * n / parts to (i + 1) * n / parts, outwards to whole places.."""

    def __init__(
        self,
        output_size: int | Sequence[int],
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    output_size: _Any
    data_format: _Any

class AdaptiveAveragePooling1D(Layer):
    """The mean of each part, channel by channel, of as many parts as asked for: from i * n / parts to (i + 1) * n / parts, outwards to whole places.."""

    def __init__(
        self,
        output_size: int | Sequence[int],
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    output_size: _Any
    data_format: _Any

class MaxPooling2D(Layer):
    """The largest value of each window, channel by channel.."""

    def __init__(
        self,
        pool_size: int | Sequence[int] = 2,
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        *,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    pool_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any

class AveragePooling2D(Layer):
    """The mean of each window, channel by channel, over the places that lie inside.."""

    def __init__(
        self,
        pool_size: int | Sequence[int],
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        *,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    pool_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any

class AdaptiveMaxPooling2D(Layer):
    """The largest value of each part, channel by channel, of as many parts as asked for: from i * n / parts to (i + 1) * n / parts, outwards to whole places.."""

    def __init__(
        self,
        output_size: int | Sequence[int],
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    output_size: _Any
    data_format: _Any

class AdaptiveAveragePooling2D(Layer):
    """The mean of each part, channel by channel, of as many parts as asked for: from i * n / parts to (i + 1) * n / parts, outwards to whole places.."""

    def __init__(
        self,
        output_size: int | Sequence[int],
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    output_size: _Any
    data_format: _Any

class MaxPooling3D(Layer):
    """The largest value of each window, channel by channel.."""

    def __init__(
        self,
        pool_size: int | Sequence[int] = 2,
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        *,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    pool_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any

class AveragePooling3D(Layer):
    """The mean of each window, channel by channel, over the places that lie inside.."""

    def __init__(
        self,
        pool_size: int | Sequence[int],
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        *,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    pool_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any

class AdaptiveMaxPooling3D(Layer):
    """The largest value of each part, channel by channel, of as many parts as asked for: from i * n / parts to (i + 1) * n / parts, outwards to whole places.."""

    def __init__(
        self,
        output_size: int | Sequence[int],
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    output_size: _Any
    data_format: _Any

class AdaptiveAveragePooling3D(Layer):
    """The mean of each part, channel by channel, of as many parts as asked for: from i * n / parts to (i + 1) * n / parts, outwards to whole places.."""

    def __init__(
        self,
        output_size: int | Sequence[int],
        data_format: str = "channels_last",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    output_size: _Any
    data_format: _Any

class GlobalAveragePooling1D(Layer):
    """The mean of each channel over time, over the valid steps where there is a mask. A sequence without any gives 0.."""

    def __init__(
        self,
        data_format: str = "channels_last",
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    data_format: _Any
    keepdims: _Any

class GlobalAveragePooling2D(Layer):
    """The mean of each channel over the image.."""

    def __init__(
        self,
        data_format: str = "channels_last",
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    data_format: _Any
    keepdims: _Any

class GlobalAveragePooling3D(Layer):
    """The mean of each channel over the volume.."""

    def __init__(
        self,
        data_format: str = "channels_last",
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    data_format: _Any
    keepdims: _Any

class GlobalMaxPooling1D(Layer):
    """The largest value of each channel over time.."""

    def __init__(
        self,
        data_format: str = "channels_last",
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    data_format: _Any
    keepdims: _Any

class GlobalMaxPooling2D(Layer):
    """The largest value of each channel over the image.."""

    def __init__(
        self,
        data_format: str = "channels_last",
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    data_format: _Any
    keepdims: _Any

class GlobalMaxPooling3D(Layer):
    """The largest value of each channel over the volume.."""

    def __init__(
        self,
        data_format: str = "channels_last",
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    data_format: _Any
    keepdims: _Any

class LSTM(Layer):
    """Long short-term memory over (batch, time, features). Gates in the order i, f, c, o; c = f * c' + i * activation(z_c), h = o * activation(c). At a masked step the states stay and the output repeats.."""

    def __init__(
        self,
        units: int,
        activation: _Any = "tanh",
        recurrent_activation: _Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        recurrent_initializer: _Any = "Orthogonal",
        bias_initializer: _Any = "Zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: _Any = None,
        recurrent_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        recurrent_constraint: _Any = None,
        bias_constraint: _Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        use_cudnn: _Any = None,
        *,
        zero_output_for_mask: bool = False,
        implementation: int = 2,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    units: _Any
    activation: _Any
    recurrent_activation: _Any
    recurrent_initializer: _Any
    recurrent_regularizer: _Any
    recurrent_constraint: _Any
    dropout: _Any
    recurrent_dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any
    unit_forget_bias: _Any
    return_sequences: _Any
    return_state: _Any
    go_backwards: _Any
    stateful: _Any
    unroll: _Any
    zero_output_for_mask: _Any
    implementation: _Any

class GRU(Layer):
    """Gated recurrent units over (batch, time, features). Gates in the order z, r, h; h = z * h' + (1 - z) * candidate. At a masked step the state stays and the output repeats.."""

    def __init__(
        self,
        units: int,
        activation: _Any = "tanh",
        recurrent_activation: _Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        recurrent_initializer: _Any = "Orthogonal",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        recurrent_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        recurrent_constraint: _Any = None,
        bias_constraint: _Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = True,
        use_cudnn: _Any = None,
        *,
        zero_output_for_mask: bool = False,
        implementation: int = 2,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    units: _Any
    activation: _Any
    recurrent_activation: _Any
    recurrent_initializer: _Any
    recurrent_regularizer: _Any
    recurrent_constraint: _Any
    dropout: _Any
    recurrent_dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any
    reset_after: _Any
    return_sequences: _Any
    return_state: _Any
    go_backwards: _Any
    stateful: _Any
    unroll: _Any
    zero_output_for_mask: _Any
    implementation: _Any

class SimpleRNN(Layer):
    """Recurrence over (batch, time, features): h = activation(x kernel + h' recurrent_kernel + bias). At a masked step the state stays and the output repeats. Its activity_regularizer, which Keras 3.15.1 loses, is a penalty.."""

    def __init__(
        self,
        units: int,
        activation: _Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        recurrent_initializer: _Any = "Orthogonal",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        recurrent_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        recurrent_constraint: _Any = None,
        bias_constraint: _Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        seed: int | None = None,
        *,
        zero_output_for_mask: bool = False,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    units: _Any
    activation: _Any
    recurrent_initializer: _Any
    recurrent_regularizer: _Any
    recurrent_constraint: _Any
    dropout: _Any
    recurrent_dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any
    return_sequences: _Any
    return_state: _Any
    go_backwards: _Any
    stateful: _Any
    unroll: _Any
    zero_output_for_mask: _Any

class RNN(Layer):
    """Runs a cell over the steps of (batch, time, ...). At a masked step the states stay and the output repeats.."""

    def __init__(
        self,
        cell: Layer,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    cell: _Any
    return_sequences: _Any
    return_state: _Any
    go_backwards: _Any
    stateful: _Any
    unroll: _Any
    zero_output_for_mask: _Any

class ConvLSTM1D(Layer):
    """An LSTM over (batch, time, rows, channels) whose products are convolutions.."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: _Any = "tanh",
        recurrent_activation: _Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        recurrent_initializer: _Any = "Orthogonal",
        bias_initializer: _Any = "Zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: _Any = None,
        recurrent_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        recurrent_constraint: _Any = None,
        bias_constraint: _Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        *,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    activation: _Any
    recurrent_activation: _Any
    recurrent_initializer: _Any
    unit_forget_bias: _Any
    recurrent_regularizer: _Any
    recurrent_constraint: _Any
    dropout: _Any
    recurrent_dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any
    return_sequences: _Any
    return_state: _Any
    go_backwards: _Any
    stateful: _Any
    unroll: _Any
    zero_output_for_mask: _Any

class ConvLSTM2D(Layer):
    """An LSTM over (batch, time, height, width, channels) whose products are convolutions.."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: _Any = "tanh",
        recurrent_activation: _Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        recurrent_initializer: _Any = "Orthogonal",
        bias_initializer: _Any = "Zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: _Any = None,
        recurrent_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        recurrent_constraint: _Any = None,
        bias_constraint: _Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        *,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filters: _Any
    kernel_size: _Any
    strides: _Any
    padding: _Any
    data_format: _Any
    dilation_rate: _Any
    activation: _Any
    recurrent_activation: _Any
    recurrent_initializer: _Any
    unit_forget_bias: _Any
    recurrent_regularizer: _Any
    recurrent_constraint: _Any
    dropout: _Any
    recurrent_dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any
    return_sequences: _Any
    return_state: _Any
    go_backwards: _Any
    stateful: _Any
    unroll: _Any
    zero_output_for_mask: _Any

class LSTMCell(Layer):
    """One step of an LSTM.."""

    def __init__(
        self,
        units: int,
        activation: _Any = "tanh",
        recurrent_activation: _Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        recurrent_initializer: _Any = "Orthogonal",
        bias_initializer: _Any = "Zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: _Any = None,
        recurrent_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        recurrent_constraint: _Any = None,
        bias_constraint: _Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    units: _Any
    activation: _Any
    recurrent_activation: _Any
    recurrent_initializer: _Any
    recurrent_regularizer: _Any
    recurrent_constraint: _Any
    dropout: _Any
    recurrent_dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any
    unit_forget_bias: _Any

class GRUCell(Layer):
    """One step of a GRU.."""

    def __init__(
        self,
        units: int,
        activation: _Any = "tanh",
        recurrent_activation: _Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        recurrent_initializer: _Any = "Orthogonal",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        recurrent_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        recurrent_constraint: _Any = None,
        bias_constraint: _Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        reset_after: bool = True,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    units: _Any
    activation: _Any
    recurrent_activation: _Any
    recurrent_initializer: _Any
    recurrent_regularizer: _Any
    recurrent_constraint: _Any
    dropout: _Any
    recurrent_dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any
    reset_after: _Any

class SimpleRNNCell(Layer):
    """One step of a SimpleRNN.."""

    def __init__(
        self,
        units: int,
        activation: _Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        recurrent_initializer: _Any = "Orthogonal",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        recurrent_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        recurrent_constraint: _Any = None,
        bias_constraint: _Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    units: _Any
    activation: _Any
    recurrent_initializer: _Any
    recurrent_regularizer: _Any
    recurrent_constraint: _Any
    dropout: _Any
    recurrent_dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class StackedRNNCells(Layer):
    """Cells one behind the other, as one cell for RNN.."""

    def __init__(
        self, cells: _Any, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    cells: _Any

class Bidirectional(Layer):
    """A recurrent layer over (batch, time, features) in both directions, the outputs merged. The halves are named forward_ and backward_; under a mask with return_sequences the output of a masked step is 0.."""

    def __init__(
        self,
        layer: Layer,
        merge_mode: str = "concat",
        weights: _Any = None,
        backward_layer: Layer | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    layer: _Any
    merge_mode: _Any
    backward_layer: _Any

class TimeDistributed(Layer):
    """A layer at every time step of (batch, time, ...), with the same weights. As in Keras each step is a call: dropout draws anew at each, normalization sees the steps apart; activity penalties of the layer are left out.."""

    def __init__(
        self, layer: Layer, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    layer: _Any

class Functional(Layer):
    """A model as a layer: its inputs and outputs are those of the model, its weights stand under its name. Given by dl4_attrs_set_model() it shares them with that model. Keras's JSON of a nested model is taken too.."""

    def __init__(
        self,
        model: _Any = None,
        layers: _Any = None,
        input_layers: _Any = None,
        output_layers: _Any = None,
        build_input_shape: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    model: _Any
    layers: _Any
    input_layers: _Any
    output_layers: _Any
    build_input_shape: _Any

class Weight(Layer):
    """A weight as a value: called on nothing, for layers that are made of others.."""

    def __init__(
        self,
        shape: int | Sequence[int],
        initializer: _Any = "GlorotUniform",
        regularizer: _Any = None,
        constraint: _Any = None,
        learned: bool = True,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    shape: _Any
    initializer: _Any
    regularizer: _Any
    constraint: _Any
    learned: _Any

class Cast(Layer):
    """The same numbers in another type of data: keras.ops.cast. Fractions are cut off.."""

    def __init__(
        self, to: str, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    to: _Any

class StopGradient(Layer):
    """x, through which no gradient passes: keras.ops.stop_gradient.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Attention(Layer):
    """Dot-product attention: softmax(query key^T) value, without 1 / sqrt(D). Inputs are query, value and, if it is not the value, key.."""

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    use_scale: _Any
    dropout: _Any
    seed: _Any
    score_mode: _Any

class AdditiveAttention(Layer):
    """Additive attention: the scores are the sum of scale * tanh(query + key). Inputs are query, value and, if it is not the value, key.."""

    def __init__(
        self,
        use_scale: bool = True,
        dropout: float = 0.0,
        *,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    use_scale: _Any
    dropout: _Any
    seed: _Any

class MultiHeadAttention(Layer):
    """Attention in heads: each projects query, key and value and gives softmax(query key^T / sqrt(key_dim)) value; what they give is projected to the output. Inputs are query, value and, if it is not the value, key.."""

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | Sequence[int] | None = None,
        attention_axes: int | Sequence[int] | None = None,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        use_gate: bool = False,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    num_heads: _Any
    key_dim: _Any
    value_dim: _Any
    output_shape: _Any
    attention_axes: _Any
    dropout: _Any
    sliding_window: _Any
    flash_attention: _Any
    use_gate: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class GroupQueryAttention(Layer):
    """Attention in heads, of which several share their projections of key and value: softmax(query key^T / sqrt(head_dim)) value. Inputs are query, value and, if it is not the value, key.."""

    def __init__(
        self,
        head_dim: int,
        num_query_heads: int,
        num_key_value_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        use_gate: bool = False,
        seed: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    head_dim: _Any
    num_query_heads: _Any
    num_key_value_heads: _Any
    dropout: _Any
    sliding_window: _Any
    flash_attention: _Any
    use_gate: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class GlobalAttention(Layer):
    """Attention over all values, by any score function and distribution: distribution(score(query, key) / temperature) value. Inputs are query, value and, if it is not the value, key. Not a layer of Keras.."""

    def __init__(
        self,
        score: str = "dot",
        units: int | None = None,
        distribution: str = "softmax",
        temperature: float = 1.0,
        dropout: float = 0.0,
        seed: int | None = None,
        kernel_initializer: _Any = "GlorotUniform",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    score: _Any
    units: _Any
    distribution: _Any
    temperature: _Any
    dropout: _Any
    seed: _Any
    kernel_initializer: _Any

class LocalAttention(Layer):
    """Attention over the values within a window around a place p (Luong et al. 2015), in sequences or images. The weights of what lies within are a distribution, then multiplied by exp(-(s - p)^2 / (2 (window / 2)^2)), s the value's place, without being divided by their sum again. Inputs are query, value and, if it is not the value, key. Not a layer of Keras.."""

    def __init__(
        self,
        window: int,
        alignment: str = "monotonic",
        gaussian: bool | None = None,
        score: str = "dot",
        units: int | None = None,
        distribution: str = "softmax",
        temperature: float = 1.0,
        dropout: float = 0.0,
        seed: int | None = None,
        kernel_initializer: _Any = "GlorotUniform",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    window: _Any
    alignment: _Any
    gaussian: _Any
    score: _Any
    units: _Any
    distribution: _Any
    temperature: _Any
    dropout: _Any
    seed: _Any
    kernel_initializer: _Any

class JoinHeads(Layer):
    """Heads of one shape as one output. Not a layer of Keras.."""

    def __init__(
        self,
        join: str = "concat",
        kernel_initializer: _Any = "GlorotUniform",
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    join: _Any
    kernel_initializer: _Any

class GraphAttention(Layer):
    """Attention over a graph by its edges (GAT, Velickovic et al. 2018): of the edges (source, target) that end at a node, softmax(leaky_relu(a source + b target)) weighs the projected features of the sources. A node at which no edge ends gives 0 before the bias. Not a layer of Keras.."""

    def __init__(
        self,
        units: int,
        heads: int = 1,
        join: str = "concat",
        activation: _Any = "linear",
        negative_slope: float = 0.2,
        self_loops: bool = False,
        use_gate: bool = False,
        dropout: float = 0.0,
        seed: int | None = None,
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    units: _Any
    heads: _Any
    join: _Any
    activation: _Any
    negative_slope: _Any
    self_loops: _Any
    use_gate: _Any
    dropout: _Any
    seed: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class GraphNetwork(Layer):
    """A block of a graph network (Battaglia et al. 2018). Edges: activation(W [features, squared distance, source, target, global] + b); nodes: of [the sum of the edges that end there, node, global]; global: of [the sum of all edges, the sum of all nodes, global]. What is not given is left out. Not a layer of Keras.."""

    def __init__(
        self,
        edge_units: int,
        node_units: int,
        global_units: int | None = None,
        distances: bool = False,
        activation: _Any = "relu",
        use_bias: bool = True,
        kernel_initializer: _Any = "GlorotUniform",
        bias_initializer: _Any = "Zeros",
        kernel_regularizer: _Any = None,
        bias_regularizer: _Any = None,
        activity_regularizer: _Any = None,
        kernel_constraint: _Any = None,
        bias_constraint: _Any = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    edge_units: _Any
    node_units: _Any
    global_units: _Any
    distances: _Any
    activation: _Any
    use_bias: _Any
    kernel_initializer: _Any
    bias_initializer: _Any
    kernel_regularizer: _Any
    bias_regularizer: _Any
    activity_regularizer: _Any
    kernel_constraint: _Any
    bias_constraint: _Any

class SegmentSum(Layer):
    """The sum of each segment's rows, 0 of none: keras.ops.segment_sum.."""

    def __init__(
        self,
        num_segments: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    num_segments: _Any

class SegmentMax(Layer):
    """The largest of each segment's rows, the lowest float of none: keras.ops.segment_max.."""

    def __init__(
        self,
        num_segments: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    num_segments: _Any

class MatMul(Layer):
    """The matrix product of the last two axes of two inputs: keras.ops.matmul. Leading axes broadcast.."""

    def __init__(
        self,
        transpose_a: bool = False,
        transpose_b: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    transpose_a: _Any
    transpose_b: _Any

class Add(Layer):
    """The sum of the inputs.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Subtract(Layer):
    """The first input less the second.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Multiply(Layer):
    """The product of the inputs; masked places count as 1. Where all inputs are masked it is 0.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Average(Layer):
    """The mean of the inputs.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Maximum(Layer):
    """The largest of the inputs; masked places don't count.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Minimum(Layer):
    """The smallest of the inputs; masked places don't count.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Concatenate(Layer):
    """The inputs one after the other along an axis.."""

    def __init__(
        self,
        axis: int = -1,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any

class Dot(Layer):
    """Sums of products along an axis of each of two inputs, for all pairs of their other places, item by item of the batch.."""

    def __init__(
        self,
        axes: int | Sequence[int],
        normalize: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axes: _Any
    normalize: _Any

class Absolute(Layer):
    """|x|.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Negative(Layer):
    """-x.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Sign(Layer):
    """-1, 0 or 1.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Square(Layer):
    """x * x.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Sqrt(Layer):
    """The square root.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Rsqrt(Layer):
    """1 / sqrt(x).."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Reciprocal(Layer):
    """1 / x.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Exp(Layer):
    """e to the power of x.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Log(Layer):
    """The natural logarithm.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Log1p(Layer):
    """The natural logarithm of 1 + x.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Log2(Layer):
    """The logarithm to base 2.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Log10(Layer):
    """The logarithm to base 10.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Tanh(Layer):
    """The hyperbolic tangent.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class Isnan(Layer):
    """Whether x is no number: bool.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class LogicalNot(Layer):
    """Whether x is 0 or false: bool.."""

    def __init__(
        self, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...

class BroadcastAdd(Layer):
    """x1 + x2, where Add wants one batch size: keras.ops.add.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class BroadcastSubtract(Layer):
    """x1 - x2, where Subtract wants one batch size: keras.ops.subtract.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class BroadcastMultiply(Layer):
    """x1 * x2, where Multiply wants one batch size: keras.ops.multiply.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class BroadcastMaximum(Layer):
    """The larger of x1 and x2: keras.ops.maximum.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class BroadcastMinimum(Layer):
    """The smaller of x1 and x2: keras.ops.minimum.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class Divide(Layer):
    """x1 / x2, in float32.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class Power(Layer):
    """x1 to the power of x2, in float32.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class Equal(Layer):
    """x1 == x2: bool.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class NotEqual(Layer):
    """x1 != x2: bool.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class Less(Layer):
    """x1 < x2: bool.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class LessEqual(Layer):
    """x1 <= x2: bool.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class Greater(Layer):
    """x1 > x2: bool.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class GreaterEqual(Layer):
    """x1 >= x2: bool.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class LogicalAnd(Layer):
    """Whether both are true: bool.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class LogicalOr(Layer):
    """Whether either is true: bool.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class Clip(Layer):
    """x, but x_min where it is below that and x_max where it is above: keras.ops.clip.."""

    def __init__(
        self,
        x_min: float,
        x_max: float,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x_min: _Any
    x_max: _Any

class Where(Layer):
    """x1 where a condition holds, else x2: keras.ops.where.."""

    def __init__(
        self,
        x1: float | None = None,
        x2: float | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    x1: _Any
    x2: _Any

class Sum(Layer):
    """The sum along axes.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Mean(Layer):
    """The mean along axes.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Max(Layer):
    """The largest value along axes.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Min(Layer):
    """The smallest value along axes.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Prod(Layer):
    """The product along axes.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Var(Layer):
    """The mean squared distance from the mean along axes.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Std(Layer):
    """The root of the mean squared distance from the mean along axes.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Any(Layer):
    """Whether anything along axes is true or not 0: bool.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class All(Layer):
    """Whether everything along axes is true or not 0: bool.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Argmax(Layer):
    """The place of the largest value along an axis, the first of equals: int32.."""

    def __init__(
        self,
        axis: int,
        keepdims: bool = False,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    keepdims: _Any

class Take(Layer):
    """The places of an axis that indices name, in their order: keras.ops.take. An index outside [-n, n) is an error.."""

    def __init__(
        self,
        indices: int | Sequence[int] | None = None,
        axis: int | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    indices: _Any
    axis: _Any

class Slice(Layer):
    """A block of x: keras.ops.slice.."""

    def __init__(
        self,
        start_indices: int | Sequence[int],
        shape: int | Sequence[int],
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    start_indices: _Any
    shape: _Any

class Flip(Layer):
    """Axes from their end to their beginning: keras.ops.flip.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any

class Stack(Layer):
    """Inputs of one shape side by side along a new axis: keras.ops.stack.."""

    def __init__(
        self,
        axis: int = 0,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any

class Repeat(Layer):
    """Each place of an axis several times: keras.ops.repeat.."""

    def __init__(
        self,
        repeats: int,
        axis: int,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    repeats: _Any
    axis: _Any

class ExpandDims(Layer):
    """New axes of size 1: keras.ops.expand_dims.."""

    def __init__(
        self,
        axis: int | Sequence[int],
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any

class Squeeze(Layer):
    """Axes of size 1 left out: keras.ops.squeeze.."""

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        trainable: bool = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any

class Loss(Layer):
    """A loss, called on targets, predictions and, if wanted, sample weights; the mask of the predictions counts. Its reduction decides whether a number comes out or, with "none", a value for each item.."""

    def __init__(
        self, loss: _Any, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    loss: _Any

class Metric(Layer):
    """A metric that is a mean over samples, called on targets, predictions and, if wanted, sample weights; the mask of the predictions counts.."""

    def __init__(
        self, metric: _Any, *, name: str | None = None, trainable: bool = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    metric: _Any

def add(inputs: _Any, **kwargs: _Any) -> _Any: ...
def subtract(inputs: _Any, **kwargs: _Any) -> _Any: ...
def multiply(inputs: _Any, **kwargs: _Any) -> _Any: ...
def average(inputs: _Any, **kwargs: _Any) -> _Any: ...
def maximum(inputs: _Any, **kwargs: _Any) -> _Any: ...
def minimum(inputs: _Any, **kwargs: _Any) -> _Any: ...
def concatenate(inputs: _Any, **kwargs: _Any) -> _Any: ...
def dot(inputs: _Any, **kwargs: _Any) -> _Any: ...
def Input(
    shape: _Any = None,
    batch_size: _Any = None,
    dtype: _Any = None,
    sparse: _Any = None,
    ragged: _Any = None,
    batch_shape: _Any = None,
    name: _Any = None,
    tensor: _Any = None,
    optional: _Any = False,
) -> KerasTensor: ...

"""keras.ops: functions of symbolic tensors, which add layers to a graph, and of arrays, which compute."""

from types import ModuleType as _ModuleType

from ..on_arrays import FUNCTIONS
from ..symbolic import numbers as _numbers
from ..symbolic.tensor import get_item
from .control import *  # noqa: F403
from .convolutions import (
    adaptive_average_pool,
    adaptive_max_pool,
    average_pool,
    conv,
    conv_transpose,
    depthwise_conv,
    max_pool,
    separable_conv,
)
from .core import (  # noqa: A004
    array,
    cast,
    convert_to_numpy,
    convert_to_tensor,
    dtype,
    is_keras_tensor,
    is_tensor_of_numbers as is_tensor,
    ndim,
    shape,
    size,
)
from .creation import (  # noqa: A004
    arange,
    broadcast_to,
    empty,
    full,
    full_like,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .dispatch import computed
from .docs import describe as _describe
from .einops import rearrange
from .elementwise import *  # noqa: F403
from .gathering import take_along_axis
from .nn import (  # noqa: A004
    batch_normalization,
    binary_crossentropy,
    categorical_crossentropy,
    celu,
    dot_product_attention,
    elu,
    gelu,
    glu,
    hard_shrink,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    layer_normalization,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    mish,
    multi_hot,
    one_hot,
    relu,
    relu6,
    rms_normalization,
    selu,
    sigmoid,
    silu,
    soft_shrink,
    softmax,
    softplus,
    softsign,
    sparse_categorical_crossentropy,
    sparse_plus,
    sparse_sigmoid,
    sparsemax,
    squareplus,
    swish,
    tanh_shrink,
    threshold,
)
from .products import dot, einsum, inner, matmul, outer, tensordot, vdot
from .reduction import (  # noqa: A004
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    average,
    count_nonzero,
    cumsum,
    logsumexp,
    max,
    mean,
    min,
    moments,
    norm,
    normalize,
    prod,
    ptp,
    segment_max,
    segment_sum,
    std,
    stop_gradient,
    sum,
    var,
)
from .shapes import (  # noqa: A004
    concatenate,
    diagonal,
    diff,
    dstack,
    expand_dims,
    flip,
    fliplr,
    flipud,
    hstack,
    meshgrid,
    moveaxis,
    pad,
    ravel,
    repeat,
    reshape,
    roll,
    slice,
    split,
    squeeze,
    stack,
    swapaxes,
    take,
    tile,
    trace,
    transpose,
    unstack,
    vstack,
)

globals().update(
    {name: computed(name) for name in FUNCTIONS if name.isidentifier() and name[0] != "_" and name not in globals()}
)
_describe(globals())
pi = 3.141592653589793
_OWN = {"FUNCTIONS", "computed"}
__all__ = [n for n, v in list(globals().items()) if n[0] != "_" and n not in _OWN and not isinstance(v, _ModuleType)]
_numbers.functions = frozenset(__all__)

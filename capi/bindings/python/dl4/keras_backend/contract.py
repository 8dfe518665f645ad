"""The names that Keras imports from a backend."""

from . import core, image, linalg, math, nn, numpy, operators, random  # noqa: F401
from .core import (  # noqa: F401
    IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS,
    Variable,
    cast,
    compute_output_spec,
    cond,
    convert_to_numpy,
    convert_to_tensor,
    device_scope,
    is_tensor,
    name_scope,
    random_seed_dtype,
    scatter,
    shape,
    stop_gradient,
    vectorized_map,
)
from .rnn import bidirectional_gru, bidirectional_lstm, cudnn_ok, gru, lstm, rnn  # noqa: F401

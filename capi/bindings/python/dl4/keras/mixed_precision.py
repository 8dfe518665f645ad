"""keras.mixed_precision: accepted as float32, which is said once."""

from .optimizers import LossScaleOptimizer
from .src.absent import absent_from as _absent_from
from .src.dtype_policies import dtype_policy, DTypePolicy, set_dtype_policy

Policy = DTypePolicy
global_policy, set_global_policy = dtype_policy, set_dtype_policy

__getattr__ = _absent_from(__name__)

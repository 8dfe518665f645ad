"""tf.distribute: strategies of the one device that is here."""

import contextlib
from types import SimpleNamespace

_DEVICES = {"/cpu:0", "cpu:0", "/device:cpu:0", "device:cpu:0"}


class ReduceOp:
    SUM, MEAN = "sum", "mean"


class Strategy:
    """Runs everything on the one device: what is of all replicas is of this one."""

    num_replicas_in_sync = 1

    def __init__(self):
        self.extended = SimpleNamespace(worker_devices=("/device:CPU:0",))

    @contextlib.contextmanager
    def scope(self):
        _scopes.append(self)
        try:
            yield self
        finally:
            _scopes.pop()

    def run(self, fn, args=(), kwargs=None, options=None):
        return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op, value, axis=None):
        if str(reduce_op).lower() not in (ReduceOp.SUM, ReduceOp.MEAN):
            raise ValueError(f"tf.distribute.Strategy.reduce: expected ReduceOp.SUM or ReduceOp.MEAN, got {reduce_op!r}")
        if axis is not None:
            raise NotImplementedError(f"tf.distribute.Strategy.reduce(axis={axis!r}): reduce the value by its operators")
        return value

    def gather(self, value, axis):
        if not -len(value.shape) <= axis < len(value.shape):
            raise ValueError(f"tf.distribute.Strategy.gather: expected an axis of {tuple(value.shape)}, got {axis}")
        return value

    def experimental_local_results(self, value):
        return (value,)

    def experimental_distribute_dataset(self, dataset, options=None):
        return dataset

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        return dataset_fn(InputContext())


class InputContext:
    """Which part of the data a pipeline is of: the only one."""

    num_input_pipelines = num_replicas_in_sync = 1
    input_pipeline_id = 0

    def get_per_replica_batch_size(self, global_batch_size):
        return global_batch_size


class MirroredStrategy(Strategy):
    def __init__(self, devices=None, cross_device_ops=None):
        if cross_device_ops is not None:
            raise NotImplementedError(f"tf.distribute.MirroredStrategy: cross_device_ops={cross_device_ops!r}: one device")
        given = [devices] if isinstance(devices, str) else devices or ()
        _need_this_device("MirroredStrategy", given)
        super().__init__()


class OneDeviceStrategy(Strategy):
    def __init__(self, device):
        _need_this_device("OneDeviceStrategy", [device])
        super().__init__()


def _need_this_device(who, devices):
    others = [d for d in devices if str(d).lower() not in _DEVICES]
    if others or len(devices) > 1:
        raise ValueError(f"tf.distribute.{who}: expected the one device '/cpu:0', got {list(devices)}")


class _NoTPU:
    def __init__(self, *_, **__):
        raise ValueError("Please provide a TPU Name to connect to.")

    connect = classmethod(lambda cls, *_, **__: cls())


cluster_resolver = SimpleNamespace(TPUClusterResolver=_NoTPU)


def get_strategy():
    return _scopes[-1]


def has_strategy():
    return len(_scopes) > 1


_scopes = [Strategy()]


def __getattr__(name):
    raise AttributeError(f"module 'dl4.distribute' has no attribute '{name}': there is one device here")

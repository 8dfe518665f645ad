"""libdl4 as a backend of ONNX: what `onnx.backend.test` and other tools of the package `onnx` run models with.

    rep = dl4.onnx_backend.prepare(onnx.load("m.onnx"))
    outputs = rep.run([x])

Sizes, axes and indices may be inputs of a model. The library reads them with the model, so a model that needs their
values is read again when a run brings other ones."""

import collections

import numpy as np
from onnx import helper, ModelProto, numpy_helper, TensorProto
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .abi import Error
from .core import Model, Tensor

_KEPT = 16  # models of one that is read by the values of inputs
_NUMBERS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}


def _refuse(options, who):
    for name in options:
        raise TypeError(f"{who}() got an unexpected keyword argument '{name}'")


class DL4BackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model):
        self._model = model
        self._names = [o.name for o in model.graph.output]
        known = {i.name for i in model.graph.initializer}
        self._inputs = [i for i in model.graph.input if i.name not in known]
        self._sessions = collections.OrderedDict()
        self._refused = None
        try:
            self._session = Model.from_bytes(model.SerializeToString()).session()
        except Error as e:
            if not self._inputs:
                raise
            self._session, self._refused = None, e

    def run(self, inputs, **kwargs):
        _refuse(kwargs, "run")
        arrays = self._arrays(inputs)
        if self._session is not None:
            got = self._session.run([Tensor.of(a) for a in arrays])
        else:
            got = self._with_values(arrays)
        outputs = [self._typed(t.numpy(), o) for t, o in zip(got, self._model.graph.output)]
        return namedtupledict("Outputs", self._names)(*outputs)

    def _arrays(self, inputs):
        if isinstance(inputs, dict):
            inputs = [inputs[i.name] for i in self._inputs]
        elif isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if len(inputs) != len(self._inputs):
            raise ValueError(f"expected {len(self._inputs)} inputs, got {len(inputs)}")
        return [np.asarray(x) for x in inputs]

    def _with_values(self, arrays):
        """Runs the model with the values of some inputs read into it: of those that are no floats, or of all but the
        first, or of all."""
        count = len(arrays)
        integers = frozenset(n for n, i in enumerate(self._inputs) if i.type.tensor_type.elem_type not in _NUMBERS)
        tries = [integers, frozenset(range(1, count)), frozenset(range(count))]
        error = self._refused
        for frozen in dict.fromkeys(t for t in tries if t):
            key = frozen, tuple((arrays[n].shape, arrays[n].dtype.str, arrays[n].tobytes()) for n in sorted(frozen))
            try:
                if key not in self._sessions:
                    self._sessions[key] = self._read_with(arrays, frozen)
                    if len(self._sessions) > _KEPT:
                        self._sessions.popitem(last=False)
                return self._sessions[key].run([Tensor.of(a) for n, a in enumerate(arrays) if n not in frozen])
            except Error as e:
                error = e
        raise error

    def _read_with(self, arrays, frozen):
        model = ModelProto()
        model.CopyFrom(self._model)
        names = {self._inputs[n].name: arrays[n] for n in frozen}
        for name, array in names.items():
            model.graph.initializer.append(numpy_helper.from_array(array, name))
        kept = [i for i in model.graph.input if i.name not in names]
        del model.graph.input[:]
        model.graph.input.extend(kept)
        return Model.from_bytes(model.SerializeToString()).session()

    @staticmethod
    def _typed(array, output):
        """An output in the type that the model says."""
        wanted = output.type.tensor_type.elem_type
        if not wanted:
            return array
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(wanted))
        return array if array.dtype == dtype else array.astype(dtype)


class DL4Backend(Backend):
    """The backend."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        try:
            cls.prepare(model, device, **kwargs)
        except Error:
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        _refuse(kwargs, "prepare")
        if not cls.supports_device(device):
            raise ValueError(f"libdl4 runs on the CPU, not on {device!r}")
        return DL4BackendRep(model)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        raise NotImplementedError("libdl4 runs models: put the node into one")

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"


is_compatible, prepare, run_model = DL4Backend.is_compatible, DL4Backend.prepare, DL4Backend.run_model
supports_device = DL4Backend.supports_device

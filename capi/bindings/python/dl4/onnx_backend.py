"""libdl4 as a backend of ONNX: what `onnx.backend.test` and other tools of the package `onnx` run models with.

    rep = dl4.onnx_backend.prepare(onnx.load("m.onnx"))
    outputs = rep.run([x])

Sizes, axes and indices may be inputs of a model. The library reads them with the model, so a model that needs their
values is read again when a run brings other ones. The same holds for the number of tensors in a sequence: a list; None
is an Optional without a value."""

import collections

import numpy as np
from onnx import helper, ModelProto, numpy_helper, TensorProto
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .abi import Error
from .core import Model, Tensor

_KEPT = 16  # models of one that is read by the values of inputs
_LISTS = {"sequence_type", "optional_type"}
# What stands for a type of ONNX's that libdl4 does not compute with; all others are as they are.
_HELD = {
    "float32": "FLOAT16 BFLOAT16 DOUBLE FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ FLOAT4E2M1",
    "int32": "INT8 INT16 UINT16 INT4 UINT4 INT2 UINT2",
    "int64": "UINT32 UINT64",
}
# An older `onnx` lacks some of them.
_HELD = {
    TensorProto.DataType.Value(kind): np.dtype(name)
    for name, kinds in _HELD.items()
    for kind in kinds.split()
    if kind in TensorProto.DataType.keys()
}
_NUMBERS = {TensorProto.FLOAT} | {kind for kind, dtype in _HELD.items() if dtype == np.float32}


def _read(model):
    """A session, and the names of its outputs."""
    loaded = Model.from_bytes(model.SerializeToString())
    return loaded.session(), loaded.names(1)


def _of_tensors(model, listed):
    """The model with tensors for the sequences and Optionals among its inputs; `listed`: by their names what a run
    brings for them. And these tensors."""
    plain = ModelProto()
    plain.CopyFrom(model)
    del plain.graph.input[:], plain.graph.node[:]
    nodes, arrays = [], []
    for i in model.graph.input:
        if i.name not in listed:
            plain.graph.input.append(i)
            arrays.append(i.name)
            continue
        given, kind = listed[i.name], i.type
        optional = kind.WhichOneof("value") == "optional_type"
        kind = kind.optional_type.elem_type if optional else kind
        if given is None:
            nodes.append(helper.make_node("Optional", [], [i.name], type=kind))
            continue
        sequence = kind.WhichOneof("value") == "sequence_type"
        dtype = (kind.sequence_type.elem_type if sequence else kind).tensor_type.elem_type
        names = [f"{i.name}:{n}" for n in range(len(given))] if sequence else [f"{i.name}:"]
        for name, one in zip(names, given if sequence else [given]):
            one = np.asarray(one)
            plain.graph.input.append(helper.make_tensor_value_info(name, dtype, one.shape))
            arrays.append(one)
        op = ("SequenceConstruct" if names else "SequenceEmpty") if sequence else "Identity"
        nodes.append(helper.make_node(op, names, [i.name], **({} if names else {"dtype": dtype})))
    plain.graph.node.extend(nodes)
    plain.graph.node.extend(model.graph.node)
    return plain, arrays


def _held(array, port):
    """An input as the library takes it; what it would change is refused."""
    kind = port.type.tensor_type.elem_type
    if kind == TensorProto.STRING and not array.size:
        array = array.astype(str)  # no object says what it is
    if kind not in _HELD:
        return Tensor.of(array)
    wanted = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    if array.dtype != wanted:
        raise TypeError(f"input {port.name!r}: expected {wanted}, got {array.dtype}")
    with np.errstate(over="ignore"):
        held = array.astype(_HELD[kind])
    lost = held < 0 if wanted == np.uint64 else np.isinf(held) & np.isfinite(array)
    if lost.any():
        raise ValueError(f"input {port.name!r}: {array[lost][0]} is past {held.dtype}, which stands for {wanted} here")
    return Tensor.of(held)


class DL4BackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model):
        self._model = model
        self._names = [o.name for o in model.graph.output]
        known = {i.name for i in model.graph.initializer}
        self._inputs = [i for i in model.graph.input if i.name not in known]
        self._sessions = collections.OrderedDict()
        self._refused = self._session = None
        self._lists = [i.name for i in self._inputs if i.type.WhichOneof("value") in _LISTS]
        if self._lists:
            return
        try:
            self._session = _read(model)
        except Error as e:
            if not self._inputs:
                raise
            self._session, self._refused = None, e

    def run(self, inputs):
        given = self._given(inputs)
        if self._lists:
            plain, arrays = _of_tensors(self._model, {n: given[n] for n in self._lists})
            return DL4BackendRep(plain).run([given[a] if isinstance(a, str) else a for a in arrays])
        arrays = [np.asarray(x) for x in given.values()]
        if self._session is not None:
            session, names = self._session
            got = dict(zip(names, session.run([_held(a, i) for a, i in zip(arrays, self._inputs)])))
        else:
            got = self._with_values(arrays)
        return namedtupledict("Outputs", self._names)(*self._outputs(got))

    def _outputs(self, of):
        """Those of the model, of those that the library gives by name: a sequence is several of these."""
        for o in self._model.graph.output:
            kind = o.type
            if kind.WhichOneof("value") == "optional_type":
                kind = kind.optional_type.elem_type
            if kind.WhichOneof("value") == "sequence_type":
                dtype, count = kind.sequence_type.elem_type, 0
                while f"{o.name}_{count}" in of:
                    count += 1
                yield [self._typed(of[f"{o.name}_{n}"].numpy(), dtype) for n in range(count)]
            else:
                yield self._typed(of[o.name].numpy(), kind)

    def _given(self, inputs):
        if isinstance(inputs, dict):
            inputs = [inputs[i.name] for i in self._inputs]
        elif isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if len(inputs) != len(self._inputs):
            raise ValueError(f"expected {len(self._inputs)} inputs, got {len(inputs)}")
        return dict(zip((i.name for i in self._inputs), inputs))

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
                session, names = self._sessions[key]
                fed = [_held(a, i) for n, (a, i) in enumerate(zip(arrays, self._inputs)) if n not in frozen]
                return dict(zip(names, session.run(fed)))
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
        return _read(model)

    @staticmethod
    def _typed(array, kind):
        """An output in the type that the model says."""
        wanted = kind.tensor_type.elem_type
        if not wanted:
            return array
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(wanted))
        return array if array.dtype == dtype else array.astype(dtype)


class DL4Backend(Backend):
    """The backend class for tools of the package `onnx`."""

    @classmethod
    def is_compatible(cls, model, device="CPU"):
        try:
            cls.prepare(model, device)
        except Error:
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU"):
        if not cls.supports_device(device):
            raise ValueError(f"libdl4 runs on the CPU, not on {device!r}")
        return DL4BackendRep(model)

    @classmethod
    def run_model(cls, model, inputs, device="CPU"):
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        raise NotImplementedError("libdl4 runs models: put the node into one")

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"


is_compatible, prepare, run_model = DL4Backend.is_compatible, DL4Backend.prepare, DL4Backend.run_model
supports_device = DL4Backend.supports_device

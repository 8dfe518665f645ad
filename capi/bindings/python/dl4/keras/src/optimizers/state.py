"""The state that a trainer keeps between steps, as arrays by name: optimizer.variables."""

import json
import struct
import zlib

from .... import abi
from ..layers.variable import Weight

_ALIGNED = 16  # numbers from one weight's part of a block to the next
_TYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "BOOL": "?", "U8": "u1"}


def _checksum(data):
    return f"{zlib.crc32(data):08x}"


class TrainerState:
    """The checkpoint of a trainer; put() gives it back."""

    def __init__(self, trainer, data=None):
        import numpy

        if data is None:
            data = abi.content(abi.made("dl4_trainer_save_bytes", trainer))
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + size])
        self.metadata, self.arrays, self._types = header.pop("__metadata__"), {}, {}
        for name, facts in header.items():
            begin, end = (8 + size + at for at in facts["data_offsets"])
            array = numpy.frombuffer(data[begin:end], _TYPES[facts["dtype"]]).reshape(facts["shape"])
            self.arrays[name], self._types[name] = array.copy(), facts["dtype"]
        self.trained = json.loads(self.metadata["position"])["trainable"]

    def put(self, trainer):
        parts = {name: array.tobytes() for name, array in self.arrays.items()}
        sums = json.dumps({name: _checksum(part) for name, part in parts.items()})
        header, at = {"__metadata__": {**self.metadata, "crc32": sums, "header_crc32": "00000000"}}, 0
        for name, part in parts.items():
            shape, end = list(self.arrays[name].shape), at + len(part)
            header[name] = {"dtype": self._types[name], "shape": shape, "data_offsets": [at, end]}
            at = end
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-(len(text) + 8) % 64)
        head = struct.pack("<Q", len(text)) + text
        own = b'"header_crc32":"%s"'  # of the header with zeros in its place
        head = head.replace(own % b"00000000", own % _checksum(head).encode(), 1)
        data = head + b"".join(parts.values())
        abi.call("dl4_trainer_load_bytes", trainer, data, len(data))

    def take(self, other):
        """What another one kept of the weights that are trained here too, and beside."""
        blocks, where = self.slots(), {name: i for i, name in enumerate(other.trained)}
        for key, array in self.arrays.items():
            if key in blocks and key in other.arrays:
                theirs = other.of(key)
                for name, part in zip(self.trained, self.of(key)):
                    if name in where and theirs[where[name]].shape == part.shape:
                        part[...] = theirs[where[name]]
            elif not key.startswith("weight:") and key in other.arrays and other.arrays[key].shape == array.shape:
                array[...] = other.arrays[key]
        position = {**json.loads(other.metadata["position"]), "trainable": self.trained}
        self.metadata = {**self.metadata, "position": json.dumps(position)}

    def weight(self, name):
        return self.arrays[f"weight:{name}"]

    def slots(self):
        """Names of what the optimizer keeps of each weight."""
        size = sum(-(-self.weight(name).size // _ALIGNED) * _ALIGNED for name in self.trained)
        return [k for k, v in self.arrays.items() if k.startswith("slot:optimizer/") and v.shape == (size,)]

    def of(self, slot):
        """A slot's part of each trained weight, as views in their shapes."""
        views, at, block = [], 0, self.arrays[slot]
        for name in self.trained:
            weight = self.weight(name)
            views.append(block[at : at + weight.size].reshape(weight.shape))
            at += -(-weight.size // _ALIGNED) * _ALIGNED
        return views


class OptimizerVariable:
    """A variable of an optimizer's: what its trainer keeps under a name, of one weight or of all."""

    def __init__(self, optimizer, name, slot=None, index=None):
        self.name, self._optimizer, self._slot, self._index = name, optimizer, slot, index

    def _in(self, kept):
        return kept.of(self._slot)[self._index]

    def numpy(self):
        import numpy

        if self._slot is None:
            optimizer = self._optimizer
            return numpy.asarray(optimizer.iterations if self.name == "iteration" else optimizer.learning_rate)
        return self._in(TrainerState(self._optimizer._trainer)).copy()

    value = property(numpy)

    @property
    def path(self):
        return f"{self._optimizer.name}/{self.name}"

    @property
    def shape(self):
        return self.numpy().shape

    @property
    def dtype(self):
        return str(self.numpy().dtype)

    def __eq__(self, other):
        return self.numpy() == other

    __hash__ = object.__hash__

    def __float__(self):
        return float(self.numpy())

    def __int__(self):
        return int(self.numpy())

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def assign(self, value):
        if self._slot is None:
            if self.name == "iteration":
                if self._optimizer._trainer is not None:
                    raise NotImplementedError("iterations are counted by the library and can't be assigned")
                self._optimizer._set_iterations(int(value))
                return self
            self._optimizer.learning_rate = float(value)
            return self
        kept = TrainerState(self._optimizer._trainer)
        self._in(kept)[...] = value
        kept.put(self._optimizer._trainer)
        return self

    def __repr__(self):
        return f"<Variable path={self._optimizer.name}/{self.name}, shape={self.shape}, dtype={self.dtype}>"


def variables(optimizer):
    """Of an optimizer, as Keras lists them."""
    found = [OptimizerVariable(optimizer, "iteration")]
    if not callable(optimizer._config.get("learning_rate")):
        found.append(OptimizerVariable(optimizer, "learning_rate"))
    if optimizer._trainer is None and optimizer._built_for:
        optimizer._make_rules()
    if optimizer._trainer is None:
        for layer in [*optimizer._layers.values(), *optimizer._rule_layers.values()]:
            found += [Weight(layer, name) for name in layer._weight_facts() if "/" in name]
        found += optimizer._variables
    if optimizer._trainer is not None:
        kept = TrainerState(optimizer._trainer)
        for i, name in enumerate(kept.trained):
            found += [
                OptimizerVariable(optimizer, f"{name}_{s.rsplit('/', 1)[-1]}".replace("/", "_"), s, i)
                for s in kept.slots()
            ]
    return found

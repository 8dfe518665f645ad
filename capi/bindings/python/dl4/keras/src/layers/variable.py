"""Variables: the weights of layers, and those that a program makes itself."""

import contextlib
import operator

from ....core import Tensor
from ..backend import call_context, global_state
from ..backend.eager_tensor import eager_tensor
from ..backend.name_scope import current_path
from ..export import keras_export
from ..kind import is_native, native, split_native
from ..registry import create
from ..symbolic import arrays_on_tape
from ..symbolic.numbers import UFUNCS
from ..symbolic.step import read
from ..symbolic.tensor import as_tensor, is_tensor
from ..utils.naming import unique_name


class Weight:
    """A weight of a layer that the library has, by its name there. Arithmetic on it is NumPy's, or, where a call() is
    traced, symbolic."""

    def __init__(self, layer, name):
        self._layer, self._name = layer, name
        self.dtype = "float32"

    def _place(self):
        """The library's model and the weight's name in it."""
        core, prefix = self._layer._home()
        return core, f"{prefix}/{self._name}"

    @property
    def name(self):
        return self._layer._shown_name(self._name.rsplit("/", 1)[-1])

    @property
    def path(self):
        *parts, _ = self._name.split("/")
        return "/".join([self._layer.name, *parts, self.name])

    @property
    def shape(self):
        return self._layer._weight_facts()[self._name][0]

    @property
    def trainable(self):
        return self._layer._weight_facts()[self._name][1]

    @trainable.setter
    def trainable(self, yes):
        core, name = self._place()
        core.set_trainable(name, bool(yes))
        self._layer._forget_facts()
        if yes and not self.trainable and self._layer._quantization() is not None:
            raise NotImplementedError(f"{self.path}: whole numbers and their scales are not trained, got {yes!r}")

    @property
    def regularizer(self):
        return self._layer._weight_attribute(self._name, "regularizer")

    @property
    def constraint(self):
        return self._layer._weight_attribute(self._name, "constraint")

    def _constrain(self):
        """After an update: what a constraint in Python makes of it."""
        if self.trainable and self._constrained_in_python():
            self.assign(self.constraint(eager_tensor(self.numpy())))

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self):
        """The number of elements."""
        n = 1
        for d in self.shape:
            n *= d
        return n

    def numpy(self):
        return self._of_bits(self._bits())

    def _bits(self):
        """As the library has it."""
        core, name = self._place()
        return core.get_weight(name)

    def _of_bits(self, array):
        return array.view("int8") if self.dtype == "int8" else array

    @property
    def value(self):
        """The value, as a tensor."""
        return self._as_tensor() if call_context.owner() is not None else eager_tensor(self.numpy())

    def _constrained_in_python(self):
        return not is_native(self.constraint)

    def _as_tensor(self):
        step = call_context.step()
        if step is not None:
            return step.value(self)
        return read(self)

    def assign(self, value):
        if call_context.on_tape():
            return self._assign_at_once("assign", value)
        if call_context.step() is not None:
            call_context.step().assign(self, value, "assign")
            return self
        if call_context.owner() is not None:  # it is tried out, or becomes part of a graph
            call_context.owner().assigned = self.path
            return self
        return self._put(value)

    def _assign_at_once(self, how, value):
        """On a tape of arrays."""
        import numpy

        value = numpy.asarray(value)
        call_context.step().assigned.pop(id(self), None)
        with call_context.at_once():
            return getattr(self, how)(value)

    def _put(self, value):
        if is_tensor(value):
            raise ValueError(f"{self.path}: expected an array, got {value!r}")
        import numpy

        value = numpy.asarray(value)
        arrays_on_tape.before_assignment(self)
        if value.shape != tuple(self.shape):
            if value.ndim > len(self.shape):
                raise ValueError(
                    "The shape of the target variable and the shape of the target value in "
                    f"`variable.assign(value)` must match. variable.shape={self.shape}, Received: "
                    f"value.shape={value.shape}. Target variable: {self}"
                )
            try:
                value = numpy.broadcast_to(value, self.shape)
            except ValueError:
                raise ValueError(
                    "The shape of the target variable and the shape of the target value in "
                    f"`variable.assign(value)` must match. variable.shape={self.shape}, Received: "
                    f"value.shape={value.shape}. Target variable: {self}"
                ) from None
        self.set_array(value)
        return self

    def set_array(self, array):
        """Holds the numbers of an array of its shape."""
        import numpy

        core, name = self._place()
        if self.dtype in ("int8", "uint8"):
            limits = numpy.iinfo(self.dtype)
            if array.size and not (limits.min <= array.min() and array.max() <= limits.max):
                raise ValueError(f"{self.path}: expected numbers of {self.dtype}, from {limits.min} to {limits.max}")
            array = array.astype(self.dtype, copy=False)
        if self.dtype == "int8":
            array = numpy.ascontiguousarray(array).view("uint8").reshape(array.shape)
        core.set_weight(name, array)
        global_state.changed()

    def assign_add(self, value):
        """Adds to the value."""
        if call_context.on_tape():
            return self._assign_at_once("assign_add", value)
        if call_context.step() is not None:
            call_context.step().assign(self, value, "assign_add")
            return self
        return self.assign(value if call_context.owner() is not None else self.numpy() + value)

    def assign_sub(self, value):
        """Subtracts from the value."""
        if call_context.on_tape():
            return self._assign_at_once("assign_sub", value)
        if call_context.step() is not None:
            call_context.step().assign(self, value, "assign_sub")
            return self
        return self.assign(value if call_context.owner() is not None else self.numpy() - value)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Of operators what Python's are, where symbols may come of them; else what it holds."""
        values = [x.value if isinstance(x, Weight) else x for x in inputs]
        if any(map(is_tensor, values)):
            name = UFUNCS.get(ufunc.__name__)
            return getattr(operator, name)(*values) if method == "__call__" and name else NotImplemented
        return getattr(ufunc, method)(*values, **kwargs)

    def __getitem__(self, key):
        return self.value[key]

    def __len__(self):
        return self.shape[0]

    def __float__(self):
        return float(self.numpy())

    def __int__(self):
        return int(self.numpy())

    def __neg__(self):
        return -self.value

    def __pos__(self):
        return self.value

    def __abs__(self):
        return abs(self.value)

    def __invert__(self):
        return ~self.value

    def __round__(self, ndigits=None):
        return round(self.value, ndigits)

    def __bool__(self):
        raise TypeError("A Keras Variable cannot be used as a boolean.")

    __hash__ = object.__hash__

    def __repr__(self):
        return f"<Variable path={self.path}, shape={self.shape}, dtype={self.dtype}, value={self.numpy()}>"


def _operator(name, swapped):
    f = getattr(operator, name)

    def method(self, other):
        if name in ("eq", "ne") and (other is None or isinstance(other, str)):
            return NotImplemented
        mine = as_tensor(self) if is_tensor(other) else self.value
        other = getattr(other, "value", other)
        return f(other, mine) if swapped else f(mine, other)

    return method


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "floordiv", "mod"):
    setattr(Weight, f"__{_name}__", _operator(_name, False))
    setattr(Weight, f"__r{_name}__", _operator(_name, True))


def _logical(name):
    """As Keras, of integers too, which count as true where they are not 0."""
    f = getattr(operator, name)
    return lambda self, other: f(self.value != 0, getattr(other, "value", other) != 0)


for _name in ("and", "or", "xor"):
    _method = _logical({"xor": "xor"}.get(_name, f"{_name}_"))
    setattr(Weight, f"__{_name}__", _method)
    setattr(Weight, f"__r{_name}__", _method)


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Weight, f"__{_name}__", _operator(_name, False))


@keras_export("")
class Variable(Weight):
    """keras.Variable, and what Layer.add_weight() gives: a weight of its own. Of another type than float32 it is an
    array, which a traced call sees as a constant and a traced step as what it holds in each run."""

    def __init__(
        self,
        initializer,
        shape=None,
        dtype=None,
        trainable=True,
        autocast=True,
        aggregation=None,
        synchronization=None,
        name=None,
        regularizer=None,
        constraint=None,
        owner=None,
    ):
        import numpy

        self._shown, self._owner, self._array, self._scope = name, owner, None, current_path()
        self._set_late = False
        self._given = regularizer, constraint() if isinstance(constraint, type) else constraint
        given = None if is_native(initializer) else initializer
        if given is not None and callable(given):
            if shape is None:
                raise ValueError(
                    "When creating a Variable from an initializer, the `shape` argument should be specified."
                )
            given = given(tuple(shape), dtype=dtype or "float32")
        if given is not None:
            given = numpy.asarray(given)
            dtype = str(dtype or ("float32" if given.dtype.kind == "f" else given.dtype))
            given = numpy.array(given, dtype)
        shape = tuple(
            given.shape
            if shape is None and given is not None
            else ()
            if shape is None
            else (shape,)
            if isinstance(shape, int)
            else shape
        )
        dtype = str(getattr(dtype, "name", dtype) or "float32")
        if None in shape:
            raise ValueError(
                f"Shapes used to initialize variables must be fully-defined (no `None` dimensions). "
                f"Received: shape={shape}"
            )
        self._trainable, self._penalty = bool(trainable), None
        if dtype != "float32":
            self._array = numpy.zeros(shape, dtype) if given is None else given
            self.dtype, self._layer, self._name = dtype, None, unique_name("held")
            return
        config = {"initializer": "Zeros" if given is not None else initializer or "GlorotUniform"}

        self._penalty, config["regularizer"] = split_native(regularizer)
        super().__init__(
            create(
                "layer",
                "Weight",
                shape=[int(d) for d in shape],
                learned=self._trainable,
                constraint=native(self.constraint),
                name=unique_name("weight") if owner is None else f"{owner.name}_{name}",
                **{k: v for k, v in config.items() if v is not None},
            ),
            "value",
        )
        self._tensor = None
        if given is not None:
            self._put(given)

    @property
    def name(self):
        """The name."""
        return self._shown or "variable"

    @property
    def path(self):
        """The name of the variable behind those of its layers."""
        if self._owner is not None:
            return f"{self._owner.name}/{self.name}"
        return f"{self._scope}/{self.name}" if self._scope else self.name

    @property
    def shape(self):
        """The shape, a tuple."""
        return self._array.shape if self._layer is None else tuple(self._layer._config["shape"])

    @property
    def trainable(self):
        """Whether training changes the value."""
        return self._trainable and (self._layer is None or self._layer.trainable)

    @trainable.setter
    def trainable(self, yes):
        self._trainable = bool(yes)
        if self._layer is not None:
            self._layer.trainable = bool(yes)

    def numpy(self):
        """The value, as an array of its own."""
        return super().numpy() if self._layer is not None else self._array

    @property
    def regularizer(self):
        """The regularizer, or None."""
        return self._given[0]

    @property
    def constraint(self):
        """The constraint, or None."""
        return self._given[1]

    @constraint.setter
    def constraint(self, value):
        self._given, self._set_late = (self._given[0], value), True

    def _constrained_in_python(self):
        """Also where it was set after the library's variable was made."""
        return self.constraint is not None if self._set_late else super()._constrained_in_python()

    @property
    def _has_penalty(self):
        """Is its regularizer a function of Python?"""
        return self._penalty is not None

    def _penalty_tensor(self):
        """What that gives, symbolic, and the same each time."""
        if callable(self._penalty) and call_context.step() is not None:
            return self._penalty(self._as_tensor())
        if callable(self._penalty):
            self._penalty = self._penalty(self._as_tensor())
        return self._penalty

    def _as_tensor(self):
        step = call_context.step()
        if self._layer is None and (step is None or step.binds):
            t = as_tensor(self._array)
            t.call.variable = self, self._array
            return t
        if step is not None:
            return super()._as_tensor()
        if self._tensor is None:
            self._tensor = self._layer._call_symbolic()
            if self._owner is not None:  # it is that of all calls of the layer
                self._tensor.call.owner, self._layer._is_owned = None, True
        return self._tensor

    def assign(self, value):
        """Sets the value; in a traced step, after what came before."""
        if call_context.on_tape():
            return self._assign_at_once("assign", value)
        if self._layer is not None or call_context.owner() is not None:
            return super().assign(value)
        self._hold(Tensor.of(value, self.dtype).numpy())
        global_state.changed()
        return self

    def _hold(self, array):
        self._array = array.reshape(self.shape).astype(self.dtype)


@contextlib.contextmanager
def replaced(variables, values):
    """While it lasts variables hold other values."""
    values = [getattr(v, "value", v) for v in values]
    if call_context.owner() is not None or any(is_tensor(v) for v in values):
        raise NotImplementedError("a stateless function of symbolic values: expected arrays, outside of a traced call")
    before = [v.numpy().copy() for v in variables]
    try:
        for variable, value in zip(variables, values):
            variable.assign(value)
        yield
    finally:
        for variable, value in zip(variables, before):
            variable.assign(value)

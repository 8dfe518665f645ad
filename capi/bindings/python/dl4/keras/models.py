"""Models: functional, sequential and subclassed."""
import json
import weakref

from .. import core
from . import _state, layers as _layers
from ._tensors import Call, Input, KerasTensor, flatten, is_tensor, pack_like
from ._training import Training

_models = weakref.WeakSet()  # those that exist, for layers that look for their weights


class Variable:
    """A weight of a model."""

    def __init__(self, core_model, name, shape, trainable):
        self._core, self.path, self.shape, self.trainable = core_model, name, shape, trainable
        self.name = name.rsplit("/", 1)[-1]
        self.dtype = "float32"

    @property
    def size(self):
        n = 1
        for d in self.shape:
            n *= d
        return n

    def numpy(self):
        return self._core.get_weight(self.path)

    @property
    def value(self):
        return self.numpy()

    def assign(self, value):
        self._core.set_weight(self.path, value)
        _state.changed()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self):
        return f"<Variable path={self.path}, shape={self.shape}>"


class Functional:
    """What lies between symbolic tensors, in a graph of the library's."""

    def __init__(self, inputs, outputs):
        self.nest_in, self.nest_out = inputs, outputs
        self.inputs, self.outputs = flatten(inputs), flatten(outputs)
        for t in self.inputs + self.outputs:
            if not is_tensor(t):
                raise ValueError(f"expected symbolic tensors, got {t!r}")
        self.calls = self._needed()
        graphs = {c.layer.graph for c in self.calls if c.layer is not None and c.layer.graph is not None}
        if len(graphs) > 1:
            raise NotImplementedError("layers of models that were built apart can't be put into one model: "
                                      "call the models themselves")
        self.graph = graphs.pop() if graphs else core.Graph(_state.context())
        for call in self._placed():
            call.put(self.graph)
        node = [t.call.nodes[self.graph][t.index] for t in self.inputs]
        self.core = self.graph.build(node, [t.call.nodes[self.graph][t.index] for t in self.outputs])
        self._names = {}
        _models.add(self)

    def _needed(self):
        """Between the outputs and the inputs, in the order in which they were made."""
        ends, found, stack = {t.call for t in self.inputs}, {}, [t.call for t in self.outputs]
        while stack:
            call = stack.pop()
            if call in found:
                continue
            found[call] = None
            if call in ends:
                continue
            if call.layer is None and call.value is None:
                raise ValueError(f"the outputs need the input \"{call.name}\", which is not among the inputs of the model")
            stack.extend(t.call for t in call.sources())
        for end in ends:
            found[end] = None
        return sorted(found, key=lambda c: c.number)

    def _placed(self):
        """Where initial weights go by the order of calls, those that the model leaves out take their part too."""
        for t in self.inputs:
            if t.call.layer is not None:
                raise NotImplementedError(f"expected inputs made by Input(), got {t!r}")
        if not _state.goes_by_order():
            return self.calls
        return sorted({*self.calls, *layers_beside(self.calls)}, key=lambda c: c.number)

    def layers(self):
        """With one for each input, as in Keras."""
        found = {}
        for call in self.calls:
            if call.value is None:
                layer = call.layer or _layers.InputLayer(input_tensor=call.outputs[0])
                found.setdefault(call.layer or call, layer)
        return list(found.values())

    def weights(self):
        return [Variable(self.core, name, shape, trainable) for name, shape, trainable in self.core.weights()]


def layers_beside(calls):
    """Calls that read only what these calls give, made before the last of them."""
    known, found, last = set(calls), [], calls[-1].number
    waiting = [c for call in calls for c in call.readers]
    while waiting:
        call = waiting.pop()
        if call not in known and call.number < last and all(t.call in known for t in call.sources()):
            known.add(call)
            found.append(call)
            waiting += call.readers
    return found


def model_with(layer):
    """A model that has the weights of a layer; one of its first call if there is none yet."""
    for model in list(_models):
        if layer in model.layers():
            return model
    if not layer._calls:
        raise ValueError(f"layer {layer.name} has no weights before it is called")
    outputs = layer._calls[0].outputs
    inputs = [c.outputs[0] for c in outputs[0].call.needed() if c.layer is None and c.value is None]
    layer._weights_model = Functional(inputs, outputs)
    return layer._weights_model


def run(session, inputs, nest):
    """A session on arrays; arrays in the structure of a nest."""
    given = [core.Tensor.of(x, dtype) for x, dtype in inputs]
    return pack_like(nest, [eager(t.numpy()) for t in session.run(given)])


def eager(array):
    """An array with what a TensorFlow tensor has beside."""
    return array.view(_eager_class())


_eager = None


def _eager_class():
    global _eager
    if _eager is None:
        import numpy

        class Eager(numpy.ndarray):
            def numpy(self):
                return numpy.asarray(self)
        _eager = Eager
    return _eager


def symbolic_like(value):
    """An input for arrays like this one."""
    array = core.Tensor.of(value)
    return Input(batch_shape=(None, *array.shape[1:]) if array.shape else (), dtype=array.dtype)


def computed(layer, args, kwargs):
    """A layer called on arrays."""
    leaves = flatten([args, kwargs])
    arrays = [i for i, x in enumerate(leaves) if hasattr(x, "__array__") or hasattr(x, "__array_interface__")]
    symbols = list(leaves)
    for i in arrays:
        symbols[i] = symbolic_like(leaves[i])
    args, kwargs = pack_like([list(args), kwargs], symbols)
    training = kwargs.get("training")
    nest = layer(*args, **kwargs)
    model = Functional([symbols[i] for i in arrays], nest)
    session = model.core.session(training=bool(training))
    return run(session, [(leaves[i], symbols[i].dtype) for i in arrays], nest)


class Model(_layers.Layer, Training):
    """A model of inputs and outputs, Model(inputs, outputs), or of a class of one's own with a call() of its layers."""

    def __init__(self, inputs=None, outputs=None, name=None, trainable=True, **kwargs):
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._functional, self._session, self._compiled, self._trainer = None, None, None, None
        self.stop_training, self.history, self.optimizer = False, None, None
        if inputs is not None or outputs is not None:
            self._set(Functional(inputs, outputs))

    def _set(self, functional):
        self._functional, self._session, self._trainer, self.built = functional, None, None, True
        if not self._trainable:
            functional.core.set_trainable("*", False)

    # ---- structure

    @property
    def core(self):
        """The library's model."""
        return self._need().core

    def _need(self):
        if self._functional is None:
            raise ValueError(f"Model {self.name} has not yet been built: call it on data, or build(input_shape) first")
        return self._functional

    def build(self, input_shape):
        if isinstance(input_shape, list):
            inputs = [Input(batch_shape=s) for s in input_shape]
        else:
            inputs = Input(batch_shape=input_shape)
        self._trace(inputs)

    def _trace(self, inputs):
        """Of a class of one's own: its call() on symbolic tensors."""
        self.built = True
        self._set(Functional(inputs, self.call(inputs)))

    def _built_for(self, x):
        if self._functional is None:
            leaves = [symbolic_like(leaf) for leaf in flatten(x)]
            self._trace(pack_like(x, leaves))
        return self._functional

    def __call__(self, *args, **kwargs):
        if any(is_tensor(leaf) for leaf in flatten([args, kwargs])):
            return self._symbolic(*args, **kwargs)
        training = kwargs.pop("training", None)
        kwargs.pop("mask", None)
        if len(args) != 1 or kwargs:
            from .models import computed
            return computed(self, args, kwargs)
        functional = self._built_for(args[0])
        if training:
            session = functional.core.session(training=True)
        else:
            session = self._inference()
        return run(session, list(zip(self._arranged(args[0]), [t.dtype for t in functional.inputs])), functional.nest_out)

    def _inference(self):
        """A session with the weights of today."""
        if self._session is None or self._changed():
            self._session = self.core.session()
            self._versions = self._now()
        return self._session

    def _arranged(self, x):
        """Data in the order of the inputs: in their structure, or by their names."""
        functional = self._built_for(x)
        if isinstance(x, dict):
            x = [x[t.name] for t in functional.inputs]
        leaves = [x] if len(functional.inputs) == 1 and not isinstance(x, (list, tuple)) else flatten_arrays(x, functional)
        if len(leaves) != len(functional.inputs):
            raise ValueError(f"Model {self.name} expects {len(functional.inputs)} inputs, got {len(leaves)}")
        return leaves

    def _symbolic(self, *args, **kwargs):
        if self._functional is None or not args or len(args) > 1:
            return self._traced(*args, **kwargs)
        functional, given = self._functional, flatten(args[0])
        if len(given) != len(functional.inputs):
            raise ValueError(f"Model {self.name} expects {len(functional.inputs)} inputs, got {len(given)}")
        plain = {} if kwargs.get("training") is None else {"training": bool(kwargs["training"])}
        now = {t: s for t, s in zip(functional.inputs, given)}
        for call in functional.calls:
            if call.layer is None:
                if call.value is not None:
                    now[call.outputs[0]] = call.outputs[0]
                continue
            again = Call(call.layer, [now[t] for t in call.inputs], {**plain, **call.plain},
                         {key: [None if t is None else now[t] for t in list_] for key, list_ in call.tensors.items()})
            now.update(zip(call.outputs, again.try_out()))
        return pack_like(functional.nest_out, [now[t] for t in functional.outputs])

    def call(self, inputs, training=None, mask=None):
        if self._functional is None:
            raise NotImplementedError(f"{type(self).__name__} has no call()")
        return self._symbolic(inputs)

    @property
    def inputs(self):
        return self._need().inputs

    @property
    def outputs(self):
        return self._need().outputs

    @property
    def input(self):
        return self._need().nest_in

    @property
    def output(self):
        return self._need().nest_out

    @property
    def input_shape(self):
        shapes = [t.shape for t in self.inputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def output_shape(self):
        shapes = [t.shape for t in self.outputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def input_names(self):
        return self.core.names(0)

    @property
    def output_names(self):
        return self.core.names(1)

    @property
    def layers(self):
        return self._need().layers() if self._functional is not None else self._inner()

    def get_layer(self, name=None, index=None):
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. Existing layers are: {[layer.name for layer in self.layers]}.")

    @property
    def weights(self):
        return self._need().weights()

    @property
    def trainable(self):
        return self._trainable

    @trainable.setter
    def trainable(self, yes):
        self._trainable = bool(yes)
        if self._functional is not None:
            for layer in self._functional.layers():
                if isinstance(layer, _layers.Layer):
                    layer._trainable = bool(yes)
            self._functional.core.set_trainable("*", yes)

    def summary(self, line_length=None, positions=None, print_fn=None, **_):
        (print_fn or print)(self.core.describe(1))

    def to_json(self, **_):
        return self.core.describe(0)

    def get_config(self):
        return json.loads(self.to_json())

    def save(self, filepath, overwrite=True, **_):
        """One safetensors file with architecture and weights."""
        path = str(filepath)
        if path.endswith((".keras", ".h5", ".hdf5")):
            raise NotImplementedError(f"{path}: Keras's own files are not in this version; save as .safetensors")
        if not overwrite:
            import os
            if os.path.exists(path):
                raise FileExistsError(path)
        self.core.save(path)

    def save_weights(self, filepath, overwrite=True):
        self.save(filepath, overwrite)

    def load_weights(self, filepath, **_):
        other = core.Model.load(str(filepath), _state.context())
        names = [name for name, _, _ in self.core.weights()]
        theirs = [name for name, _, _ in other.weights()]
        if len(names) != len(theirs):
            raise ValueError(f"the file has {len(theirs)} weights, the model {len(names)}")
        for mine, name in zip(names, theirs):
            self.core.set_weight(mine, other.get_weight(name))


def flatten_arrays(x, functional):
    """The arrays of a nest: a list of numbers is one array where there is one input."""
    if len(functional.inputs) == 1 and not any(hasattr(leaf, "__array__") for leaf in flatten(x)):
        return [x]
    return flatten(x)


class Sequential(Model):
    """Layers, one after the other."""

    def __init__(self, layers=None, trainable=True, name=None):
        super().__init__(name=name or _state.unique("sequential"), trainable=trainable)
        self._list = []
        for layer in layers or []:
            self.add(layer)

    def add(self, layer, rebuild=True):
        if is_tensor(layer):
            layer = _layers.InputLayer(input_tensor=layer)
        if not isinstance(layer, (_layers.Layer, _layers.InputLayer)):
            raise ValueError(f"Only instances of `keras.Layer` can be added to a Sequential model. Received: {layer!r}")
        if isinstance(layer, _layers.InputLayer) and self._list:
            raise ValueError(f"Sequential model '{self.name}' has already been configured to use input shape")
        self._list.append(layer)
        self._rebuild()

    def pop(self, rebuild=True):
        layer = self._list.pop()
        self._rebuild()
        return layer

    def _rebuild(self):
        self._functional = None
        if self._list and isinstance(self._list[0], _layers.InputLayer) and len(self._list) > 1:
            self._trace(self._list[0].tensor)

    def call(self, inputs, training=None, mask=None):
        for layer in self._list:
            if not isinstance(layer, _layers.InputLayer):
                inputs = layer(inputs)
        return inputs

    @property
    def layers(self):
        return [layer for layer in self._list if not isinstance(layer, _layers.InputLayer)]


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """A model of a file that save() wrote; of a .dl4 or .safetensors file of any language."""
    return from_core(core.Model.load(str(filepath), _state.context()))


def from_core(core_model):
    """A model of a graph that is made of the architecture, with the weights of a core model."""
    from ._rebuilt import rebuilt
    model = rebuilt(json.loads(core_model.describe(0)))
    for name, _, trainable in core_model.weights():
        model.core.set_weight(name, core_model.get_weight(name))
        if not trainable:
            model.core.set_trainable(name, False)
    return model


def model_from_json(architecture, custom_objects=None):
    from ._rebuilt import rebuilt
    return rebuilt(json.loads(architecture))


def clone_model(model, input_tensors=None, **_):
    """The same architecture with weights of its own."""
    return model_from_json(model.to_json())

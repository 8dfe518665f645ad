"""Makes conformance.json, the cases that every binding runs: README.md says how to read them.

Expected numbers are Keras's, of the version that tests/golden names.
"""
import copy
import importlib
import json
import os
import pathlib
import re
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
CASES = []
SEPARATE = ("MultiHeadAttention",)  # layers that Keras calls on one argument for each input, not on a list


def case(function):
    """A case: its name is its docstring."""
    CASES.append(function)
    return function


def type_of(array):
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def numbers(array):
    """Values as the shortest text that gives the same float32 back; strings as they are."""
    import numpy as np
    array = np.asarray(array)
    if type_of(array) == "string":
        return [v.decode() if isinstance(v, bytes) else v for v in array.ravel().tolist()]
    if array.dtype == "bool":
        array = array.astype(int)
    return [float(str(v)) if array.dtype == "float32" else v.item() for v in array.ravel()]


class Case:
    """The steps of one case, and random numbers of its own."""

    def __init__(self, function):
        import numpy as np
        self.name, self.steps = function.__doc__, []
        self.random = np.random.default_rng(len(self.name))
        function(self)

    def __call__(self, do, error=None, **step):
        step = {"do": do, **{k: v for k, v in step.items() if v is not None}}
        if error is not None:
            step["error"] = {"code": "DL4_" + error} if isinstance(error, str) else error
        self.steps.append(step)

    def tensor(self, to, values, dtype=None):
        import numpy as np
        array = np.asarray(values, object if dtype == "string" else dtype or "float32")
        self("tensor", to=to, dtype=type_of(array), shape=list(array.shape), values=numbers(array))
        return array

    def draw(self, to, *shape, dtype="float32", below=3):
        """A tensor of normal or, of integers, uniform numbers."""
        if dtype == "float32":
            return self.tensor(to, self.random.normal(size=shape).round(2))
        return self.tensor(to, self.random.integers(below, size=shape), dtype)

    def expect(self, tensor, array, tolerance=None):
        import numpy as np
        array = np.asarray(array)
        self("expect", tensor=tensor, dtype=type_of(array), shape=list(array.shape), values=numbers(array),
             tolerance=tolerance)


def fails(code, **facts):
    return {"code": "DL4_" + code, **facts}


class Net:
    """A graph, and the same layers in Keras."""

    def __init__(self, c, context=None):
        self.c, self.values, self.data, self.learned = c, {}, {}, []
        c("graph", to="g", context=context)

    def input(self, to, *shape, dtype="float32"):
        import keras
        self.c("input", graph="g", to=to, name=to, dtype=dtype, shape=[-1, *[-1 if d is None else d for d in shape]])
        self.values[to] = keras.Input(shape, dtype=dtype, name=to)

    def layer(self, to, kind, attrs=None):
        import keras
        self.c("layer", graph="g", to=to, kind=kind, name=to, attrs=attrs)
        self.values[to] = getattr(keras.layers, kind).from_config(copy.deepcopy({**(attrs or {}), "name": to}))

    def call(self, layer, ins, outs):
        self.c("call", graph="g", layer=layer, to=outs, **{"in": ins})
        self._call(self.values[layer], ins, outs, {})

    def add(self, kind, ins, outs, attrs=None, flags=None, nodes=None):
        """outs[0] is the layer's name too."""
        import keras
        self.c("add", graph="g", kind=kind, name=outs[0], attrs=attrs, call=flags, nodes=nodes, to=outs, **{"in": ins})
        layer = getattr(keras.layers, kind).from_config(copy.deepcopy({**(attrs or {}), "name": outs[0]}))
        arguments = {**(flags or {}), **{k: self.values[n] for k, [n] in (nodes or {}).items()}}
        self._call(layer, ins, outs, arguments, kind in SEPARATE)

    def adapt(self, kind, data, ins, outs, attrs=None):
        """add() of a layer that has learned from a tensor, in batches of 2."""
        import keras
        name = outs[0]
        self.c("dataset", to=f"data of {name}", x=[data], options={"batch_size": 2})
        self.c("adapt", to=f"config of {name}", kind=kind, attrs=attrs, dataset=f"data of {name}")
        self.c("add", graph="g", kind=kind, name=name, config=f"config of {name}", to=outs, **{"in": ins})
        layer = getattr(keras.layers, kind)(**(attrs or {}), name=name)
        layer.adapt(self.data[data])
        self._call(layer, ins, outs, {})
        self.learned.append(layer)

    def _call(self, layer, ins, outs, arguments, separate=False):
        given = [self.values[n] for n in ins]
        result = layer(*given, **arguments) if separate or len(given) == 1 else layer(given, **arguments)
        for out, value in zip(outs, result if isinstance(result, (list, tuple)) else [result]):
            self.values[out] = value

    def build(self, ins, outs, scale=0.5):
        """Builds, checks the names of the weights and gives them values."""
        import keras
        self.outs = outs
        self.c("build", graph="g", to="m", out=outs, **{"in": ins})
        self.model = keras.Model([self.values[n] for n in ins], [self.values[n] for n in outs])
        known = [id(w) for layer in self.learned for w in layer.weights]  # what is learned is of the config
        self.weights = [w for w in self.model.weights if id(w) not in known]
        self.names = [re.sub(r"(lstm|gru|simple_rnn)_cell/", "", w.path) for w in self.weights]
        self.c("weights", model="m", names=self.names)
        for weight, name in zip(self.weights, self.names):
            value = (self.c.random.normal(size=weight.shape) * scale).round(2).astype("float32")
            value = abs(value) + 0.5 if name.endswith("variance") else value
            self.c.tensor(name, value)
            self.c("set_weight", model="m", name=name, tensor=name)
            weight.assign(value)

    def draw(self, to, *shape, **how):
        self.data[to] = self.c.draw(to, *shape, **how)

    def run(self, *ins, training=None, tolerance=None):
        """A run of a session, and Keras's outputs."""
        import numpy as np
        self.c("session", model="m", to="s")
        self.c("run", session="s", to=["out " + n for n in self.outs], **{"in": list(ins)})
        given = [self.data[n] for n in ins]
        outs = self.model(given if len(given) > 1 else given[0], training=training)
        for name, out in zip(self.outs, outs if isinstance(outs, (list, tuple)) else [outs]):
            self.c.expect("out " + name, np.asarray(out), tolerance)

    def trainer(self, **options):
        """A trainer, and Keras's compile."""
        import keras
        self.c("trainer", model="m", options=options, to="t")
        self.model.compile(**{**options, "optimizer": keras.optimizers.get(copy.deepcopy(options["optimizer"]))})

    def _batch(self, names):
        import tensorflow
        given = [self.data[n] for n in names]
        given = [tensorflow.constant(v) if v.dtype == object else v for v in given]  # fit() takes no arrays of strings
        return given[0] if len(given) == 1 else given or None

    def step(self, x, y, w=()):
        self.model.reset_metrics()
        metrics = self.model.train_on_batch(self._batch(x), self._batch(y), self._batch(w), return_dict=True)
        self.c("step", trainer="t", x=x, y=y, w=list(w) or None, metrics={k: numbers(v)[0] for k, v in metrics.items()})

    def evaluate(self, dataset, x, y, w=()):
        metrics = self.model.evaluate(self._batch(x), self._batch(y), sample_weight=self._batch(w), verbose=0,
                                      return_dict=True, batch_size=4)
        self.c("evaluate", trainer="t", dataset=dataset, metrics={k: numbers(v)[0] for k, v in metrics.items()})

    def fit(self, dataset, x, y, valid=None, options=None, callbacks=(), **more):
        """Of a dataset without shuffle of batches of 4; `more` is what Keras's fit is given beyond the options."""
        options = options or {}
        both = {k: v for k, v in options.items() if k not in ("callbacks", "resume")}
        history = self.model.fit(self._batch(x), self._batch(y), verbose=0, shuffle=False, batch_size=4,
                                 callbacks=list(callbacks), **{**both, **more}).history
        self.c("fit", trainer="t", train=dataset, valid=valid, options=options,
               history={k: [numbers(v)[0] for v in values] for k, values in history.items()})

    def weight(self, name):
        """The weight now is Keras's."""
        import numpy as np
        self.c("get_weight", model="m", name=name, to="now")
        self.c.expect("now", np.asarray(self.weights[self.names.index(name)]))


def text():
    for module in ("conformance_cases", "conformance_training", "conformance_graphs", "conformance_streams",
                   "conformance_texts", "conformance_refusals"):
        importlib.import_module(module)
    made = [Case(f) for f in CASES]
    names = [c.name for c in made]
    assert len(set(names)) == len(names), "two cases of one name"
    def line(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    cases = [f'{{"name":{line(c.name)},"steps":[\n  ' + ",\n  ".join(map(line, c.steps)) + "]}" for c in made]
    return '{"format":1,"cases":[\n' + ",\n".join(cases) + "\n]}\n"


def main():
    import keras
    import tensorflow
    tensorflow.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(0)
    (HERE / "conformance.json").write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    sys.modules["conformance"] = sys.modules["__main__"]
    main()

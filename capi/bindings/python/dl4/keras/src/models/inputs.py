"""What a model makes of the data that it is given."""

import warnings

from ..backend import call_context
from ..backend.config import in_graph
from ..symbolic.execution import symbolic_like
from ..symbolic.function import Function, input_like
from ..symbolic.step_model import is_stateful
from ..trainers.data_adapters import fed_tensors, for_input, leaves_of, need_optional, rows_of
from ..tree import flatten, map_nest, pack_like


class Inputs:
    """A model's graph by the sizes of data, and tensors for its inputs."""

    def _build_from_data(self, x, free=1):
        """Its function, traced with the sizes of x; those of the first axes are free."""
        if self._functional is None:
            with call_context.apart():
                self._trace(
                    map_nest(lambda v: symbolic_like(v, free=free), x)
                    if isinstance(x, (list, tuple))
                    else {k: symbolic_like(v, k, free) for k, v in x.items()}
                    if isinstance(x, dict)
                    else symbolic_like(x, free=free)
                )
        return self._functional

    def _keep_up(self):
        """Before it is run, saved or trained: what read attributes that are other things now is traced again."""
        kept = self._functional, self._training_functional, self._inferring_functional, self._saying_functional
        outdated = any(functional is not None and functional.is_outdated() for functional in kept)
        if self._trainer is not None and (outdated or self._trainer.reads.changed()):
            self._suspend()
        if not outdated:
            return
        absent, functional = self._functional.absent, self._functional.complete
        with call_context.apart():
            if self._has_custom_call():
                self._trace(functional.nest_in)
            else:
                outputs = functional.called(functional.inputs, again=True)
                self._set_function(Function(functional.nest_in, outputs).without(absent))

    def _for_given(self, x):
        """Its function where None is given for optional inputs, or for none of them."""
        functional = self._build_from_data(x)
        if not any(t.call.optional for t in functional.inputs):
            return functional
        pairs = zip(self._in_input_order(x), functional.inputs)
        absent = frozenset(t for v, t in pairs if v is None and t.call.optional)
        if absent != functional.absent:
            self._use(functional.complete.without(absent))
        return self._functional

    def _use_all_inputs(self):
        if self._functional is not None and self._functional.absent:
            self._use(self._functional.complete)

    def _use(self, functional):
        """Takes another function, and keeps what training has come to."""
        if self._trainer is not None:
            self._suspend()
        self._set_function(functional)

    def _size_for(self, x, free=1):
        """Before data is run: a call() that was traced with other sizes is traced again, with those free. The size of a
        batch that an input was said to have is one that only stateful layers keep to, as in Keras."""
        self._keep_up()
        self._build_from_data(x, free)
        functional = self._for_given(x)
        fixed = any(t.shape and t.shape[0] is not None for t in functional.inputs)
        fixed = fixed and not any(map(is_stateful, self._flatten_layers()))
        if not self._follows_sizes():
            if fixed:
                functional = functional.complete
                free = [input_like(t, (None, *t.shape[1:])) for t in functional.inputs]
                self._use(Function(pack_like(functional.nest_in, free), functional.called(free, again=True)))
                self._for_given(x)
            return
        sizes = [tuple(getattr(v, "shape", ())) for v in flatten(x)]
        known = [t.shape for t in flatten(functional.nest_in)]
        if [len(s) for s in sizes] != [len(k) for k in known]:
            return
        joined = [
            tuple(a if a == b and i >= free else None for i, (a, b) in enumerate(zip(k, s)))
            for s, k in zip(sizes, known)
        ]
        if fixed or any(j[1:] != k[1:] for j, k in zip(joined, known)):
            if self._trainer is not None:
                self._suspend()
            inputs = [input_like(t, (None, *j[1:])) for t, j in zip(flatten(functional.nest_in), joined)]
            with call_context.apart():
                self._trace(pack_like(functional.nest_in, inputs))

    def _follows_sizes(self):
        """Is it traced anew for data of other sizes than those of its first call?"""
        return self._has_custom_call()

    def _inputs_of(self, x):
        """Tensors of the inputs."""
        functional = self._build_from_data(x)
        other = _other_structure(x, functional.nest_in)
        if other is not None:
            warnings.warn(other, stacklevel=2)
        given = self._given_arrays(x)
        if functional.ahead is not None:
            return fed_tensors(functional, given)
        return [for_input(v, t) for v, t in zip(given, functional.inputs)]

    def _given_arrays(self, x):
        """Data in the order of the inputs. What stands for None nobody reads."""
        import numpy

        functional, given = self._functional, self._in_input_order(x)
        for v, t in zip(given, functional.inputs):
            none = v is None or isinstance(v, (list, tuple)) and any(e is None for e in v)
            if none:
                need_optional(t, self.name)
            if none != (t in functional.absent):
                raise ValueError(
                    f"{self.name}: the optional input {t.name!r}: expected {'data' if none else 'None'} as in the "
                    f"batches before, got {'None' if none else 'data'}: it is given with all batches, or with none"
                )
        if not functional.absent:
            return given
        rows = rows_of(given)
        return [
            numpy.zeros((rows, *(d or 1 for d in t.shape[1:])), "U1" if t.dtype == "string" else in_graph(t.dtype))
            if v is None
            else v
            for v, t in zip(given, functional.inputs)
        ]

    def _feed(self):
        """Where training needs other inputs of the library's part than inference: a function of the tensors "
        "of a batch."""
        functional = self._for_training()
        if functional is self._functional or functional.ahead is None:
            return None
        if self._functional.ahead is not None:
            raise NotImplementedError(
                f"{self.name}: a model with both text layers and image augmentation layers is not "
                "supported"
            )
        return lambda tensors: fed_tensors(functional, [t.numpy() for t in tensors])

    def _in_input_order(self, x):
        """Data in the order of the inputs: in their structure, or by their names."""
        functional = self._build_from_data(x)
        wanted = functional.nest_in
        if isinstance(wanted, dict) and not isinstance(x, dict) and list(wanted) != sorted(wanted):
            raise ValueError(_other_structure(x, wanted))  # as Keras: which is which, nothing says
        by_key = (
            isinstance(functional.nest_in, dict) and isinstance(x, dict) and all(k in x for k in functional.nest_in)
        )
        if isinstance(x, dict) and not by_key:
            keys = functional.nest_in if isinstance(functional.nest_in, dict) else self.input_names
            missing = [key for key in keys if key not in x]
            if missing:
                raise ValueError(
                    f'Missing data for input "{missing[0]}". You passed a data dictionary with keys '
                    f"{list(x)}. Expected the following keys: {list(keys)}"
                )
            return [x[t.name] for t in functional.inputs]
        if isinstance(x, dict):
            return flatten({k: x[k] for k in functional.nest_in})
        leaves = [x] if len(functional.inputs) == 1 and not isinstance(x, (list, tuple)) else leaves_of(x, functional)
        if len(leaves) != len(functional.inputs):
            named = (
                f"named input(s) with keys {list(functional.nest_in)}" if isinstance(functional.nest_in, dict) else ""
            )
            raise ValueError(
                f'Layer "{self.name}" expects {len(functional.inputs)} {named or "input(s)"}, but it received '
                f"{len(leaves)} input tensors. Expected the inputs {[t.name for t in functional.inputs]}"
            )
        return leaves


def _other_structure(given, wanted):
    """What is said of data whose structure is not that of the inputs; None where it is."""
    if not isinstance(wanted, dict) or isinstance(given, dict) and set(given) == set(wanted):
        return None
    names = map_nest(lambda t: t.name, wanted)
    shapes = map_nest(lambda v: f"Tensor(shape={getattr(v, 'shape', ())})", given)
    return (
        "The structure of `inputs` doesn't match the expected structure.\n"
        f"Expected: {names}\nReceived: inputs={shapes}"
    )

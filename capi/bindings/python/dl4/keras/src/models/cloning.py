"""Copies of models, and models of JSON."""

import json

from .. import overrides
from ..layers.input_layer import InputLayer
from ..saving.serialization_lib import deserialize_keras_object
from ..symbolic.function import input_like
from ..symbolic.tensor import is_tensor
from ..tree import flatten, map_nest
from .calls import calls_of
from .model import Model
from .rebuild import rebuild
from .sequential import Sequential


def clone_model(model, input_tensors=None, clone_function=None, call_function=None, recursive=False):
    """The same architecture with weights of its own."""
    if call_function is not None and (isinstance(model, Sequential) or overrides.is_overridden(model, "call")):
        raise ValueError(
            "`call_function` argument is not supported with Sequential models, nor with models of a call() of their "
            f"own. Received model of type '{type(model).__name__}', with call_function={call_function}"
        )
    copy = cloned(model, input_tensors, clone_function, recursive, call_function)
    if model.compiled:
        how = dict(model._compiled)
        copy.compile(type(model.optimizer).from_config(model.optimizer.get_config()), **how)
    return copy


def model_from_json(json_string, custom_objects=None):
    """A model of what to_json() gave, with new weights."""
    architecture = json.loads(json_string)
    if "layers" in architecture:  # of the library's own
        return rebuild(architecture, Model)
    return deserialize_keras_object(architecture, custom_objects)


def cloned(model, input_tensors=None, clone_function=None, recursive=False, call_function=None):
    """The same calls of other layers."""
    copy = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if overrides.is_overridden(model, "call"):
        return type(model).from_config(model.get_config())

    def clone(layer):
        if isinstance(layer, Model) and (clone_function is None or recursive):
            inside = None if isinstance(layer, Sequential) else call_function
            return cloned(layer, None, clone_function, recursive, inside if recursive else None)
        return copy(layer)

    if isinstance(model, Sequential):
        if input_tensors is not None:
            first = [input_tensors[0] if isinstance(input_tensors, list) else input_tensors]
        else:
            first = [
                input_like(x.tensor)
                for x in model._list[:1]
                if isinstance(x, InputLayer)
            ]
        made = Sequential(first + [clone(layer) for layer in model.layers], name=model.name)
        if not first and model._functional is not None:
            made.build(model._functional.inputs[0].shape)
        return made
    functional, now, layers = model._require_built().complete, {}, {}
    if input_tensors is not None and isinstance(input_tensors, dict) != isinstance(functional.nest_in, dict):
        raise ValueError(
            f"`input_tensors` must have the same structure as model.input. Received: input_tensors={input_tensors}"
        )
    given = (
        flatten(input_tensors)
        if input_tensors is not None
        else [input_like(t) for t in functional.inputs]
    )
    now.update(zip(functional.inputs, given))
    for layer, args, kwargs, outputs in calls_of(functional):
        if layer is None:
            continue
        if layer not in layers:
            layers[layer] = clone(layer)
            layers[layer]._is_operation = layer._is_operation

        def other(x):
            return now.get(x, x) if is_tensor(x) else x

        given, named = map_nest(other, list(args)), map_nest(other, dict(kwargs))
        if call_function is None or layer._is_operation:
            got = layers[layer](*given, **named)
        else:
            got = call_function(layers[layer], *given, **named)
        now.update(zip(flatten(outputs), flatten(got)))
    new_in = map_nest(lambda t: now[t], functional.nest_in)
    return type(model)(new_in, map_nest(lambda t: now[t], functional.nest_out), name=model.name)

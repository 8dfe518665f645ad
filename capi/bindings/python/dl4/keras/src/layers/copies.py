"""Layers as pickle and copy keep them: the config, the shapes that they are built for, and the weights."""

from ..backend import call_context
from ..quantizers import fitting
from ..saving.object_registration import custom_object_scope
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..utils.naming import temporary_names


def parts_of(layer):
    for one in layer._flatten_layers():
        fitting.need_fitted(one, "pickle and copy")
    classes = {type(one).__name__: type(one) for one in layer._flatten_layers()}
    own = {name: cls for name, cls in classes.items() if cls.__module__.split(".")[0] != "dl4"}
    first = layer.__dict__.get("_first_native_call")
    shapes = layer._shapes or ([t.shape for t in first.inputs] if first is not None else [])
    return serialize_keras_object(layer), own, shapes, layer.get_weights() if layer.built else None


def made_of(config, own, shapes, values):
    with custom_object_scope(own), call_context.apart(), temporary_names():
        layer = deserialize_keras_object(config)
        if values is not None and not layer.built:
            (layer.build if layer._class_name is not None else layer.compute_output_shape)(*shapes)
    if values:
        layer.set_weights(values)
    return layer

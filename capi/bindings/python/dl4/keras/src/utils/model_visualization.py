"""Drawings of models."""

import os
import re
import shutil

_NODE = re.compile(r'^  (\w+) \[label="(.*) \((\w+)\)\\n(.*)"\];$', re.M)


def model_to_dot(
    model,
    show_shapes=False,
    show_dtype=False,
    show_layer_names=True,
    rankdir="TB",
    expand_nested=False,
    dpi=200,
    subgraph=False,
    show_layer_activations=False,
    show_trainable=False,
):
    """The model as DOT text."""
    if subgraph:
        raise NotImplementedError("model_to_dot: `subgraph` is not in this version of the library")
    layers = {layer.name: layer for layer in model.layers}
    if expand_nested and any(hasattr(layer, "layers") for layer in layers.values()):
        raise NotImplementedError("model_to_dot: `expand_nested` is not in this version of the library")

    def node(m):
        key, name, kind, shape = m.groups()
        layer = layers.get(name)
        activation = getattr(layer, "activation", None)
        lines = [f"{name} ({kind})" if show_layer_names else kind]
        if show_layer_activations and activation is not None:
            lines.append(f"activation: {getattr(activation, '__name__', activation)}")
        if show_shapes:
            lines.append(f"output shape: {shape}")
        if show_dtype:
            lines.append(f"output dtype: {getattr(layer, 'dtype', None) or 'float32'}")
        if show_trainable and layer is not None:
            lines.append("trainable" if layer.trainable else "non-trainable")
        return f'  {key} [label="' + "\\n".join(lines) + '"];'

    text = _NODE.sub(node, model.core.describe(2))
    return text.replace("{\n", f'{{\n  graph [rankdir="{rankdir}", dpi={dpi}];\n', 1)


def plot_model(
    model,
    to_file="model.png",
    show_shapes=False,
    show_dtype=False,
    show_layer_names=False,
    rankdir="TB",
    expand_nested=False,
    dpi=200,
    show_layer_activations=False,
    show_trainable=False,
):
    """Draws a model with Graphviz's `dot` and returns the name of the file. Without Graphviz, or if the name ends in
    .dot, the file is the DOT text."""
    text = model_to_dot(
        model,
        show_shapes,
        show_dtype,
        show_layer_names,
        rankdir,
        expand_nested,
        dpi,
        show_layer_activations=show_layer_activations,
        show_trainable=show_trainable,
    )
    path = os.fspath(to_file)
    stem, suffix = os.path.splitext(path)
    dot = None if suffix == ".dot" else shutil.which("dot")
    source = f"{stem}.dot" if dot is None else f"{path}.dot"
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    if dot is None:
        return source
    status = os.spawnv(os.P_WAIT, dot, [dot, f"-T{suffix[1:] or 'png'}", "-o", path, source])
    os.remove(source)
    if status != 0:
        raise OSError(f"{path}: expected Graphviz's dot to succeed, got exit status {status}")
    return path

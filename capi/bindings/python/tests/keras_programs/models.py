"""Models: nested, sequential; clones, configs, files."""

import numpy as np

import os
import tempfile

from . import DATA, ONE_HOT, fill, mlp, numbers, program, raised


@program
def nested_models(keras):
    inner = mlp(keras, "relu")
    x = keras.Input((4,))
    m = keras.Model(x, keras.layers.Dense(2)(inner(x)))
    fill(m)
    m.compile("sgd", "mse")
    h = m.fit(DATA, numbers(40, 2), epochs=2, verbose=0, shuffle=False)
    return (
        h.history["loss"],
        [type(layer).__name__ for layer in m.layers],
        len(m.weights),
        m.layers[1].count_params(),
        inner.predict(DATA[:2], verbose=0),
    )


@program
def model_called_twice(keras):
    tower = mlp(keras, "tanh")
    a, b = keras.Input((4,)), keras.Input((4,))
    d = keras.layers.Dot(axes=1, normalize=True)([tower(a), tower(b)])
    m = keras.Model([a, b], d)
    m.compile("sgd", "mse")
    h = m.fit([DATA, DATA[::-1]], numbers(40, 1), epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], len(m.get_weights()), tower.get_weights()


@program
def sequential_of_models(keras):
    a = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, activation="relu")], name="a")
    m = keras.Sequential([a, keras.layers.Dense(2)])
    fill(m)
    return m.predict(DATA[:3], verbose=0), [layer.name.split("_")[0] for layer in m.layers], str(m.output_shape)


@program
def sequential_add_and_pop(keras):
    m = keras.Sequential(name="s")
    m.add(keras.Input((4,)))
    m.add(keras.layers.Dense(5))
    m.add(keras.layers.Dense(2))
    shapes = [str(m.output_shape), len(m.layers)]
    m.pop()
    return shapes, str(m.output_shape), len(m.layers), m.name


@program
def autoencoder(keras):
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="relu")])
    decoder = keras.Sequential([keras.Input((2,)), keras.layers.Dense(4)])
    x = keras.Input((4,))
    m = keras.Model(x, decoder(encoder(x)))
    fill(m)
    m.compile("adam", "mse")
    h = m.fit(DATA, DATA, epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], encoder.predict(DATA[:3], verbose=0), decoder.predict(numbers(3, 2), verbose=0)


@program
def sequential_built_by_shape(keras):
    m = keras.Sequential([keras.layers.Dense(3), keras.layers.Dense(2)])
    m.build((None, 4))
    fill(m)
    return m.predict(DATA[:2], verbose=0), m.count_params()


@program
def cloned_model(keras):
    m = mlp(keras)
    n = keras.models.clone_model(m)
    n.set_weights(m.get_weights())
    m.compile("sgd", "mse")
    m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False)
    return (
        n.predict(DATA[:2], verbose=0),
        m.predict(DATA[:2], verbose=0),
        [layer.name for layer in n.layers] == [layer.name for layer in m.layers],
    )


@program
def model_from_its_config(keras):
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    d = keras.layers.Dense(3, name="d")
    y = keras.layers.Concatenate(name="c")([d(a), d(a), b])
    m = fill(keras.Model([a, b], [y, keras.layers.Dense(1, name="e")(y)], name="net"))
    n = keras.Model.from_config(m.get_config())
    n.set_weights(m.get_weights())
    return n.predict([numbers(2, 3), numbers(2, 2)], verbose=0), n.name, [layer.name for layer in n.layers]


@program
def sequential_from_its_config(keras):
    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu", name="d"), keras.layers.Dense(2)])
    n = keras.Sequential.from_config(m.get_config())
    fill(n)
    return n.predict(DATA[:2], verbose=0), [layer.name for layer in n.layers][:1]


@program
def model_to_json_and_back(keras):
    m = mlp(keras)
    n = keras.models.model_from_json(m.to_json())
    n.set_weights(m.get_weights())
    return n.predict(DATA[:3], verbose=0)


@program
def saved_and_loaded(keras):
    m = mlp(keras)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras" if keras.__name__ == "keras" else "m.safetensors")
        m.save(path)
        n = keras.models.load_model(path)
    n.compile("sgd", "mse")
    return n.predict(DATA[:3], verbose=0), n.fit(DATA, ONE_HOT, verbose=0, shuffle=False).history["loss"]


@program
def saved_with_constants(keras):
    x = keras.Input((4,))
    y = keras.layers.Dense(3)(x) * np.array([1.0, 2.0, 3.0], "float32") + np.array([0.5, 0.0, -0.5], "float32")
    m = fill(keras.Model(x, y))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras" if keras.__name__ == "keras" else "m.safetensors")
        m.save(path)
        n = keras.models.load_model(path)
    return n.predict(DATA[:3], verbose=0)


@program
def summary_text(keras):
    x = keras.Input((8, 8, 1), name="image")
    y = keras.layers.Conv2D(4, 3, name="conv")(x)
    y = keras.layers.Dense(10, name="head")(keras.layers.Flatten(name="flat")(y))
    lines = []
    keras.Model(x, y, name="net").summary(print_fn=lambda line, **_: lines.append(line))
    text = "\n".join(lines)
    return [
        w in text
        for w in (
            'Model: "net"',
            "conv (Conv2D)",
            "(None, 6, 6, 4)",
            "1,450",
            "Total params: 1,490",
            "5.82 KB",
            "Trainable params: 1,490",
            "Non-trainable params: 0 (0.00 B)",
            "Param #",
        )
    ]


@program
def order_of_layers_and_weights(keras):
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    p = keras.layers.Dense(4, name="p")(a)
    q = keras.layers.Dense(5, name="q")(b)
    r = keras.layers.Dense(4, name="r")(q)
    m = keras.Model([a, b], keras.layers.Add(name="sum")([p, r]))
    return [layer.name for layer in m.layers], [list(w.shape) for w in m.weights]


@program
def names_and_shapes_of_models(keras):
    a, b = keras.Input((3,), name="a"), keras.Input((None, 2), name="b")
    m = keras.Model([a, b], [keras.layers.Dense(4, name="p")(a), keras.layers.Dense(5, name="q")(b)])
    return (
        str(m.input_shape),
        str(m.output_shape),
        m.output_names,
        [t.name for t in m.inputs],
        m.get_layer("p").units,
        m.get_layer(index=0).name,
        raised(lambda: m.get_layer("no such")),
    )


@program
def wrong_models(keras):
    x, y = keras.Input((4,)), keras.Input((4,))
    m = mlp(keras)
    return [
        raised(lambda: keras.Model(x, keras.layers.Dense(2)(y))),
        raised(lambda: m.set_weights([])),
        raised(lambda: m([DATA, DATA])),
        raised(lambda: keras.Sequential([3])),
        raised(lambda: m.set_weights([numbers(2, 2)] * 4)),
        raised(lambda: keras.Input(3)),
        raised(lambda: m(keras.Input((5,)))),
        raised(lambda: keras.Input()),
    ]


@program
def weights_of_a_model(keras):
    m = mlp(keras)
    w = m.layers[1].weights[0]
    w.assign(w * 2.0)
    m.trainable_variables[1].assign_add(np.ones(8, "float32"))
    return m.predict(DATA[:2], verbose=0), w.name, tuple(w.shape), np.asarray(w)[:1], str(w.dtype)


@program
def layer_of_a_model_by_attribute(keras):
    m = mlp(keras)
    d = m.layers[1]
    return (
        d.units,
        d.activation is not None,
        np.asarray(d.kernel).shape,
        d.use_bias,
        d.input.shape == m.input.shape,
        str(d.output.shape),
    )

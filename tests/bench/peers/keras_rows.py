"""Rows as Keras models on TensorFlow, for its three ways of running them."""
import os

import protocol

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(protocol.options.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)


class Decoder(keras.layers.Layer):
    """The row's additive decoder, unrolled: a GRU cell that looks at the source before each step."""

    def __init__(self, name, **_):
        super().__init__(name=name)

    def build(self, x_shape, seen_shape, keys_shape):
        self.query = keras.layers.Dense(x_shape[-1], use_bias=False, name="graph_cell/query")
        self.attention = keras.layers.AdditiveAttention(name="graph_cell/attention")
        self.gru = keras.layers.GRUCell(x_shape[-1], name="graph_cell/gru")
        self.query.build((x_shape[0], x_shape[-1]))
        self.attention.build([(x_shape[0], 1, x_shape[-1]), seen_shape, keys_shape])
        self.gru.build((x_shape[0], 2 * x_shape[-1]))

    def call(self, x, seen, keys):
        h, out = keras.ops.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            context = self.attention([self.query(h)[:, None], seen, keys])[:, 0]
            h = self.gru(keras.ops.concatenate([x[:, t], context], -1), [h])[0]
            out.append(h)
        return keras.ops.stack(out, 1)


def model(row):
    v = {i["name"]: keras.Input(batch_shape=row.data[i["name"]].shape, name=i["name"],
                                dtype="int32" if i["ids"] else "float32") for i in row.inputs}
    inputs = list(v.values())
    for layer in row.layers:
        kind, name, a = layer["kind"], layer["name"], layer["attributes"]
        x = [v[i] for i in layer["inputs"]]
        if kind == "MatMul":
            v[name] = keras.ops.matmul(x[0], keras.ops.transpose(x[1], (0, 2, 1)) if a.get("transpose_b") else x[1])
            continue
        made = (Decoder if kind == "RNN" else getattr(keras.layers, kind))(name=name, **a)
        if kind == "LSTM" and len(x) > 1:
            v[name], v[name + "/h"], v[name + "/c"] = made(x[0], initial_state=x[1:])
        elif kind in ("MultiHeadAttention", "RNN"):
            v[name] = made(*x)
        else:
            v[name] = made(x if len(x) > 1 else x[0])
        for weight in made.weights:
            _, *inner, last = weight.path.split("/")
            inner = [part for part in inner if kind == "RNN" or not part.endswith("_cell")]
            weight.assign(row.weights["/".join([name, *inner, last])])
    return keras.Model(inputs, [v[n] for n in row.outputs])


def compiled(row):
    """The model, its inputs, and the loss and optimizer of the row if it trains."""
    net = model(row)
    given = [tf.constant(row.data[i["name"]]) for i in row.inputs]
    if row.training is None:
        return net, given, None, None
    loss = keras.losses.SparseCategoricalCrossentropy() if row.sparse else keras.losses.MeanSquaredError()
    return net, given, loss, getattr(keras.optimizers, row.training["optimizer"])()


def flat(y):
    return [t.numpy() for t in (y if isinstance(y, (list, tuple)) else [y])]


def graph(jit):
    """tf.function, or the same compiled by XLA; a training loop written by hand."""
    def make(row, threads):
        keras.backend.clear_session()
        net, given, loss_of, optimizer = compiled(row)
        if row.training is None:
            run = tf.function(lambda *x: net(list(x), training=False), jit_compile=jit)
            run = run.get_concrete_function(*given)
            return lambda: run(*given), flat
        target = tf.constant(row.target)
        optimizer.build(net.trainable_variables)

        @tf.function(jit_compile=jit)
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, net(x, training=True))
            # Keras squares the rows of an embedding's gradient before it adds up those of one id: make it dense.
            gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, net.trainable_variables)]
            optimizer.apply(gradients, net.trainable_variables)
            return loss

        return lambda: step(given, target), lambda loss: [loss.numpy()]

    return make


def keras_model(row, threads):
    """model(x) and train_on_batch, as Keras's users write them."""
    keras.backend.clear_session()
    net, given, loss, optimizer = compiled(row)
    if row.training is None:
        x = given if len(given) > 1 else given[0]
        return lambda: net(x, training=False), flat
    net.compile(optimizer=optimizer, loss=loss)
    target = tf.constant(row.target)
    x = given if len(given) > 1 else given[0]

    def call():
        net.reset_metrics()  # the loss of this batch, not the mean of all
        return net.train_on_batch(x, target)

    return call, lambda loss: [loss]


version = f"TensorFlow {tf.__version__}, Keras {keras.__version__}"

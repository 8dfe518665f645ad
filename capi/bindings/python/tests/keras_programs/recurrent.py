"""Recurrent layers: states, cells, directions, masks."""

import numpy as np

import functools

from . import fill, numbers, program, through

X = numbers(2, 5, 3)


through = functools.partial(through, data=X)


@program
def recurrent_kinds(keras):
    k = keras.layers
    return [
        through(keras, layer)
        for layer in (
            k.LSTM(4),
            k.GRU(4),
            k.SimpleRNN(4),
            k.GRU(4, reset_after=False, return_sequences=True),
            k.LSTM(4, go_backwards=True, return_sequences=True),
            k.SimpleRNN(3, activation="relu"),
        )
    ]


@program
def gru_states(keras):
    x = keras.Input((5, 3))
    m = fill(keras.Model(x, keras.layers.GRU(4, return_sequences=True, return_state=True)(x)))
    return m.predict(X, verbose=0)


@program
def bidirectional_modes(keras):
    k = keras.layers
    return [
        through(keras, k.Bidirectional(k.LSTM(3, return_sequences=True), merge_mode=mode))
        for mode in ("concat", "sum", "ave", "mul")
    ]


@program
def bidirectional_states(keras):
    x = keras.Input((5, 3))
    outputs = keras.layers.Bidirectional(keras.layers.LSTM(3, return_state=True))(x)
    m = fill(keras.Model(x, outputs))
    return m.predict(X, verbose=0)


@program
def stacked_layers(keras):
    k = keras.layers
    return through(keras, k.LSTM(4, return_sequences=True), k.Dropout(0.2), k.LSTM(3), k.Dense(2))


@program
def cells_in_rnn(keras):
    k = keras.layers
    return [
        through(keras, k.RNN(k.LSTMCell(3))),
        through(keras, k.RNN([k.GRUCell(4), k.SimpleRNNCell(2)])),
        through(keras, k.RNN(k.StackedRNNCells([k.LSTMCell(2), k.LSTMCell(3)]), return_sequences=True)),
    ]


@program
def masked_recurrence(keras):
    k = keras.layers
    x = keras.Input((None,), dtype="int32")
    e = k.Embedding(9, 4, mask_zero=True)(x)
    m = keras.Model(x, [k.LSTM(3)(e), k.GRU(3, return_sequences=True)(e), k.Bidirectional(k.SimpleRNN(2))(e)])
    fill(m)
    return m.predict(np.array([[1, 2, 3, 0], [4, 0, 0, 0], [5, 6, 7, 8]]), verbose=0)


@program
def explicit_mask(keras):
    x, mask = keras.Input((5, 3)), keras.Input((5,), dtype="bool")
    m = fill(keras.Model([x, mask], keras.layers.LSTM(4)(x, mask=mask)))
    return m.predict([X, np.array([[1, 1, 0, 1, 0], [1, 1, 1, 1, 1]], bool)], verbose=0)


@program
def seq2seq_with_inference_models(keras):
    k = keras.layers
    source, target = keras.Input((None, 3)), keras.Input((None, 2))
    encoder, decoder, dense = (
        k.LSTM(4, return_state=True),
        k.LSTM(4, return_sequences=True, return_state=True),
        k.Dense(2),
    )
    _, h, c = encoder(source)
    y, _, _ = decoder(target, initial_state=[h, c])
    m = fill(keras.Model([source, target], dense(y)))
    m.compile("adam", "mse")
    x = [numbers(4, 6, 3), numbers(4, 5, 2, seed=3)]
    m.fit(x, numbers(4, 5, 2, seed=4), epochs=2, verbose=0, shuffle=False)
    encode = keras.Model(source, [h, c])
    h_in, c_in = keras.Input((4,)), keras.Input((4,))
    y, h2, c2 = decoder(target, initial_state=[h_in, c_in])
    decode = keras.Model([target, h_in, c_in], [dense(y), h2, c2])
    states, step, told = encode.predict(x[0][:1], verbose=0), np.zeros((1, 1, 2), "float32"), []
    for _ in range(3):
        step, a, b = decode.predict([step] + list(states), verbose=0)
        states = [a, b]
        told.append(step)
    return told


@program
def text_classifier(keras):
    k = keras.layers
    m = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            k.Embedding(20, 6, mask_zero=True),
            k.Bidirectional(k.LSTM(4)),
            k.Dense(1, activation="sigmoid"),
        ]
    )
    fill(m)
    m.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
    words = keras.utils.pad_sequences([[1, 2, 3], [4, 5], [6, 7, 8, 9], [1]], padding="post")
    h = m.fit(words, np.array([0, 1, 1, 0]), epochs=3, batch_size=4, verbose=0, shuffle=False)
    return h.history["loss"], m.predict(words, verbose=0)


@program
def conv_lstm(keras):
    x = keras.Input((3, 6, 6, 2))
    m = fill(keras.Model(x, keras.layers.ConvLSTM2D(2, 3, padding="same")(x)), scale=0.3)
    return m.predict(numbers(1, 3, 6, 6, 2), verbose=0)


@program
def weights_of_recurrent_layers(keras):
    k = keras.layers
    told = []
    for layer in (k.LSTM(4), k.GRU(4), k.SimpleRNN(4), k.Bidirectional(k.LSTM(2))):
        layer(X)
        told += [[list(w.shape) for w in layer.weights], layer.count_params()]
    return told


@program
def stateful(keras):
    k = keras.layers
    x = keras.Input(batch_shape=(2, 5, 3))
    layer = k.LSTM(4, stateful=True)
    m = fill(keras.Model(x, k.Dense(1)(k.Bidirectional(k.GRU(2, stateful=True))(k.RepeatVector(3)(layer(x))))))
    m.compile("sgd", "mse")
    y, found = numbers(2, 1), []
    for _ in range(2):
        found.append(m.predict(X, batch_size=2, verbose=0))
    found.append(m.evaluate(X, y, batch_size=2, verbose=0))
    m.fit(X, y, batch_size=2, epochs=3, shuffle=False, verbose=0)
    found.append(m.predict(X, batch_size=2, verbose=0))
    found.append(np.asarray(m(X)))
    found.append(m.predict_on_batch(X))
    layer.reset_state()
    found.append(m.predict(np.concatenate([X, 2 * X, -X]), batch_size=2, verbose=0))
    return found

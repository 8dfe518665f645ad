"""OCR of captchas: CTC loss by add_loss() in an endpoint layer, StringLookup in tf.data, greedy decoding."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(10)
characters = sorted(set("abcdef"))
max_length = 3
img_width, img_height = 24, 12
images = r.rand(8, img_height, img_width, 1).astype("float32")
labels = np.array(["".join(r.choice(characters, max_length)) for _ in range(8)])
char_to_num = layers.StringLookup(vocabulary=list(characters), mask_token=None)
num_to_char = layers.StringLookup(vocabulary=char_to_num.get_vocabulary(), mask_token=None, invert=True)


def encode_single_sample(img, label):
    img = ops.transpose(img, axes=[1, 0, 2])
    label = char_to_num(tf.strings.unicode_split(label, input_encoding="UTF-8"))
    return {"image": img, "label": label}


train_dataset = tf.data.Dataset.from_tensor_slices((images, labels))
train_dataset = (
    train_dataset.map(encode_single_sample, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(4)
    .prefetch(buffer_size=tf.data.AUTOTUNE)
)


def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    label_length = ops.cast(ops.squeeze(label_length, axis=-1), dtype="int32")
    input_length = ops.cast(ops.squeeze(input_length, axis=-1), dtype="int32")
    return ops.expand_dims(ops.ctc_loss(ops.cast(y_true, "int32"), y_pred, label_length, input_length, mask_index=7), 1)


class CTCLayer(layers.Layer):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.loss_fn = ctc_batch_cost

    def call(self, y_true, y_pred):
        batch_len = ops.cast(ops.shape(y_true)[0], dtype="int64")
        input_length = ops.cast(ops.shape(y_pred)[1], dtype="int64")
        label_length = ops.cast(ops.shape(y_true)[1], dtype="int64")
        input_length = input_length * ops.ones(shape=(batch_len, 1), dtype="int64")
        label_length = label_length * ops.ones(shape=(batch_len, 1), dtype="int64")
        loss = self.loss_fn(y_true, y_pred, input_length, label_length)
        self.add_loss(loss)
        return y_pred


def build_model():
    input_img = layers.Input(shape=(img_width, img_height, 1), name="image", dtype="float32")
    labels = layers.Input(name="label", shape=(None,), dtype="float32")
    x = layers.Conv2D(4, (3, 3), activation="relu", kernel_initializer="he_normal", padding="same", name="Conv1")(
        input_img
    )
    x = layers.MaxPooling2D((2, 2), name="pool1")(x)
    new_shape = ((img_width // 2), (img_height // 2) * 4)
    x = layers.Reshape(target_shape=new_shape, name="reshape")(x)
    x = layers.Dense(8, activation="relu", name="dense1")(x)
    x = layers.Dropout(0.0)(x)
    x = layers.Bidirectional(layers.LSTM(4, return_sequences=True, dropout=0.0))(x)
    x = layers.Dense(len(char_to_num.get_vocabulary()) + 1, activation="softmax", name="dense2")(x)
    output = CTCLayer(name="ctc_loss")(labels, x)
    model = keras.models.Model(inputs=[input_img, labels], outputs=output, name="ocr_model_v1")
    opt = keras.optimizers.Adam()
    model.compile(optimizer=opt)
    return model


model = build_model()
fill(model)
early_stopping = keras.callbacks.EarlyStopping(monitor="val_loss", patience=10, restore_best_weights=True)
history = model.fit(train_dataset, validation_data=train_dataset, epochs=2, callbacks=[early_stopping], verbose=0)
prediction_model = keras.models.Model(model.input[0], model.get_layer(name="dense2").output)


def ctc_decode(y_pred, input_length, greedy=True, beam_width=100, top_paths=1):
    input_shape = ops.shape(y_pred)
    num_samples, num_steps = input_shape[0], input_shape[1]
    y_pred = ops.log(ops.transpose(y_pred, axes=[1, 0, 2]) + keras.backend.epsilon())
    input_length = ops.cast(input_length, dtype="int32")
    decoded, log_prob = tf.nn.ctc_greedy_decoder(inputs=y_pred, sequence_length=input_length)
    decoded_dense = []
    for st in decoded:
        st = tf.SparseTensor(st.indices, st.values, (num_samples, num_steps))
        decoded_dense.append(tf.sparse.to_dense(sp_input=st, default_value=-1))
    return (decoded_dense, log_prob)


def decode_batch_predictions(pred):
    input_len = np.ones(pred.shape[0]) * pred.shape[1]
    results = ctc_decode(pred, input_length=input_len, greedy=True)[0][0][:, :max_length]
    output_text = []
    for res in results:
        res = tf.strings.reduce_join(num_to_char(res)).numpy().decode("utf-8")
        output_text.append(res)
    return output_text


results = [curves(history), sums(model)]
for batch in train_dataset.take(1):
    preds = prediction_model.predict(batch["image"], verbose=0)
    results += [preds, decode_batch_predictions(preds)]
    results.append([tf.strings.reduce_join(num_to_char(l)).numpy().decode("utf-8") for l in batch["label"]])

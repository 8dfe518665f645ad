"""Handwriting: padded labels, images resized without distortion, decoding by keras.ops.ctc_decode in a callback."""

import numpy as np
import tensorflow as tf
import keras
from keras.layers import StringLookup
from filled import curves, fill, sums

r = np.random.RandomState(11)
characters = sorted(list("abcde"))
max_len, padding_token = 4, 99
image_width, image_height = 32, 8
images = [(r.rand(int(r.randint(6, 12)), int(r.randint(20, 40)), 1) * 255).astype("float32") for _ in range(6)]
labels = ["".join(r.choice(characters, int(r.randint(2, 5)))) for _ in range(6)]
char_to_num = StringLookup(vocabulary=characters, mask_token=None)
num_to_char = StringLookup(vocabulary=char_to_num.get_vocabulary(), mask_token=None, invert=True)


def distortion_free_resize(image, img_size):
    w, h = img_size
    image = tf.image.resize(image, size=(h, w), preserve_aspect_ratio=True)
    pad_height = h - tf.shape(image)[0]
    pad_width = w - tf.shape(image)[1]
    if pad_height % 2 != 0:
        height = pad_height // 2
        pad_height_top = height + 1
        pad_height_bottom = height
    else:
        pad_height_top = pad_height_bottom = pad_height // 2
    if pad_width % 2 != 0:
        width = pad_width // 2
        pad_width_left = width + 1
        pad_width_right = width
    else:
        pad_width_left = pad_width_right = pad_width // 2
    image = tf.pad(image, paddings=[[pad_height_top, pad_height_bottom], [pad_width_left, pad_width_right], [0, 0]])
    image = tf.transpose(image, (1, 0, 2))
    image = tf.image.flip_left_right(image)
    return image


def vectorize_label(label):
    label = char_to_num(tf.strings.unicode_split(label, input_encoding="UTF-8"))
    length = tf.shape(label)[0]
    pad_amount = max_len - length
    label = tf.pad(label, paddings=[[0, pad_amount]], constant_values=padding_token)
    return label


def generate():
    for im, la in zip(images, labels):
        yield im, la


def process(image, label):
    image = distortion_free_resize(image, (image_width, image_height))
    image = tf.cast(image, tf.float32) / 255.0
    return {"image": image, "label": vectorize_label(label)}


ds = (
    tf.data.Dataset.from_generator(
        generate,
        output_signature=(tf.TensorSpec((None, None, 1), tf.float32), tf.TensorSpec((), tf.string)),
    )
    .map(process, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(3)
    .cache()
    .prefetch(tf.data.AUTOTUNE)
)


class CTCLayer(keras.layers.Layer):
    def __init__(self, name=None):
        super().__init__(name=name)

    def call(self, y_true, y_pred):
        lengths = keras.ops.sum(keras.ops.cast(keras.ops.not_equal(y_true, padding_token), "int32"), axis=-1)
        batch_len = keras.ops.shape(y_true)[0]
        input_length = keras.ops.shape(y_pred)[1] * keras.ops.ones((batch_len,), dtype="int32")
        y_true = keras.ops.where(keras.ops.equal(y_true, padding_token), 0, y_true)
        loss = keras.ops.ctc_loss(keras.ops.cast(y_true, "int32"), y_pred, lengths, input_length, mask_index=6)
        self.add_loss(keras.ops.mean(loss))
        return y_pred


input_img = keras.Input(shape=(image_width, image_height, 1), name="image")
target = keras.layers.Input(name="label", shape=(None,))
x = keras.layers.Conv2D(4, (3, 3), activation="relu", padding="same", name="Conv1")(input_img)
x = keras.layers.MaxPooling2D((2, 2), name="pool1")(x)
x = keras.layers.Reshape(target_shape=(image_width // 2, image_height // 2 * 4), name="reshape")(x)
x = keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True))(x)
x = keras.layers.Dense(len(char_to_num.get_vocabulary()) + 2, name="dense2")(x)
output = CTCLayer(name="ctc_loss")(target, x)
model = keras.models.Model(inputs=[input_img, target], outputs=output)
fill(model)
model.compile(optimizer=keras.optimizers.SGD(0.01))
prediction_model = keras.models.Model(model.get_layer(name="image").output, model.get_layer(name="dense2").output)
distances = []


class EditDistanceCallback(keras.callbacks.Callback):
    def __init__(self, pred_model):
        super().__init__()
        self.prediction_model = pred_model

    def on_epoch_end(self, epoch, logs=None):
        for batch in ds:
            predictions = self.prediction_model.predict(batch["image"], verbose=0)
            input_len = np.ones(predictions.shape[0]) * predictions.shape[1]
            decoded, scores = keras.ops.ctc_decode(
                predictions, sequence_lengths=input_len.astype("int32"), strategy="greedy", mask_index=6
            )
            distances.append(np.array(decoded[0])[:, :max_len])
            distances.append(np.array(scores))


h = model.fit(ds, validation_data=ds, epochs=2, callbacks=[EditDistanceCallback(prediction_model)], verbose=0)
results = [curves(h), sums(model), distances]

"""keras.utils and keras.preprocessing."""

import os
import sys
import tempfile

import numpy as np

from programs import plain, raised

from .noted import IMAGES, TEXTS, program
from .datasets import listed


@program
def timeseries(tf, keras):
    x = np.arange(30)
    f, out = keras.utils.timeseries_dataset_from_array, []
    for more in (
        {"sequence_length": 5},
        {"sequence_length": 4, "sequence_stride": 3, "sampling_rate": 2, "batch_size": 3},
        {"sequence_length": 4, "start_index": 3, "end_index": 17, "batch_size": 4},
        {"sequence_length": 4, "batch_size": None},
    ):
        out += [listed(f(x, x[4:] * 2, **more)), listed(f(x, None, **more))]
    shuffled = f(x, None, 4, shuffle=True, seed=1, batch_size=3)
    rows = sorted(tuple(int(v) for v in row) for b in shuffled for row in np.asarray(b))
    refused = [
        lambda: f(x, None, 3, start_index=40),
        lambda: f(x, None, 3, sampling_rate=0),
        lambda: f(x, None, 3, end_index=50),
    ]
    return out, np.array(rows), [raised(r) for r in refused]


@program
def split_datasets(tf, keras):
    x = np.arange(20).reshape(10, 2)
    f = keras.utils.split_dataset
    a, b = f(x, left_size=0.7)
    c, d = f((x, x[:, 0]), right_size=3)
    e, g = f(tf.data.Dataset.from_tensor_slices(x).batch(3), left_size=4)
    s, t = f(x, left_size=0.5, shuffle=True, seed=4)
    return [listed(v) for v in (a, b, c, d, e, g, s, t)], raised(lambda: f(x)), raised(lambda: f(x, left_size=2.5))


def folder_of_texts(top):
    for i, name in enumerate(("neg", "pos")):
        os.makedirs(os.path.join(top, name, "deep"))
        for j in range(4):
            with open(os.path.join(top, name, "deep" if j == 3 else "", f"{j}.txt"), "w") as f:
                f.write(f"text {i} {j} and more")
    return top


@program
def text_directories(tf, keras):
    f, out = keras.utils.text_dataset_from_directory, []
    with tempfile.TemporaryDirectory() as top:
        folder_of_texts(top)
        for more in (
            {"shuffle": False},
            {"shuffle": False, "label_mode": "binary", "max_length": 6, "batch_size": 3},
            {"shuffle": False, "label_mode": "categorical", "class_names": ["pos", "neg"]},
            {"shuffle": False, "labels": None, "batch_size": None},
            {"shuffle": False, "labels": [3, 1, 4, 1, 5, 9, 2, 6]},
            {"validation_split": 0.25, "subset": "validation", "shuffle": False},
        ):
            d = f(top, verbose=False, **more)
            out += [listed(d), d.class_names or "none"]
        train, val = f(top, verbose=False, validation_split=0.25, subset="both", seed=3)
        out += [sorted(str(t) for b in train for t in plain(b)[0]), sorted(str(t) for b in val for t in plain(b)[0])]
        out += [raised(lambda: f(top, label_mode="x")), raised(lambda: f(top, validation_split=0.2))]
        out += [
            raised(lambda: f(top, validation_split=0.2, subset="training")),
            raised(lambda: f(top, class_names=["q"]))[:60],
        ]
    return out


@program
def tokenizer(tf, keras):
    text = sys.modules[keras.__name__ + "._text"]
    t, out = text.Tokenizer(num_words=8, oov_token="<oov>"), []
    t.fit_on_texts(TEXTS)
    for mode in ("binary", "count", "freq", "tfidf"):
        out.append(t.texts_to_matrix(TEXTS, mode=mode))
    s = t.texts_to_sequences([*TEXTS, "unknown words"])
    again = text.tokenizer_from_json(t.to_json())
    chars = text.Tokenizer(char_level=True)
    chars.fit_on_texts(TEXTS)
    return (
        out,
        [np.array(v) for v in s],
        t.sequences_to_texts(s),
        list(t.word_index),
        [np.array(v) for v in again.texts_to_sequences(TEXTS)],
        [np.array(v) for v in chars.texts_to_sequences(TEXTS[:2])],
        text.text_to_word_sequence("Some, words!  here"),
        text.hashing_trick("some words here some", 50, "md5"),
    )


@program
def affine_transforms(tf, keras):
    image = sys.modules[keras.__name__ + "._image"]
    x, out = IMAGES[0], []
    axes = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    for mode in ("nearest", "constant", "reflect", "wrap"):
        for more in (
            {"theta": 30},
            {"tx": 1.5, "ty": -2.25},
            {"shear": 20},
            {"zx": 0.7, "zy": 1.4},
            {"theta": 9, "tx": 2, "zx": 1.5},
        ):
            out.append(image.apply_affine_transform(x, fill_mode=mode, cval=5.0, **axes, **more))
    first = np.moveaxis(x, -1, 0)
    out.append(image.apply_affine_transform(first, theta=20, row_axis=1, col_axis=2, channel_axis=0))
    out.append(image.apply_affine_transform(x, theta=20, order=0, **axes))
    out.append(image.apply_channel_shift(x, 20.0, channel_axis=2))
    generator = image.ImageDataGenerator(
        rotation_range=20, width_shift_range=0.2, height_shift_range=[-1, 1], zoom_range=0.2
    )
    more = image.ImageDataGenerator(
        horizontal_flip=True,
        vertical_flip=True,
        channel_shift_range=30.0,
        shear_range=10,
        samplewise_std_normalization=True,
    )
    np.random.seed(3)
    for g in (generator, more):
        out += [g.standardize(g.random_transform(x, seed=s)) for s in range(4)]
        flow = g.flow(IMAGES, np.arange(4), batch_size=3, seed=1)
        out += [next(flow), next(flow), flow[0]]
    return out

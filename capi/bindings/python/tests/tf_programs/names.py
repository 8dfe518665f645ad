"""Names of TensorFlow."""

import os
import tempfile

import numpy as np

from programs import raised

from .noted import IMAGES, program
from .datasets import listed


@program
def tf_arrays(tf, keras):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return [
        *(x, tf.constant("text"), tf.constant([1, 2]), tf.constant(3, tf.float32, shape=(2, 2)), tf.cast(x, tf.int32)),
        *(
            tf.zeros((2, 3)),
            tf.ones([2], tf.int32),
            tf.fill([2, 2], 7),
            tf.eye(2, 3),
            tf.range(5),
            tf.range(1, 2, 0.25),
        ),
        *(tf.linspace(0.0, 1.0, 5), tf.shape(x), tf.rank(x), tf.size(x), tf.reshape(x, [3, -1]), tf.transpose(x)),
        *(
            tf.expand_dims(x, 0),
            tf.squeeze(x[None]),
            tf.concat([x, x], 0),
            tf.stack([x, x], 1),
            tf.unstack(x),
            tf.tile(x, [1, 2]),
        ),
        *(tf.split(x, 3, axis=1), tf.split(x, [1, 2], axis=1), tf.repeat(x, 2, axis=0), tf.pad(x, [[1, 0], [0, 2]])),
        *(
            tf.reverse(x, [1]),
            tf.roll(x, 1, 0),
            tf.gather(x, [1, 0]),
            tf.gather(x, [2], axis=1),
            tf.gather_nd(x, [[0, 1]]),
        ),
        *(
            tf.boolean_mask(x, [True, False]),
            tf.slice(x, [0, 1], [2, 2]),
            tf.one_hot([0, 2], 3),
            tf.one_hot([1], 2, 5.0, -1.0),
        ),
        *(tf.where(x > 3), tf.where(x > 3, x, 0.0), tf.sort([3, 1, 2]), tf.argsort([3, 1, 2], direction="DESCENDING")),
        *(tf.unique([5, 3, 5, 1]), tf.searchsorted([1, 3, 5], [2, 5]), tf.sequence_mask([1, 3], 4), tf.identity(x)),
        *(tf.meshgrid([1, 2], [3, 4]), tf.broadcast_to(tf.constant([1, 2]), [2, 2]), tf.tensordot(x, x, [[1], [1]])),
        *(
            tf.matmul(x, x, transpose_b=True),
            tf.einsum("ij,kj->ik", x, x),
            tf.norm(x),
            tf.zeros_like(x),
            tf.ones_like(x),
        ),
        *(
            tf.map_fn(lambda r: r * 2, x),
            tf.tensor_scatter_nd_update(x, [[0, 1]], [9.0]),
            tf.scatter_nd([[1]], [5], [3]),
        ),
        [str(np.asarray(v).dtype) for v in (tf.constant(1), tf.constant(1.5), tf.range(3), tf.argmax(x), tf.shape(x))],
    ]


@program
def tf_math(tf, keras):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]])
    i = tf.constant([[3, 1], [2, 5]])
    return [
        *(
            tf.abs(-x),
            tf.exp(x),
            tf.sqrt(x),
            tf.square(x),
            tf.math.log(x),
            tf.round(x),
            tf.floor(x / 2),
            tf.sign(-x),
            tf.pow(x, 2),
        ),
        *(
            tf.add(x, 1),
            tf.subtract(x, x),
            tf.multiply(x, 2.0),
            tf.divide(x, 2.0),
            tf.maximum(x, 3.0),
            tf.minimum(x, 3.0),
        ),
        *(
            tf.equal(x, 2.0),
            tf.less(x, 3.0),
            tf.greater_equal(x, 3.0),
            tf.logical_not([True, False]),
            tf.clip_by_value(x, 2, 5),
        ),
        *(
            tf.reduce_sum(x),
            tf.reduce_sum(x, 0),
            tf.reduce_mean(x, axis=1, keepdims=True),
            tf.reduce_max(x),
            tf.reduce_min(i, 1),
        ),
        *(
            tf.reduce_sum(i),
            tf.reduce_mean(i),
            tf.reduce_any(x > 6),
            tf.reduce_all(x > 0),
            tf.reduce_prod(i),
            tf.math.reduce_std(x),
        ),
        *(
            tf.argmax(x, 1),
            tf.argmin(x),
            tf.cumsum(x, 1),
            tf.cumsum(x, 1, exclusive=True),
            tf.cumsum(x, 1, reverse=True),
        ),
        *(
            tf.math.top_k(x, 2),
            tf.math.confusion_matrix([0, 1, 1], [0, 1, 0]),
            tf.math.bincount([1, 1, 3]),
            tf.sigmoid(x),
        ),
        *(
            tf.math.divide_no_nan(x, [[0.0, 1.0, 2.0]]),
            tf.math.l2_normalize(x, 1),
            tf.nn.softmax(x),
            tf.tanh(x),
            tf.math.rsqrt(x),
        ),
        *(tf.nn.relu(x - 3), tf.nn.l2_loss(x), tf.nn.sigmoid_cross_entropy_with_logits(labels=x / 7, logits=x)),
        *(
            tf.nn.softmax_cross_entropy_with_logits(labels=x / 7, logits=x),
            tf.math.floormod(i, 2),
            tf.math.count_nonzero(i - 1),
        ),
        *(
            tf.linalg.diag([1.0, 2.0]),
            tf.linalg.band_part(x, 0, -1),
            tf.linalg.trace(x),
            tf.linalg.det([[2.0, 1], [1, 3]]),
        ),
        *(tf.math.squared_difference(x, 1.0), tf.math.reduce_logsumexp(x), tf.add_n([x, x, x]), tf.math.is_nan(x)),
    ]


@program
def tf_strings(tf, keras):
    s, x = tf.strings, tf.constant(["Hello World", " a b ", ""])
    return [
        *(s.lower(x), s.upper(x), s.strip(x), s.length(x), s.substr(x, 0, 3), s.regex_replace(x, "o(.)", r"0\1\1")),
        *(
            s.regex_full_match(x, ".*a.*"),
            s.join([x, x], "-"),
            s.reduce_join(x, separator="+"),
            s.split("a b  c"),
            s.split(x).to_list(),
        ),
        *(
            s.split(x, "l").to_list(),
            s.unicode_split("héé", "UTF-8"),
            s.to_number(["1.5", "2"]),
            s.as_string([1, 2]),
            s.as_string([0.5]),
        ),
        *(
            s.to_hash_bucket_fast(x, 1000003),
            s.ngrams(["a", "b", "c"], 2),
            s.bytes_split("abc"),
            s.regex_replace("aaa", "a", "b", False),
        ),
    ]


@program
def tf_images(tf, keras):
    i, x = tf.image, tf.constant(IMAGES / 255)
    b = tf.constant(IMAGES.astype("uint8"))
    return [
        *(i.resize(x, (4, 5)), i.resize(b, (14, 5), method="nearest"), i.resize(x[0], [5, 5], antialias=True)),
        *(
            i.flip_left_right(x),
            i.flip_up_down(b),
            i.rot90(x),
            i.rgb_to_grayscale(x),
            i.rgb_to_grayscale(b),
            i.rgb_to_hsv(x),
        ),
        *(i.hsv_to_rgb(x), i.central_crop(x, 0.5), i.resize_with_crop_or_pad(x, 5, 12), i.resize_with_pad(x, 8, 8)),
        *(i.convert_image_dtype(b, tf.float32), i.convert_image_dtype(x, tf.uint8), i.adjust_brightness(x, 0.1)),
        *(i.adjust_contrast(x, 2.0), i.per_image_standardization(x), i.pad_to_bounding_box(x, 1, 2, 10, 12)),
        *(
            i.crop_to_bounding_box(x, 1, 2, 3, 4),
            i.adjust_saturation(x, 0.5),
            i.adjust_hue(x, 0.2),
            i.grayscale_to_rgb(x[..., :1]),
        ),
    ]


@program
def tf_more(tf, keras):
    x = tf.constant(np.random.RandomState(6).standard_normal((4, 4)).astype("float32"))
    i, images = tf.image, tf.constant(IMAGES / 255)
    other = images * 0.9
    patches = ([1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1])
    return [
        *(tf.clip_by_norm(x, 1.0), tf.clip_by_norm(x, 1.0, axes=[1]), tf.clip_by_global_norm([x, x * 2], 2.0)),
        *(tf.math.segment_sum(x, [0, 0, 1, 2]), tf.math.unsorted_segment_sum(x, [2, 0, -1, 2], 3)),
        *(tf.math.reduce_euclidean_norm(x, 1), tf.foldl(lambda a, b: a + b, x), tf.scan(lambda a, b: a * b, x)),
        *(tf.scan(lambda a, b: a + b, x, reverse=True), tf.strings.unicode_decode("hé", "UTF-8")),
        *(tf.strings.unicode_encode([[104, 233], [33, 34]], "UTF-8"), tf.linalg.set_diag(x, [1.0, 2.0, 3.0, 4.0])),
        *(
            tf.linalg.lstsq(x, x[:, :1]),
            i.total_variation(images),
            i.image_gradients(images),
            i.psnr(images, other, 1.0),
        ),
        *(i.extract_patches(images, *patches, "VALID"), i.extract_patches(images, *patches, "SAME")),
        *(tf.nn.space_to_depth(images, 2), tf.nn.depth_to_space(tf.concat([images] * 4, -1), 2)),
        *(
            tf.zeros_initializer()(shape=(2,)),
            tf.constant_initializer(3.0)(shape=(2,)),
            str(tf.dtypes.float32 == tf.float32),
        ),
        *(tf.math.segment_mean(x, [0, 0, 1, 2]), tf.linalg.global_norm([x, x])),
    ]


@program
def tf_signals(tf, keras):
    s, x = tf.signal, tf.constant(np.sin(np.arange(100, dtype="float32") ** 1.2)[None])
    return [
        *(s.frame(x, 10, 4), s.frame(x, 10, 4, pad_end=True), s.hann_window(8), s.hann_window(7), s.hamming_window(8)),
        *(tf.abs(s.stft(x, 16, 5)), tf.abs(s.stft(x, 15, 5, fft_length=32, pad_end=True)), tf.abs(s.rfft(x))),
        *(s.hann_window(8, periodic=False), s.irfft(s.rfft(x))),
    ]


@program
def ragged_rows(tf, keras):
    words = tf.strings.split(tf.constant(["a b c", "b d"]))
    look = keras.layers.StringLookup(vocabulary=["a", "b", "c"], mask_token=None)
    back = keras.layers.StringLookup(vocabulary=look.get_vocabulary(), invert=True, mask_token=None)
    ids = look(words)
    return (
        *(
            words.to_tensor(),
            words.to_list()[1],
            words[0],
            ids.to_tensor(),
            ids.to_tensor(9, shape=(2, 2)),
            words.row_lengths(),
        ),
        *(
            tf.strings.reduce_join(back(ids), axis=-1),
            words.flat_values,
            tf.strings.length(words[1]),
            len(words.to_list()),
        ),
        keras.layers.StringLookup(vocabulary=["a", "b"], output_mode="count")(words),
    )


@program
def tf_records(tf, keras):
    def feature(i):
        t = tf.train
        return t.Example(
            features=t.Features(
                feature={
                    "n": t.Feature(int64_list=t.Int64List(value=[i, -i])),
                    "x": t.Feature(float_list=t.FloatList(value=[i * 0.5])),
                    "s": t.Feature(bytes_list=t.BytesList(value=[f"text {i}".encode()])),
                }
            )
        ).SerializeToString()

    with tempfile.TemporaryDirectory() as top:
        path = os.path.join(top, "a.tfrecord")
        with tf.io.TFRecordWriter(path) as w:
            for i in range(3):
                w.write(feature(i))
        spec = {
            "n": tf.io.FixedLenFeature([2], tf.int64),
            "x": tf.io.FixedLenFeature([], tf.float32),
            "s": tf.io.FixedLenFeature([], tf.string),
            "none": tf.io.FixedLenFeature([], tf.float32, default_value=4.0),
        }
        d = tf.data.TFRecordDataset(path)
        lines = os.path.join(top, "lines.txt")
        with open(lines, "w") as f:
            f.write("one\ntwo\n\nthree")
        read = tf.io.read_file(lines)
        return (
            listed(d.map(lambda r: tf.io.parse_single_example(r, spec))),
            listed(d.batch(3).map(lambda r: tf.io.parse_example(r, spec))),
            listed(tf.data.TextLineDataset(lines)),
            read,
            tf.io.decode_csv(["1,2.5,a", "3,,b"], [0, 1.5, "x"]),
            tf.io.decode_raw(tf.constant(b"\x01\x00\x02\x00"), tf.int16),
        )


@program
def arguments_that_are_seldom_given(tf, keras):
    image = tf.constant(np.arange(2 * 3 * 3, dtype="float32").reshape(1, 2, 3, 3))
    per_channel = tf.nn.bias_add(tf.transpose(image, (0, 3, 1, 2)), tf.constant([1.0, 2.0, 3.0]), data_format="NCHW")
    raw = tf.io.decode_raw(tf.constant([b"abcdef", b"xy"]), tf.uint8, fixed_length=4)
    turns = tf.while_loop(lambda i: i < 10, lambda i: (i + 1,), (tf.constant(0),), maximum_iterations=3)
    rows = tf.map_fn(lambda x: tf.cast(x, tf.int32) + 1, image[0], fn_output_signature=tf.int32)
    wrong = raised(lambda: tf.map_fn(lambda x: x + 1, image[0], fn_output_signature=tf.int32))
    window = tf.signal.hann_window(8, dtype=tf.float64)
    sides = [tf.strings.unicode_split("aé", "UTF-8"), tf.strings.unicode_decode("aé", "UTF-8")]
    return per_channel, raw, turns, rows, wrong != "nothing", window, sides


@program
def sparse_and_saturated(tf, keras):
    hypotheses = tf.sparse.from_dense(tf.constant([[1, 2, 3, 0], [2, 0, 0, 0], [4, 4, 4, 4], [0, 0, 0, 0]]))
    truths = tf.sparse.from_dense(tf.constant([[1, 3, 0], [2, 2, 0], [5, 4, 6], [1, 0, 0]]))
    longs = [keras.ops.cast(x, "int64") for x in (hypotheses, truths)]
    return (
        tf.edit_distance(hypotheses, truths),
        tf.reduce_mean(tf.edit_distance(*longs, normalize=False)),
        tf.cast(hypotheses, tf.float32).values,
        tf.saturate_cast([-3.0, 300.0, 7.5], tf.uint8),
        tf.dynamic_partition([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1, 0, 1], 3),
        tf.signal.linear_to_mel_weight_matrix(8, 33, 16000, 125.0, 7600.0),
        [tf.keras.losses.Reduction.NONE, tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE],
    )

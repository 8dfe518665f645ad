"""No argument of a public function is accepted and ignored."""

import ast
import pathlib
import unittest

import numpy as np

import dl4.keras as keras

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent / "dl4"

# What changes no number, by its own documentation: names of nodes, and how TensorFlow's machinery works.
HINTS = {
    *("name", "names", "device_type", "alg", "experimental_is_anonymous", "example_names"),
    *("parallel_iterations", "swap_memory", "infer_shape", "shape_invariants", "experimental_use_pfor"),
    *("deterministic", "synchronous", "use_unbounded_threadpool", "num_parallel_calls", "num_parallel_reads"),
    *("buffer_size", "options", "row_splits_dtype", "stateful", "validate_indices", "dtype_hint", "optimize"),
    *("autograph", "jit_compile", "reduce_retracing", "autocast", "aggregation", "synchronization"),
    *("caching_device", "max_queue", "flush_millis", "experimental_trackable"),
}
# By function: promises of the caller, orders that may be any, and texts that are shown.
PROMISES = {
    # What comes of them is NumPy's anyway.
    ("abs_max_quantize", "to_numpy"),
    ("abs_max_quantize_grouped_with_zero_point", "to_numpy"),
    ("__call__", "to_numpy"),
    ("argsort", "stable"),
    ("unique", "sorted"),
    ("isin", "assume_unique"),
    ("top_k", "sorted"),
    ("segment_sum", "sorted"),
    ("segment_max", "sorted"),
    ("split", "num"),
    ("moments", "shift"),
    ("lstsq", "fast"),
    ("next", "ordered"),
    ("clear", "free_memory"),
    ("adapt", "batch_size"),
    ("print", "summarize"),
    ("Assert", "summarize"),
    ("check", "summarize"),
    ("group", "inputs"),
    ("apply_channel_shift", "channel_axis"),  # it clips to the range of the whole image
    ("f", "sorted"),  # of segment_sum() and segment_max()
    ("put", "graph"),
    ("again", "now"),  # of a weight, which reads no tensors
    ("again", "plain"),
    ("get", "default"),
    ("compile", "auto_scale_loss"),  # of an optimizer that scales the loss
    ("load_model", "safe_mode"),  # no code of a file is run
}
# Methods whose arguments someone else decides: callbacks, hooks of layers, Python's protocols.
PROTOCOL = {
    *("__exit__", "__array__", "__array_wrap__", "__new__", "__format__", "build", "build_from_config", "call"),
    "cudnn_ok",
    *("compute_loss", "compute_metrics", "compute_output_shape", "get_random_transformation", "from_config"),
    *("transform_images", "transform_labels", "transform_segmentation_masks", "transform_bounding_boxes"),
}


def unused(path):
    """(function, parameter, line) of what no statement reads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {f for c in ast.walk(tree) if isinstance(c, ast.ClassDef) and c.name[0] == "_" for f in c.body}
    for node in ast.walk(tree):
        if node in inner or not isinstance(node, ast.FunctionDef):
            continue
        if node.name in PROTOCOL or node.name.startswith("on_"):
            continue
        if node.name[0] == "_" and node.name != "__init__" and node.name != "__call__":
            continue
        body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        if all(isinstance(s, (ast.Pass, ast.Raise)) for s in body):
            continue
        a = node.args
        given = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg)))]
        read = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name)}
        for name in given:
            if name == "_" and name != getattr(a.kwarg, "arg", None):
                continue
            if name not in read and name not in ("self", "cls") and "locals" not in read:
                yield node.name, name, node.lineno


class Arguments(unittest.TestCase):
    def test_are_honoured_or_refused(self):
        ignored = [
            f"{path.relative_to(SOURCE)}:{line}: {function}({name})"
            for path in sorted(SOURCE.rglob("*.py"))
            for function, name, line in unused(path)
            if name not in HINTS and (function, name) not in PROMISES
        ]
        self.assertEqual(ignored, [], "\n" + "\n".join(ignored))

    def test_what_the_library_has_not_is_refused_by_name(self):
        x, q, ids, ops = keras.Input((3, 4)), keras.Input((2, 3, 4)), keras.Input((3,), dtype="int32"), keras.ops

        for words, call in (
            ("one_hot: sparse", lambda: ops.one_hot(ids, 3, sparse=True)),
            ("multi_hot: sparse", lambda: ops.multi_hot(ids, 3, sparse=True)),
            ("convert_to_tensor: sparse", lambda: ops.convert_to_tensor(np.ones(2), sparse=True)),
            ("moments: synchronized", lambda: ops.moments(x, [1], synchronized=True)),
            ("rms_scaling", lambda: ops.layer_normalization(x, rms_scaling=True)),
            ("attn_logits_soft_cap", lambda: ops.dot_product_attention(*[q] * 3, attn_logits_soft_cap=2.0)),
            ("categorical_crossentropy: `axis`", lambda: ops.sparse_categorical_crossentropy(ids, x, axis=1)),
        ):
            with self.subTest(words), self.assertRaisesRegex(NotImplementedError, words):
                call()
        for call in (
            lambda: keras.random.SeedGenerator(1, backend="numpy"),
            lambda: keras.metrics.Mean().add_weight((1,), regularizer="l2"),
            lambda: ops.einsum("ab,bc->ac", x, x, precision="high"),
        ):
            with self.assertRaises((TypeError, ValueError)):  # ValueError of a generator, as Keras's
                call()


if __name__ == "__main__":
    unittest.main()

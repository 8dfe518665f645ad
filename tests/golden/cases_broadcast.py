"""Goldens of what reaches over more axes than usual: attention of images, masks and initial values that broadcast."""
import keras
import numpy as np

from cases_sequence import finish, normal
from record import Family, Net, kind


def broadcast():
    f = Family("broadcast")

    def attention(class_name, name, shapes, steps=0, arguments=None, **attributes):
        net, name = Net(), f"{'luong' if class_name == 'Attention' else 'bahdanau'}_{name}"
        rng = f.rng(name)
        refs = [net.input(n, s) for n, s in zip(("query", "value", "key"), shapes)]
        out = net.add(class_name, *refs, arguments=arguments, **attributes)
        finish(f, name, net, list(out) if isinstance(out, list) else out, [normal(rng, 2, *s) for s in shapes],
               steps=steps, optimizer=kind("SGD", learning_rate=0.1) if steps else None)

    same, cross = [(3, 4, 5), (3, 4, 5)], [(3, 4, 5), (3, 6, 2), (3, 6, 5)]
    for class_name in ("Attention", "AdditiveAttention"):
        attention(class_name, "image", same)
        attention(class_name, "three", cross, steps=2, use_scale=True)
        attention(class_name, "causal", same, arguments={"use_causal_mask": True})
        attention(class_name, "scores", cross, arguments={"return_attention_scores": True})
        attention(class_name, "five_axes", [(2, 3, 4, 5), (2, 3, 2, 5)])
    attention("Attention", "concat", cross, steps=2, score_mode="concat", use_scale=True)

    def masked(name, class_name, shape, mask, trains=True, **attributes):
        net, rng = Net(), f.rng(name)
        x, m = net.input("x", shape[1:], batch=shape[0]), net.input("m", mask.shape[1:], "bool", batch=mask.shape[0])
        out = net.add(class_name, x, arguments={"mask": m}, **attributes)
        finish(f, name, net, out, [normal(rng, *shape), mask],
               **({"steps": 2, "optimizer": kind("SGD", learning_rate=0.1)} if trains else {"loss": None}))
        # The library's masks are of the leading axes of their values; it passes on none that can't be.
        key, y = f"{name}/output_mask/0", f.tensors[f"{name}/output/0"]
        kept = f.tensors.pop(key)
        if class_name == "BatchNormalization":
            f.tensors[key] = np.broadcast_to(kept, y.shape[:-1]).copy()
        elif kept.shape[-1] == 1:
            f.tensors[key] = kept[..., 0].copy()

    columns = np.array([[[True], [False]], [[True], [True]]])
    masked("statistics_columns", "BatchNormalization", (2, 2, 3, 4), columns)
    masked("statistics_rows", "BatchNormalization", (2, 2, 3, 4), columns.transpose(0, 2, 1)[..., :1])
    masked("statistics_renorm", "BatchNormalization", (2, 2, 3, 4), columns, renorm=True)
    pairs = np.array([[[1, 0]] * 3, [[1, 1]] * 3], bool)
    dense = kind("Dense", name="dense", units=3)
    masked("steps_pairs", "TimeDistributed", (2, 3, 4), pairs, trains=False, layer=dense)  # no loss is weighed by pairs
    masked("steps_one", "TimeDistributed", (2, 3, 4), pairs[..., :1], layer=dense)

    for size in ((1, 2), (3, 2)):
        net = Net()
        out = net.add("UpSampling2D", net.input("x", (3, 2, 2), "int32"), size=list(size), interpolation="bilinear")
        f.model(f"whole_numbers_{size[0]}_{size[1]}", net, out, [np.arange(24, dtype=np.int32).reshape(2, 3, 2, 2)])

    rng = f.rng("values")
    for name, of, shape in (("all", (2, 3), (2, 3)), ("row", (3,), (2, 3)), ("column", (2, 1), (2, 3)),
                            ("kernel", (3, 1, 1, 2), (3, 3, 1, 2)), ("vector", (4,), (4,))):
        value = np.round(rng.normal(0, 1, of), 3).astype(np.float32)
        f.note(f"constant_{name}", initializer=kind("Constant", value=value.tolist()), shape=list(shape))
        f.put(f"constant_{name}", "weight", "value", keras.initializers.Constant(value)(shape).numpy())

    y, p = rng.integers(0, 3, 7), rng.uniform(0.1, 1, (7, 3)).astype(np.float32)
    for name, w in (("alone", None), ("weights", rng.uniform(0, 2, 7).astype(np.float32))):
        metric, name = kind("SparseCategoricalCrossentropy", ignore_class=1), f"ignored_{name}"
        f.note(name, metric=metric, batches=[4, 3])
        f.put(name, "input", "prediction", p)
        f.put(name, "target", 0, y)
        if w is not None:
            f.put(name, "sample_weight", 0, w)
        made, values = keras.metrics.get(metric), []
        for part in (slice(0, 4), slice(4, 7)):
            made.update_state(y[part], p[part], None if w is None else w[part])
            values.append(np.asarray(made.result(), np.float32).reshape(-1))
        f.put(name, "metric", "value", np.concatenate(values))
    return f


FAMILIES = {"broadcast": broadcast}

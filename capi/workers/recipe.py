"""What each worker of the recipes runs: a small net on data that all have, given a function that adds up."""

import numpy as np

from dl4.core import Context, Dataset, Graph
from dl4.tensor import Tensor


def train(rank, size, reduce, epochs=5):
    """The history and the weights; reduce(array) sums in place over all workers, to the same bits on each."""
    random = np.random.default_rng(1)
    x = random.standard_normal((512, 8), dtype=np.float32)
    y = (x.sum(axis=1, keepdims=True) > 0).astype(np.float32)
    graph = Graph(Context(threads=1, seed=1))
    node = source = graph.input("x", "float32", (-1, 8))
    for config in ({"units": 32, "activation": "relu"}, {"units": 1, "activation": "sigmoid"}):
        node = graph.call(graph.layer("Dense", None, config), [node])[0]
    model = graph.build([source], [node])
    trainer = model.trainer(optimizer="Adam", loss="binary_crossentropy", metrics=["accuracy"])
    trainer.set_workers(rank, size, reduce)
    data = Dataset([Tensor.of(x, "float32")], [Tensor.of(y, "float32")], batch_size=64)
    history = trainer.fit(data, epochs=epochs)
    return history, model.get_weight("*")

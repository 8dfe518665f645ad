"""The projections of attention, which Keras makes of layers and the library of weights."""

_PROJECTIONS = {
    "query_dense": "query",
    "key_dense": "key",
    "value_dense": "value",
    "output_dense": "attention_output",
}


class Projection:
    """A part of a layer, as the layer that it is in Keras: its weights, which are those of the whole."""

    def __init__(self, layer, name):
        self.name, self._layer, self.built = name, layer, True

    @property
    def weights(self):
        """Its kernel and bias."""
        return [w for w in self._layer.weights if w.path.split("/")[-2] == self.name]

    def __getattr__(self, key):
        if key in ("kernel", "bias"):
            return next((w for w in self.weights if w.path.endswith("/" + key)), None)
        raise AttributeError(f"the projection {self.name!r} has no attribute {key!r}")

    def get_weights(self):
        return [w.numpy() for w in self.weights]

    def set_weights(self, weights):
        mine = self.weights
        if len(mine) != len(weights):
            raise ValueError(f"the projection {self.name!r} has {len(mine)} weights, got {len(weights)}")
        for w, value in zip(mine, weights):
            w.assign(value)

    def __repr__(self):
        return f"<Projection name={self.name}, built=True>"


def projection(layer, key):
    """Of the attention layers what their attributes `query_dense`, `_query_dense` and so on are; None of others."""
    name = _PROJECTIONS.get(key.lstrip("_"))
    if name is None or layer._class_name not in ("MultiHeadAttention", "GroupQueryAttention"):
        return None
    return Projection(layer, name) if layer.built else None

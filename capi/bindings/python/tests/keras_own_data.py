"""Keras's classes of data, which have no public names, by what goes over data in dl4.keras."""

from dl4.keras import ops
from dl4.keras.src.trainers.data_adapters import rows_of, weights_of_classes
from dl4.keras.src.trainers.steps import batches_of_epochs
from dl4.keras.src.tree import map_nest
from dl4.keras.utils import pack_x_y_sample_weight


class Adapter:
    """Batches of data as fit() has them, epoch by epoch."""

    def __init__(
        self, x, y=None, sample_weight=None, batch_size=None, steps=None, shuffle=False, class_weight=None, **more
    ):
        self.batch_size, self.data, seed = batch_size or 32, x, 1337 if shuffle else None
        steps = more.get("steps_per_epoch", steps)
        data, words = (x, y, sample_weight), shuffle == "batch"
        self.next_epoch = batches_of_epochs(data, self.batch_size, steps, seed, class_weight, words)

    def get_numpy_iterator(self):
        return (pack_x_y_sample_weight(*batch) for batch in self.next_epoch())

    get_jax_iterator = get_torch_dataloader = get_numpy_iterator

    def get_tf_dataset(self):
        return (map_nest(ops.convert_to_tensor, batch) for batch in self.get_numpy_iterator())

    data_adapter = property(lambda self: self)

    def on_epoch_begin(self):
        """fit() tells it."""

    on_epoch_end = on_epoch_begin

    @property
    def num_batches(self):
        return -(-rows_of(self.data) // self.batch_size)

    @property
    def partial_batch_size(self):
        return rows_of(self.data) % self.batch_size or None

    has_partial_batch = property(lambda self: self.partial_batch_size is not None)


class EpochIterator(Adapter):
    """Batches with their numbers."""

    def __iter__(self):
        return ((i, i, [batch]) for i, batch in enumerate(self.get_numpy_iterator()))

    enumerate_epoch = __iter__


class _Compiled:
    """A part of what compile() is given, as a model uses it that only its own step calls."""

    def __init__(self, **given):
        import dl4.keras as keras

        self.model = type("Stepped", (keras.Model,), {"call": lambda self, x: x})()
        self.model.compile("sgd", **given)


class CompileLoss(_Compiled):
    def __init__(self, loss, loss_weights=None, **_):
        super().__init__(loss=loss, loss_weights=loss_weights)

    def build(self, y_true, y_pred):
        self.model._parts_of_losses(y_true, y_pred, None)

    def __call__(self, y_true, y_pred, sample_weight=None):
        return self.model.compute_loss(y=y_true, y_pred=y_pred, sample_weight=sample_weight)

    metrics = property(lambda self: self.model.metrics[2:])


class CompileMetrics(_Compiled):
    def __init__(self, metrics, weighted_metrics, **_):
        super().__init__(metrics=metrics, weighted_metrics=weighted_metrics)

    def build(self, y_true, y_pred):
        metrics = self.model._compile_metrics
        metrics.entries = metrics._build_entries(self.model._targets_by_output(y_true, y_pred), y_pred)

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.model.compute_metrics(None, y_true, y_pred, sample_weight)

    metrics = property(lambda self: self.model._compile_metrics.metrics)
    variables = property(lambda self: self.model._compile_metrics.variables)

    def result(self):
        return self.model._compile_metrics.result()

    def reset_state(self):
        self.model._compile_metrics.reset_state()


def modules():
    """Names in Keras's modules."""
    import dl4.keras as keras

    names = {"ArrayDataAdapter": Adapter, "GeneratorDataAdapter": Adapter, "PyDatasetAdapter": Adapter}
    names.update(PyDataset=keras.utils.PyDataset, class_weight_to_sample_weights=weights_of_classes)
    inner = "array_data_adapter", "generator_data_adapter", "py_dataset_adapter", "data_adapter_utils"
    return {
        **{f"keras.src.trainers.data_adapters.{module}": names for module in inner},
        "keras.src.trainers.data_adapters": {**names, "get_data_adapter": Adapter},
        "keras.src.trainers.compile_utils": {"CompileLoss": CompileLoss, "CompileMetrics": CompileMetrics},
        "keras.src.trainers.epoch_iterator": {"EpochIterator": EpochIterator},
    }

"""train_on_batch(), test_on_batch() and predict_on_batch()."""

from .. import overrides
from ..backend import global_state
from ..tree import pack_like
from ..utils.data_utils import pack_x_y_sample_weight
from .compile_utils import as_floats
from .data_adapters import as_array, joined, rows_of
from .progress import MetricBatches


class OnBatch:
    """train_on_batch(), test_on_batch() and predict_on_batch()."""

    def predict_on_batch(self, x):
        """The outputs for one batch of arrays, as arrays."""
        overrides.refuse(self, "predict_on_batch()", "run")
        if self._predicts_by_steps():
            self.make_predict_function()
            return joined([self.predict_function(iter([(as_array(x),)]))])
        self._size_for(as_array(x))
        given = self._inputs_of(x)
        return pack_like(self._require_built().nest_out, [t.numpy() for t in self._inference().run(given)])

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        """Makes one training step on a batch.

        Args:
            x, y, sample_weight, class_weight: as of fit().
            return_dict: give a dict by name instead of a list.

        Returns:
            The loss, a list or a dict; metrics are means since reset_metrics().
        """
        self._need_optimizer("train_on_batch()")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            return self._one_step(x, y, class_weight, return_dict)
        if self._trains_by_steps():
            overrides.refuse(self, "train_on_batch()", "fit", "run")
            self.reset_metrics()
            batch = pack_x_y_sample_weight(*(as_array(v) for v in (x, y, sample_weight)))
            self.make_train_function()
            logs = as_floats(self.train_function(iter([batch])))
            return logs if return_dict else one_or_list(self._in_order(logs))
        self._need_library_steps("train_on_batch()")
        self._size_for(as_array(x))
        lists, feed = list(self._batch_tensors(x, y, sample_weight)), self._feed()
        if feed is not None:
            lists[0] = feed(lists[0])
        trainer, metric_batches = self._get_trainer(lists[1], training=True), None
        if self._has_python_metrics():
            self._need_no_feed()
            metric_batches = MetricBatches(self, (x, y, sample_weight), rows_of(as_array(x)))
            metric_batches.epoch_begin()
        schedule = self.optimizer._python_schedule()
        if schedule is not None:
            trainer.set("learning_rate", float(schedule(int(trainer.get("iterations")))))
        try:
            with self._as_compiled():
                values = trainer.step(*lists)
            for weight in self._constrained():
                weight._constrain()
        finally:
            global_state.changed()
        logs = dict(zip(trainer.shown, trainer.kept(values)))
        if metric_batches is not None:
            logs.update(metric_batches.results())
        self._show_results(logs)
        return dict(sorted(logs.items())) if return_dict else one_or_list(self._in_order(logs))

    def _one_step(self, x, y, class_weight, return_dict):
        history = self.fit(x, y, batch_size=2**31 - 1, class_weight=class_weight, shuffle=False, verbose=0).history
        logs = {k: v[-1] for k, v in history.items()}
        return logs if return_dict else one_or_list(self._in_order(logs))

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """Computes loss and metrics of a batch, without training; arguments and results as of train_on_batch()."""
        return self.evaluate(x, y, batch_size=2**31 - 1, sample_weight=sample_weight, return_dict=return_dict)


def one_or_list(values):
    return values[0] if len(values) == 1 else values

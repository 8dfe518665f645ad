"""What a fit() reports while it runs."""

from .... import abi
from ....core import CONTINUE, STOP
from ..backend import config, global_state
from ..callbacks.callback_list import CallbackList, listed
from ..callbacks.history import History
from ..callbacks.progbar_logger import ProgbarLogger
from ..tree import pack_like
from .compile_utils import as_floats, CompileMetrics
from .data_adapters import as_array, Batches, batches, is_whole, no_batch, repeatable, rows_of, weights_of_classes
from .steps import batches_of_epochs


class MetricBatches(Batches):
    """The batches of a fit, of which metrics in Python see the predictions in training mode before each step."""

    def __init__(self, model, data, size, steps=None, class_weight=None, seed=None):
        self.model, self.steps = model, steps
        self.class_weight, self.metrics, self.waiting = class_weight, CompileMetrics(model, python=True), None
        data, source = (repeatable(data[0]), *data[1:]), data[0]
        first = next(batches(*data, size), None)
        if first is None:
            raise ValueError(no_batch(source))
        self.next_epoch = batches_of_epochs(data, size, steps, seed)
        if is_whole(data[0]):
            count = -(-rows_of(as_array(data[0])) // size)
            steps = self.steps = count if steps is None else min(steps, count)
        model._size_for(first[0])
        self.targets = model._batch_tensors(*first)[1]

    def epoch_begin(self):
        self.metrics.reset_state()
        self.running = self.next_epoch()
        self.batch_begin()

    def batch_begin(self):
        """Takes the batch of the next step."""
        self.waiting = next(self.running, None)
        if self.waiting is None:
            return
        x, y, w = self.waiting
        functional = self.model._for_training()
        outputs = [t.numpy() for t in functional.core.session(training=True).run(self.model._inputs_of(x))]
        if self.class_weight is not None:
            w = weights_of_classes(y, self.class_weight)
        self.metrics.update_state(y, pack_like(functional.nest_out, outputs), w)

    def _batch(self, index):
        return None if self.waiting is None else self.model._batch_tensors(*self.waiting)

    def results(self):
        return as_floats(self.metrics.result())


class Progress:
    """What a fit of one epoch reports to callbacks."""

    def __init__(self, callback_list, model, trainer, metric_batches):
        self.callback_list, self.model, self.trainer, self.metric_batches, self.last = (
            callback_list,
            model,
            trainer,
            metric_batches,
            [],
        )
        self.schedule = model.optimizer._python_schedule()
        self.hears, self.constrained = callback_list._wants_batches("train"), model._constrained()

    def logs(self, metrics):
        """By name, as Keras has them."""
        logs = dict(zip(self.trainer.shown, self.trainer.kept(metrics)))
        if self.metric_batches is not None:
            logs.update(self.metric_batches.results())
        return dict(sorted(logs.items()))

    def _begin(self, batch):
        if self.schedule is not None:
            self.trainer.set("learning_rate", float(self.schedule(int(self.trainer.get("iterations")))))
        if self.hears:
            self.callback_list._notify("on_train_batch_begin", batch, {})

    def __call__(self, event, step, total, metrics):
        if event == abi.constants["DL4_EPOCH_BEGIN"]:
            self._begin(0)
            if self.metric_batches is not None:
                self.metric_batches.epoch_begin()
        elif event == abi.constants["DL4_EPOCH_END"]:
            self.last = metrics
        elif event == abi.constants["DL4_BATCH_END"]:
            for weight in self.constrained:
                weight._constrain()
            if self.hears:
                global_state.changed()
                self.callback_list._notify("on_train_batch_end", step - 1, self.logs(metrics))
            over = self.model.stop_training or step == total
            if self.metric_batches is not None:
                global_state.changed()
                self.metric_batches.batch_begin()
                over = over or self.metric_batches.waiting is None
            if not over:
                self._begin(step)
            return STOP if self.model.stop_training else CONTINUE
        return CONTINUE


def _fit_callbacks(callbacks, model, verbose, **params):
    """Those that are given, and what shows and keeps the numbers."""
    callbacks = listed(callbacks)
    verbose = config.verbosity(verbose)
    if verbose and not any(isinstance(c, ProgbarLogger) for c in callbacks):
        callbacks.append(ProgbarLogger(2 if verbose == 2 else 1))
    if not any(isinstance(c, History) for c in callbacks):
        callbacks.append(History())
    model.history = next(c for c in callbacks if isinstance(c, History))
    return CallbackList(callbacks, model, verbose=verbose, **params)

"""The library's trainer of a model: made, suspended, resumed, saved."""

import contextlib
import json
import warnings

from .... import abi, core
from .. import registry
from ..backend import attributes, global_state
from ..optimizers import in_files
from ..optimizers.state import TrainerState
from ..symbolic.execution import suspend_trainers, trained
from .compile_utils import is_python
from .objective import is_frozen


class NativeTraining:
    """The library's trainer of a model."""

    _from_file = None  # what the optimizer keeps, until there is a trainer

    def _get_trainer(self, targets=None, training=False):
        """The trainer; `targets`, arrays, are looked at by losses that are functions of Python. The first time that it
        is for training, what is trainable is kept, as in Keras, until the next compile()."""
        if self._compiled is None:
            raise ValueError("You must call `compile()` before calling `fit()`, `evaluate()` or the like.")
        if training and self._as_trained is None:
            self._as_trained = {c.layer: c.layer.trainable for c in self._require_built().calls if c.layer is not None}
            if self._trainer is not None and self._trainer.frozen != is_frozen(self._for_training()):
                self.optimizer._bind(None)
                self._trainer = None
            self.optimizer._need_known(self.trainable_weights)
            if is_frozen(self._for_training()):
                warnings.warn("The model does not have any trainable weights.", stacklevel=3)
        functional = self._for_training()
        self._need_pure(functional)
        if self._trainer is None:
            by_steps = self.optimizer is None or self._trains_by_steps()  # it measures, with nobody's optimizer
            with self._as_compiled(), attributes.collected() as reads:
                optimizer = "SGD" if by_steps else self.optimizer._to_json()
                try:
                    self._trainer = self._trainer_of(functional, targets, optimizer)
                except abi.Busy:
                    self._take_over()
                    self._trainer = self._trainer_of(functional, targets, optimizer)
                trained.add(self)
                if not by_steps:
                    self.optimizer._bind(None if self._trainer.frozen else self._trainer)
                self._resume()
            self._trainer.reads = reads
        return self._trainer

    @contextlib.contextmanager
    def _as_compiled(self):
        """While it lasts those layers are trainable that were when training began."""
        changed = [layer for layer, yes in (self._as_trained or {}).items() if layer.trainable != yes]
        for layer in changed:
            layer._set_native_trainable(self._as_trained[layer])
        try:
            yield
        finally:
            changed += [layer for layer in self._as_trained or () if vars(layer).pop("_trainable_pending", False)]
            for layer in changed:
                layer._set_native_trainable(layer.trainable)

    def _take_over(self):
        """Other models that share weights with this one give their trainers up, and go on from their state later."""
        suspend_trainers({id(c.layer) for c in self._require_built().calls if c.layer is not None}, self)

    def _suspend(self):
        """Gives the trainer up and keeps its state for the next one."""
        with self._as_compiled():
            if self._as_trained is not None or self._loaded:
                self._suspended = abi.content(abi.made("dl4_trainer_save_bytes", self._trainer))
        if self.optimizer is not None:
            self.optimizer._bind(None)
        self._trainer = None
        trained.discard(self)

    def _training_state(self):
        """What training goes on from, beside the weights."""
        if self._trains_by_steps():
            return self.optimizer._state()
        if self._trainer is None or self._as_trained is None and not self._loaded:
            return self._suspended
        with self._as_compiled():
            return abi.content(abi.made("dl4_trainer_save_bytes", self._trainer))

    def _take_training_state(self, state):
        if isinstance(state, dict):
            self.optimizer._put_state(state)
        elif state is not None:
            self._suspended, self._loaded = state, True
            if self._trainer is not None:  # compile() has made it
                with self._as_compiled():
                    self._resume()

    def _resume(self):
        if self._suspended is not None:
            data, self._suspended = self._suspended, None
            names = [name for name, _, _ in self.core.weights()]
            now = [self.core.get_weight(name) for name in names]
            before, state = TrainerState(None, data), TrainerState(self._trainer)
            if before.trained == state.trained:
                abi.call("dl4_trainer_load_bytes", self._trainer, data, len(data))
            else:  # layers were quantized since
                state.take(before)
                state.put(self._trainer)
            for name, value in zip(names, now):
                self.core.set_weight(name, value)
        if self._from_file is not None:
            arrays, self._from_file = self._from_file, None
            in_files.put(self, arrays)

    def _evaluated(self, data, targets):
        """Where a call() asks whether it is training: by a trainer of the other model, put in this one's place."""
        self._suspend()
        values = self._trainer_of(self._for_inference(), targets, "SGD").evaluate(data)
        self._get_trainer(targets)
        return values

    def _save_training(self, path):
        """The model, what it was compiled with and the state of its optimizer, as Keras's file."""
        trainer = self._get_trainer()
        if trainer.added:
            raise ValueError("losses that layers add with add_loss() can't be saved in this format")
        for metric in filter(is_python, self._compiled_metrics()):
            warnings.warn(f"{path}: saved without metric {metric.name}, which is Python", stacklevel=5)
        with self._as_compiled():
            abi.call("dl4_trainer_save", trainer, path.encode())

    def _resume_training(self, loaded, path):
        """Compiles a model as its Keras file says, and resumes training where it stopped."""
        try:
            options = json.loads(core.Trainer(loaded).describe(0))["options"]
        except abi.InvalidArgument as e:
            if e.argument == "options":
                return  # the model was not compiled
            raise

        def objects(category, value):
            if isinstance(value, list):
                return [objects(category, v) for v in value]
            if not isinstance(value, dict):
                return value
            if "class_name" in value:
                return registry.deserialize(category, value)
            return {k: objects(category, v) for k, v in value.items()}

        self.compile(
            registry.deserialize("optimizer", options["optimizer"]),
            objects("loss", options.get("loss")),
            options.get("loss_weights"),
            objects("metric", options.get("metrics")),
            objects("metric", options.get("weighted_metrics")),
        )
        abi.call("dl4_trainer_load", self._get_trainer(), path.encode())
        self._loaded = True

    def _save_checkpoint(self, path):
        """What a fit goes on from: of a model that steps train, its weights and what its optimizer keeps, as .npz."""
        if self._trains_by_steps():
            import numpy

            arrays = {f"weight:{i}": w.numpy() for i, w in enumerate(self.weights)}
            with open(path, "wb") as file:
                numpy.savez(file, **arrays, **{f"optimizer:{k}": v for k, v in self.optimizer._state().items()})
            return
        with self._as_compiled():
            self._trainer.save(path)

    def _load_checkpoint(self, path):
        if self._trains_by_steps():
            import numpy

            with numpy.load(path) as kept:
                for i, w in enumerate(self.weights):
                    w.assign(kept[f"weight:{i}"])
                state = {k.split(":", 1)[1]: kept[k] for k in kept.files if k.startswith("optimizer:")}
            self.optimizer._put_state(state)
            return
        with self._as_compiled():
            self._trainer.load(path)
        global_state.changed()

    def _swap_averages(self, keep=False):
        """The averages of the weights change places with them, or with `keep` become what the weights are."""
        if not getattr(self.optimizer, "use_ema", False):
            raise ValueError("SwapEMAWeights must be used when `use_ema=True` is set on the optimizer.")
        if self._trains_by_steps():
            for weight, average in zip(self.optimizer._built_for, self.optimizer._averages):
                before = weight.numpy().copy()
                if not keep:
                    weight.assign(average.numpy())
                average.assign(before)
            return
        with self._as_compiled():
            kept = TrainerState(self._trainer)
            for name, average in zip(kept.trained, kept.of("slot:optimizer/average")):
                weight = kept.weight(name)
                before = weight.copy()
                if not keep:
                    weight[...] = average
                average[...] = before
            kept.put(self._trainer)
        global_state.changed()

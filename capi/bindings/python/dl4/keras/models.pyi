"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

from ._tensors import KerasTensor as KerasTensor
from .callbacks import History as History
from .layers import Layer as Layer

class Training:
    """What a model is trained and run with."""
    def compile(
        self,
        optimizer: _Any = "rmsprop",
        loss: _Any = None,
        loss_weights: _Any = None,
        metrics: _Any = None,
        weighted_metrics: _Any = None,
        run_eagerly: _Any = False,
        steps_per_execution: _Any = 1,
        jit_compile: _Any = "auto",
        auto_scale_loss: _Any = True,
    ) -> None: ...
    @property
    def compiled(self) -> _Any: ...
    @property
    def metrics_names(self) -> _Any: ...
    def fit(
        self,
        x: _Any = None,
        y: _Any = None,
        batch_size: _Any = None,
        epochs: _Any = 1,
        verbose: _Any = "auto",
        callbacks: _Any = None,
        validation_split: _Any = 0.0,
        validation_data: _Any = None,
        shuffle: _Any = True,
        class_weight: _Any = None,
        sample_weight: _Any = None,
        initial_epoch: _Any = 0,
        steps_per_epoch: _Any = None,
        validation_steps: _Any = None,
        validation_batch_size: _Any = None,
        validation_freq: _Any = 1,
    ) -> History: ...
    def evaluate(
        self,
        x: _Any = None,
        y: _Any = None,
        batch_size: _Any = None,
        verbose: _Any = "auto",
        sample_weight: _Any = None,
        steps: _Any = None,
        callbacks: _Any = None,
        return_dict: _Any = False,
        **_: _Any,
    ) -> _Any: ...
    def predict(
        self, x: _Any, batch_size: _Any = None, verbose: _Any = "auto", steps: _Any = None, callbacks: _Any = None
    ) -> _Any: ...
    def predict_on_batch(self, x: _Any) -> _Any: ...
    def train_on_batch(
        self, x: _Any, y: _Any = None, sample_weight: _Any = None, class_weight: _Any = None, return_dict: _Any = False
    ) -> _Any: ...
    def test_on_batch(self, x: _Any, y: _Any = None, sample_weight: _Any = None, return_dict: _Any = False) -> _Any: ...
    def reset_metrics(self) -> _Any: ...

class Model(Layer, Training):
    """A model of inputs and outputs, Model(inputs, outputs), or of a class of one's own with a call() of its layers."""

    stop_training: _Any
    history: _Any
    optimizer: _Any
    category: _Any
    class_name: _Any
    def __init__(
        self,
        inputs: _Any = None,
        outputs: _Any = None,
        *args: _Any,
        name: _Any = None,
        trainable: _Any = True,
        **kwargs: _Any,
    ) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, custom_objects: _Any = None) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def add_weight(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_variable(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_loss(self, loss: _Any) -> _Any: ...
    call: _Any
    compute_mask: _Any
    compute_output_spec: _Any
    compute_output_shape: _Any
    @property
    def losses(self) -> _Any: ...
    @property
    def core(self) -> _Any: ...
    build: _Any
    def __call__(self, *args: _Any, **kwargs: _Any) -> _Any: ...
    @property
    def inputs(self) -> _Any: ...
    @property
    def outputs(self) -> _Any: ...
    @property
    def input(self) -> _Any: ...
    @property
    def output(self) -> _Any: ...
    @property
    def input_shape(self) -> _Any: ...
    @property
    def output_shape(self) -> _Any: ...
    @property
    def input_names(self) -> _Any: ...
    @property
    def output_names(self) -> _Any: ...
    @property
    def layers(self) -> _Any: ...
    @layers.setter
    def layers(self, value: _Any) -> None: ...
    @property
    def weights(self) -> _Any: ...
    def get_layer(self, name: _Any = None, index: _Any = None) -> _Any: ...
    def summary(
        self,
        line_length: _Any = None,
        positions: _Any = None,
        print_fn: _Any = None,
        expand_nested: _Any = False,
        show_trainable: _Any = False,
        layer_range: _Any = None,
    ) -> None: ...
    def to_json(self, **_: _Any) -> str: ...
    def save(self, filepath: _Any, overwrite: _Any = True, **_: _Any) -> None: ...
    def save_weights(self, filepath: _Any, overwrite: _Any = True, **_: _Any) -> None: ...
    def load_weights(self, filepath: _Any, skip_mismatch: _Any = False, **_: _Any) -> None: ...
    def export(self, filepath: _Any, **_: _Any) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class Functional(Model):
    """What Model(inputs, outputs) gives."""

    category: _Any
    class_name: _Any
    def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def add_weight(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_variable(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_loss(self, loss: _Any) -> _Any: ...
    call: _Any
    compute_mask: _Any
    compute_output_spec: _Any
    compute_output_shape: _Any
    @property
    def losses(self) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class Sequential(Model):
    """Layers, one after the other."""

    category: _Any
    class_name: _Any
    def __init__(self, layers: _Any = None, trainable: _Any = True, name: _Any = None) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, custom_objects: _Any = None) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def add_weight(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_variable(
        self,
        shape: _Any = None,
        initializer: _Any = None,
        dtype: _Any = None,
        trainable: _Any = True,
        autocast: _Any = True,
        regularizer: _Any = None,
        constraint: _Any = None,
        aggregation: _Any = None,
        overwrite_with_gradient: _Any = False,
        name: _Any = None,
    ) -> _Any: ...
    def add_loss(self, loss: _Any) -> _Any: ...
    call: _Any
    compute_mask: _Any
    compute_output_spec: _Any
    compute_output_shape: _Any
    @property
    def losses(self) -> _Any: ...
    def add(self, layer: _Any, rebuild: _Any = True) -> _Any: ...
    def pop(self, rebuild: _Any = True) -> _Any: ...
    build: _Any
    @property
    def layers(self) -> _Any: ...
    @layers.setter
    def layers(self, value: _Any) -> None: ...
    def __getattr__(self, name: str) -> _Any: ...

def is_array(x: _Any) -> _Any: ...
def run(session: _Any, tensors: _Any, nest: _Any) -> _Any: ...
def Input(
    shape: _Any = None,
    batch_size: _Any = None,
    dtype: _Any = None,
    sparse: _Any = None,
    ragged: _Any = None,
    batch_shape: _Any = None,
    name: _Any = None,
    tensor: _Any = None,
    optional: _Any = False,
) -> KerasTensor: ...
def flatten(x: _Any) -> _Any: ...
def is_tensor(x: _Any) -> _Any: ...
def map_nest(f: _Any, nest: _Any) -> _Any: ...
def symbolic_like(value: _Any, name: _Any = None) -> _Any: ...
def model_from_json(json_string: _Any, custom_objects: _Any = None) -> Model: ...
def clone_model(
    model: _Any,
    input_tensors: _Any = None,
    clone_function: _Any = None,
    call_function: _Any = None,
    recursive: _Any = False,
    **_: _Any,
) -> Model: ...
def load_model(filepath: _Any, custom_objects: _Any = None, compile: _Any = True, safe_mode: _Any = True) -> Model: ...
def save_model(model: _Any, filepath: _Any, overwrite: _Any = True, **_: _Any) -> _Any: ...

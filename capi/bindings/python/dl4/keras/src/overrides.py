"""What a user overrides: which methods of a class or of an object are not the library's, and what becomes of each.

A method of Keras's interface is called where Keras calls it (`called`), or with it the thing is its user's own (`own`),
traced or run in Python as one that derives from the base class; or it is refused by name, by the verb that would have
called it (`fit`, `compile`, ...), and where nothing says otherwise when the object is made."""

import weakref

from .interface import NAMES

_PACKAGE = __name__.split(".")[0]


def _outcomes(**names):
    return {name: outcome for outcome, words in names.items() for name in words.split()}


_READ = "get_config from_config"
_LAYER = _outcomes(
    custom="""call build convolution_op compute_mask compute_output_shape compute_output_spec input_spec
    supports_masking add_loss _apply_scores _calculate_score_mask _calculate_scores _build_attention _compute_attention
    _compute_attention_mask _compute_causal_mask _compute_sliding_window_mask _masked_softmax""",
    called=f"""{_READ} __call__ add_weight add_variable add_metric count_params get_weights set_weights stateless_call
    trainable_weights trainable_variables non_trainable_weights non_trainable_variables losses metrics_variables input
    output path get_build_config build_from_config quantize quantized_build quantized_call rematerialized_call
    adapt reset_state reset_states get_initial_state enable_lora states output_size state_size get_vocabulary
    set_vocabulary vocabulary_size update_state finalize_state load_assets save_assets get_random_transformation
    transform_images transform_labels transform_segmentation_masks transform_bounding_boxes""",
    fit="weights variables metrics",
    save="save_own_variables load_own_variables",
)


_MODEL = {
    **_LAYER,
    **_outcomes(
        called="""compile fit evaluate predict train_on_batch test_on_batch predict_on_batch get_layer layers summary
        save save_weights load_weights export to_json add pop metrics_names jit_compile run_eagerly get_state_tree
        set_state_tree stateless_compute_loss get_quantization_layer_structure distribute_strategy
        distribute_reduction_method inputs outputs input_shape output_shape predict_step make_predict_function""",
        steps="test_step make_test_function",
        python="compute_loss _compute_loss compute_metrics get_metrics_result reset_metrics metrics losses",
        train="train_step make_train_function",
        fit="""trainable_weights trainable_variables non_trainable_weights
        non_trainable_variables metrics_variables weights variables""",
        run="__call__",
        save="save_own_variables load_own_variables get_compile_config compile_from_config",
    ),
}


_OUTCOMES = {
    "layer": _LAYER,
    "model": _MODEL,
    "loss": _outcomes(custom="call", called=f"{_READ} __call__"),
    "metric": _outcomes(
        custom="update_state result reset_state",
        called=f"""{_READ} __call__ add_variable add_weight variables stateless_update_state stateless_result
        stateless_reset_state""",
    ),
    "optimizer": _outcomes(
        called=f"{_READ} apply_gradients exclude_from_weight_decay stateless_apply set_weights",
        python="""update_step build apply scale_loss add_variable add_variable_from_reference add_optimizer_variables
        assign assign_add assign_sub _get_variable_index _backend_apply_gradients _backend_update_step _clip_by_norm
        _clip_gradients _apply_weight_decay _use_weight_decay _update_model_variables_moving_average
        finalize_variable_values""",
    ),
    "schedule": _outcomes(custom="__call__", called=_READ),
    "initializer": _outcomes(custom="__call__", called=f"{_READ} clone"),
    "regularizer": _outcomes(custom="__call__", called=_READ),
    "constraint": _outcomes(custom="__call__", called=_READ),
    "callback": {name: "called" for words in NAMES["callback"].values() for name in words.split()},  # that are here
}


_OUTCOMES["optimizer"] = {**dict.fromkeys(NAMES["optimizer"][""].split(), "compile"), **_OUTCOMES["optimizer"]}


# Where the library does the work these are not called.
_NOT_OF_THE_LIBRARY = {
    "layer": set("add_weight add_variable supports_masking get_initial_state states output_size state_size".split()),
    "metric": {"add_variable", "add_weight"},
    "optimizer": set(
        "add_variable add_variable_from_reference add_optimizer_variables assign assign_add assign_sub "
        "_get_variable_index".split()
    ),
}


# Of Circle, whose values carry which of them count; of Normalization, whose adapt() calls no other method; of Muon,
# whose weight decay depends on the weight.
_OF_KINDS = {
    "Circle": {"call"},
    "Normalization": {"finalize_state"},
    "Muon": {n for n, what in _OUTCOMES["optimizer"].items() if what in ("python", "called")} - set(_READ.split()),
}
_interfaces = weakref.WeakKeyDictionary()  # by class: how many names its classes had, and those it overrides


def category_of(cls):
    return getattr(cls, "_interface", None) or cls._category


def is_ours(value, owner):
    """Whether a member of a class is the package's own: a user's function that was put into such a class is not."""
    if owner.__module__.split(".")[0] != _PACKAGE:
        return False
    function = getattr(value, "fget", None) or getattr(value, "__func__", value)
    names = getattr(function, "__globals__", None)
    return names is None or names["__name__"].split(".")[0] in (_PACKAGE, "contextlib")


def _names(cls):
    """Of Keras's interface for a class, and what this package has beside."""
    kinds, names = {c.__name__ for c in cls.__mro__}, set()
    for key, words in NAMES[category_of(cls)].items():
        if not key or kinds.intersection(key.split()):
            names.update(words.split())
    for c in cls.__mro__:
        if c is not object and is_ours(None, c):
            names.update(n for n, v in vars(c).items() if n[:2] != "__" and (callable(v) or isinstance(v, property)))
    return names


def _interface_of(cls):
    """The names, and those that a class of its user's has, with that class."""
    sizes = [len(vars(c)) for c in cls.__mro__]  # a method may be put into a class later
    known = _interfaces.get(cls)
    if known is None or known[0] != sizes:
        names, found = _names(cls), {}
        for name in names:
            c = next((c for c in cls.__mro__[:-1] if name in vars(c)), None)
            if c is not None and not is_ours(vars(c)[name], c):
                found[name] = c
        known = _interfaces[cls] = sizes, names, found
    return known[1:]


def overridden(thing):
    """The names of what its class or the object itself has in place of the library's."""
    known, found = _interface_of(type(thing))
    mine = vars(thing)
    return {*found, *(name for name in known.intersection(mine) if callable(mine[name]))}


def is_overridden(thing, *names):
    return not overridden(thing).isdisjoint(names)


def outcome(cls, name):
    """called, own, steps or python (of a model), the verb that refuses it, or made."""
    category = category_of(cls)
    kind = getattr(cls, "_class_name", None)
    if kind is not None and (name in _NOT_OF_THE_LIBRARY.get(category, ()) or name in _OF_KINDS.get(kind, ())):
        return "made"
    if category == "callback" and not any(name in vars(c) for c in cls.__mro__ if is_ours(None, c)):
        return "made"
    return _OUTCOMES[category].get(name, "made")


def is_custom(thing):
    """Is it its user's, so that its methods are called and not the library's?"""
    if thing._class_name is None:
        return True
    cls = type(thing)
    return any(outcome(cls, name) == "custom" for name in overridden(thing))


def own_class(thing):
    """The library's class that a user's derives from, or that it is."""
    return next(c for c in type(thing).__mro__ if c.__module__.split(".")[0] == _PACKAGE)


def having(thing, *outcomes):
    """The names that it overrides of which this becomes."""
    cls = type(thing)
    return sorted(name for name in overridden(thing) if outcome(cls, name) in outcomes)


def refused(cls, name, who):
    """The error: `who` would have to call that method."""
    c, base = _interface_of(cls)[1].get(name, cls), next(b for b in cls.__mro__ if is_ours(None, b))
    if not any(name in words.split() for words in NAMES[category_of(cls)].values()):
        return NotImplementedError(f"{c.__name__}.{name}: the name is {base.__name__}'s own here: expected another one")
    return NotImplementedError(
        f"{c.__name__}.{name}: {who} does not call what overrides {base.__name__}.{name} in this version"
    )


def refuse(thing, who, *outcomes, but=()):
    """Raises for what it overrides that would have to be called."""
    for name in having(thing, *outcomes):
        if name not in but:
            raise refused(type(thing), name, who)


def need_class(cls):
    """Raises for what no object of a class would be asked for."""
    for name in sorted(_interface_of(cls)[1]):
        if outcome(cls, name) == "made":
            raise refused(cls, name, "an object of this class")

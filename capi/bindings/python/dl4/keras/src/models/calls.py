"""The calls of a functional model, as its user made them."""

from ..registry import facts
from ..symbolic.function import is_owned


def calls_of(functional):
    """The calls of a model as a user made them, with what each gave: of a custom layer the outermost call."""
    done, steps = set(), []
    for call in functional.all_calls:
        if is_owned(call):
            continue
        record = call.owner if call.owner is not None and call.owner.layer is not None else None
        if call.host is not None and record is None:
            steps.append((call.host.layer, call.host.args, call.host.kwargs, call.outputs[0]))
            continue
        if call.layer is None and record is None:
            if call.value is None:
                steps.append((None, (), {}, call.outputs[0]))
            continue
        if record is not None:
            if id(record) not in done and record.outputs is not None:  # else it is the activation of a layer
                done.add(id(record))
                steps.append((record.layer, record.args, record.kwargs, record.outputs))
            continue
        given = call.activated or call.outputs
        outputs = given[0] if len(given) == 1 else list(given)
        many = call.layer._class_name in _MANY or len(call.inputs) > 1 and not _ports(call)
        args = (list(call.inputs),) if many else tuple(call.inputs)
        steps.append((call.layer, args, {**call.plain, **call.tensors}, outputs))
    return steps


_MANY = {
    "Add",
    "Subtract",
    "Multiply",
    "Average",
    "Maximum",
    "Minimum",
    "Concatenate",
    "Dot",
    "Stack",
    "MatMul",
    "Attention",
    "AdditiveAttention",
}


def _ports(call):
    ports = facts("layer").get(call.layer._class_name, {}).get("call_positional")  # a call of NumPy's has none
    return bool(ports) and ports[0] == "query"

"""Operators between layers, in the configs of functional models as Keras writes them."""

_OURS = {
    "Add": "BroadcastAdd",
    "Subtract": "BroadcastSubtract",
    "Multiply": "BroadcastMultiply",
    "Divide": "Divide",
    "TrueDivide": "Divide",
    "Power": "Power",
    "Maximum": "BroadcastMaximum",
    "Minimum": "BroadcastMinimum",
}
_KERAS = {ours: name for name, ours in _OURS.items() if name != "TrueDivide"}
_MODULE = "keras.src.ops.numpy"


def _is_float(x):
    """Is it a reference to a tensor of floats? Of integers Keras's results have other types."""
    return isinstance(x, dict) and x.get("class_name") == "__keras_tensor__" and x["config"].get("dtype") == "float32"


def _is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def as_keras(item):
    """A layer of a config that is an operator, as Keras has it; others as they are."""
    name, nodes = _KERAS.get(item["class_name"]), item["inbound_nodes"]
    if not item.get("operation") or name is None or len(nodes) != 1 or nodes[0]["kwargs"]:
        return item
    numbers, (given,) = [item["config"].get(key) for key in ("x1", "x2")], nodes[0]["args"]
    tensors = iter(given if isinstance(given, list) else [given])
    args = [next(tensors) if number is None else number for number in numbers]
    if not all(_is_float(x) or _is_number(x) for x in args):
        return item
    return {"module": _MODULE, "class_name": name, "config": {"name": item["name"]}, "registered_name": name,
            "name": item["name"], "inbound_nodes": [{"args": args, "kwargs": {}}]}


def of_keras(item):
    """The same layer here; None of an operation that is none of these operators."""
    if item.get("module") != _MODULE or not isinstance(item.get("inbound_nodes"), list):
        return None
    ours, nodes = _OURS.get(item["class_name"]), item["inbound_nodes"]
    if ours is None or len(nodes) != 1:
        return None
    args, name = nodes[0].get("args"), item["config"].get("name")
    if set(item["config"]) != {"name"} or nodes[0].get("kwargs") or not isinstance(args, list) or len(args) != 2:
        return None
    tensors = [x for x in args if _is_float(x)]
    if not tensors or not all(_is_float(x) or _is_number(x) for x in args):
        return None
    numbers = {f"x{i}": None if _is_float(x) else x for i, x in enumerate(args, 1)}
    return {"module": "keras.layers", "class_name": ours, "config": {"name": name, **numbers}, "registered_name": None,
            "name": name, "operation": True,
            "inbound_nodes": [{"args": [tensors] if len(tensors) == 2 else tensors, "kwargs": {}}]}

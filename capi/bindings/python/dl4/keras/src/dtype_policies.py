"""Policies of data types: of floats there is float32, and what asks for another is told so once."""

from .backend.config import computed_in
from .export import keras_export


@keras_export("")
class DTypePolicy:
    """What a layer computes in and has its weights in."""

    def __init__(self, name="float32"):
        if not isinstance(name, str):
            raise TypeError(
                f"'name' must be a string, such as 'mixed_float16'. Received: name={name} (of type {type(name)})"
            )
        if name not in _KNOWN:
            raise ValueError(
                f"Cannot convert '{name}' to a mixed precision DTypePolicy. Valid policies include 'mixed_float16', "
                "'mixed_bfloat16', and the name of any float dtype such as 'float32'."
            )
        self._name, self._compute = name, computed_in(name)

    @property
    def name(self):
        return self._compute

    @property
    def compute_dtype(self):
        return self._compute

    variable_dtype = compute_dtype
    quantization_mode = None

    def get_config(self):
        return {"name": self.name}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __eq__(self, other):
        return getattr(other, "name", other) == self.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f'<DTypePolicy "{self.name}">'


_KNOWN = (
    "bool bfloat16 float16 float32 float64 mixed_float16 mixed_bfloat16 int8 int16 int32 int64 uint8 uint16 uint32"
).split()
_policy = []


def dtype_policy():
    """That of layers that are made from now on."""
    return _policy[0] if _policy else DTypePolicy("float32")


def set_dtype_policy(policy):
    """Sets it; of floats all mean float32."""
    policy = get(policy)
    if policy.name != "float32":
        raise NotImplementedError(f"set_dtype_policy: layers compute in float32, got {policy.name!r}")
    _policy[:] = [policy]


def get(identifier):
    """A policy of a name, a config or a policy."""
    if identifier is None:
        return dtype_policy()
    if isinstance(identifier, DTypePolicy):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    return DTypePolicy(str(getattr(identifier, "name", identifier)))


def serialize(policy):
    return {"module": "keras", "class_name": "DTypePolicy", "config": policy.get_config(), "registered_name": None}


def deserialize(config):
    if config.get("class_name") not in ("DTypePolicy", "FloatDTypePolicy"):
        raise ValueError(f"expected a DTypePolicy, got {config.get('class_name')!r}")
    return DTypePolicy.from_config(config["config"])

"""Policies of data types: what layers are told to compute in, and as what to keep their weights."""

import re
from collections.abc import MutableMapping

from .backend.config import computed_in
from .export import keras_export
from .registry import register_model
from .saving.serialization_lib import deserialize_keras_object, serialize_keras_object

QUANTIZATION_MODES = ("int8", "float8", "int4", "gptq", "awq")
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_PLAIN = {*_FLOATS, "bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
_MIXED = {f"mixed_{name}": name for name in ("float16", "bfloat16")}
_OBJECTS, _FIRST = {}, ("DTypePolicy", "FloatDTypePolicy")


def _known(cls):
    """A decorator: a class of this module, which configs name."""
    _OBJECTS[cls.__name__] = cls
    if cls.__name__ not in _FIRST:
        register_model(cls)
    return keras_export("" if cls.__name__ in _FIRST else "dtype_policies")(cls)


@_known
class DTypePolicy:
    """A type, or mixed precision. Of floats the library's layers compute in float32, whatever they are told."""

    quantization_mode = None

    def __init__(self, name=None):
        self._name = dtype_policy().name if name is None else name
        self._take(self._name)

    def _take(self, name):
        """The types of a name."""
        if not isinstance(name, str):
            raise TypeError(
                f"'name' must be a string, such as 'mixed_float16'. Received: name={name} (of type {type(name)})"
            )
        if name not in _PLAIN and name not in _MIXED:
            raise ValueError(
                f"Cannot convert '{name}' to a mixed precision DTypePolicy. Valid policies include 'mixed_float16', "
                "'mixed_bfloat16', and the name of any float dtype such as 'float32'."
            )
        self.compute_dtype, self.variable_dtype = _MIXED.get(name, name), "float32" if name in _MIXED else name

    @property
    def name(self):
        """The name."""
        return self._name

    def get_config(self):
        """The name of the policy, as a dict."""
        return {"name": self._name}

    @classmethod
    def from_config(cls, config):
        """A policy of what get_config() gave."""
        return cls(**config)

    def __eq__(self, other):
        plain = (DTypePolicy, FloatDTypePolicy)
        alike = type(other) in plain if type(self) in plain else type(other) is type(self)
        return alike and other.get_config() == self.get_config()

    def __hash__(self):
        return hash(self._name)

    def __repr__(self):
        return f'<{type(self).__name__.replace("Float", "", type(self) is FloatDTypePolicy)} "{self._name}">'


@_known
class FloatDTypePolicy(DTypePolicy):
    """Another name of DTypePolicy."""


@_known
class QuantizedDTypePolicy(DTypePolicy):
    """Weights as whole numbers of fewer bits."""

    _parts = ()  # of a mode, behind its word: each with what it may be
    mode = property(lambda self: self.quantization_mode)

    def __init__(self, mode, source_name=None):
        self._said = mode
        numbers = self._numbers(mode) if self._parts else []
        mode = mode.split("/")[0] if self._parts else mode
        self._source_name = dtype_policy().name if source_name is None else source_name
        self._name = f"{self._said}_from_{self._source_name}"
        self._take(self._source_name)
        if mode not in QUANTIZATION_MODES:
            raise ValueError(
                f"Invalid quantization mode. Expected one of {QUANTIZATION_MODES}. Received: mode={mode}"
            )
        if mode == "int8" and self.compute_dtype == "float16":
            raise ValueError(f"Quantization mode='{mode}' doesn't work well with compute_dtype='float16'.")
        self.quantization_mode = mode
        for part, number in zip(self._parts, numbers):
            setattr(self, part, number)

    def _numbers(self, mode):
        """Of a mode as "gptq/4/128"."""
        me, (word, *given) = type(self).__name__, mode.split("/")
        wanted = "/".join([self._word, *(f"<{part}>" for part in self._parts)])
        if word != self._word or len(given) != len(self._parts):
            raise ValueError(f"Invalid mode for {me}. Expected format '{wanted}', but got '{mode}'.")
        try:
            numbers = dict(zip(self._parts, map(int, given)))
        except ValueError:
            names = " and ".join(f"<{part}>" for part in self._parts)
            be = "must be integers" if len(self._parts) > 1 else "must be an integer"
            raise ValueError(
                f"Invalid mode for {me}. {names} {be}. Expected format '{wanted}', but got '{mode}'."
            ) from None
        bits = numbers.get("weight_bits", 4)
        if bits not in self._bits:
            values = "AWQ only supports 4-bit quantization" if self._word == "awq" else (
                f"Supported values are {', '.join(map(str, self._bits[:-1]))}, and {self._bits[-1]}"
            )
            raise ValueError(f"Invalid weight_bits in mode. {values}, but got {bits} from '{mode}'.")
        size = numbers[self._parts[-1]]
        if size < -1 or size == 0:
            raise ValueError(
                f"Invalid {self._parts[-1]} in mode. Supported values are -1 ({self._whole}) or a positive integer"
                f"{self._some}, but got {size} from '{mode}'."
            )
        return list(numbers.values())

    def get_config(self):
        return {"mode": self._said, "source_name": self._source_name}


@_known
class QuantizedFloat8DTypePolicy(QuantizedDTypePolicy):
    """Training in floats of 8 bits, which layers refuse."""

    default_amax_history_length = 1024

    def __init__(self, mode, source_name=None, amax_history_length=1024):
        super().__init__(mode, source_name)
        if not isinstance(amax_history_length, int):
            raise TypeError(
                f"`amax_history_length` must be an integer. Received: amax_history_length={amax_history_length}"
            )
        self.amax_history_length = amax_history_length

    def get_config(self):
        return {**super().get_config(), "amax_history_length": self.amax_history_length}


@_known
class Int4DTypePolicy(QuantizedDTypePolicy):
    """4 bits, "int4/<block_size>": so many rows have a scale and a zero point of their own; -1: one scale for all."""

    _word, _parts, _bits, _whole, _some = "int4", ("block_size",), (4,), "per-channel", " (sub-channel)"


@_known
class GPTQDTypePolicy(QuantizedDTypePolicy):
    """What GPTQ made, "gptq/<weight_bits>/<group_size>"."""

    _word, _parts, _bits, _whole, _some = "gptq", ("weight_bits", "group_size"), (2, 3, 4, 8), "whole-tensor", ""


@_known
class AWQDTypePolicy(QuantizedDTypePolicy):
    """What AWQ made, "awq/4/<group_size>"."""

    _word, _parts, _bits, _whole, _some = "awq", ("weight_bits", "group_size"), (4,), "per-channel", ""


@_known
class DTypePolicyMap(DTypePolicy, MutableMapping):
    """Policies by paths of layers, which keys say as regular expressions."""

    def __init__(self, default_policy=None, policy_map=None):
        if isinstance(default_policy, DTypePolicyMap):
            raise ValueError("`default_policy` cannot be a `DTypePolicyMap`.")
        if policy_map is not None and not isinstance(policy_map, dict):
            raise TypeError(
                f"If specified, `policy_map` must be a dict. Received: policy_map={policy_map} of type "
                f"{type(policy_map)}"
            )
        self._given, self._map = default_policy, policy_map or {}
        self._default = get(default_policy)

    default_policy = property(lambda self: get(self._default))
    name = property(lambda self: f"map_{self.default_policy.name}")
    variable_dtype = property(lambda self: self.default_policy.variable_dtype)
    compute_dtype = property(lambda self: self.default_policy.compute_dtype)
    quantization_mode = property(lambda self: self.default_policy.quantization_mode)

    def __getitem__(self, key):
        if key in self._map:
            return self._map[key]
        found = [pattern for pattern in self._map if re.fullmatch(pattern, key)]
        if len(found) > 1:
            raise ValueError(
                f"Path '{key}' matches multiple dtype policy specification keys: {found}. Please make sure each path "
                "only matches at most one dtype policy specification key in the DTypePolicyMap."
            )
        return self._map[found[0]] if found else self.default_policy

    def __setitem__(self, key, policy):
        if key in self._map:
            raise ValueError(
                f"{key} already exist in the DTypePolicyMap with value {self._map[key]}. Please make sure to not use "
                "duplicated keys."
            )
        try:
            self._map[key] = get(policy)
        except Exception:
            raise ValueError(
                "Cannot interpret the assigned value by `keras.dtype_policies.get`. "
                f"Received: {policy} of type {type(policy)}"
            ) from None

    def __delitem__(self, key):
        del self._map[key]

    def __contains__(self, key):
        return key in self._map

    def __len__(self):
        return len(self._map)

    def __iter__(self):
        return iter(self._map)

    def get_config(self):
        """Without a default policy of its own its policies too are of the float that is set where it is read."""
        policies = {key: serialize(policy) for key, policy in self._map.items()}
        if self._given is None:
            for policy in policies.values():
                policy["config"] = {k: None if k in ("name", "source_name") else v for k, v in policy["config"].items()}
        given = serialize(self._given) if isinstance(self._given, DTypePolicy) else self._given
        return {"default_policy": given, "policy_map": policies}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        policies = {key: deserialize(policy, custom_objects) for key, policy in config["policy_map"].items()}
        return cls(config["default_policy"], policies)

    __eq__, __hash__ = DTypePolicy.__eq__, object.__hash__

    def __repr__(self):
        mapping = [(key, policy.name) for key, policy in self._map.items()]
        return f"<DTypePolicyMap at {hex(id(self))} default_policy={self._default.name}, mapping={mapping}>"


def need_no_float8(policy, who):
    """Layers are not quantized so, by a policy itself or by one of a map."""
    for one in (policy, *(policy.values() if isinstance(policy, DTypePolicyMap) else ())):
        if one.quantization_mode == "float8":
            raise NotImplementedError(f"{who}: float8 is not in this version, got {one.name!r}")


_policy = []


def dtype_policy():
    """That of layers that are made from now on."""
    return _policy[0] if _policy else DTypePolicy("float32")


def mixed_bfloat16(dtype):
    """The policy of a layer's dtype if it is that one, else None."""
    policy = dtype_policy() if dtype is None else dtype
    if isinstance(policy, dict):
        policy = policy.get("config", {}).get("name")
    name = getattr(policy, "name", policy)
    return DTypePolicy(name) if name == "mixed_bfloat16" else None


def set_dtype_policy(policy):
    """Sets it; layers of another float but mixed_bfloat16 compute in float32, which is said once."""
    if not isinstance(policy, (str, DTypePolicy)):
        raise ValueError(
            "Invalid `policy` argument. Expected the string name of a policy (such as 'mixed_float16') or a "
            f"`DTypePolicy` instance. Received: policy={policy} (of type {type(policy)})"
        )
    policy = get(policy)
    plain = policy.default_policy if isinstance(policy, DTypePolicyMap) else policy
    source = getattr(plain, "_source_name", plain.name)
    if source not in _FLOATS and source not in _MIXED:
        raise NotImplementedError(f"set_dtype_policy: layers compute in float32, got {policy.name!r}")
    need_no_float8(policy, "set_dtype_policy")
    if mixed_bfloat16(policy) is None:
        computed_in(source)
    _policy[:] = [policy]


def _get_quantized_dtype_policy_by_str(policy):
    """Of "int8_from_float32" and the like."""
    if not isinstance(policy, str):
        raise TypeError(f"`policy` must be a string. Received: policy={policy}")
    if not policy.startswith(QUANTIZATION_MODES):
        raise ValueError("`policy` is incompatible with the current supported quantization.")
    parts = policy.split("_from_")
    if len(parts) != 2:
        raise ValueError(
            "Cannot convert `policy` into a valid pair (`mode`, `source_name`) to instantiate `QuantizedDTypePolicy`. "
            f"Received: policy={policy}"
        )
    word = next(mode for mode in QUANTIZATION_MODES if policy.startswith(mode))
    classes = {"float8": QuantizedFloat8DTypePolicy, "gptq": GPTQDTypePolicy, "awq": AWQDTypePolicy}
    if "/" in parts[0]:
        classes["int4"] = Int4DTypePolicy
    return classes.get(word, QuantizedDTypePolicy)(*parts)


def get(identifier):
    """A policy of a name, a config or a policy."""
    if identifier is None:
        return dtype_policy()
    if isinstance(identifier, DTypePolicy):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    name = getattr(identifier, "name", getattr(identifier, "__name__", identifier))  # of tf.float32, numpy.float32
    if not isinstance(name, str):
        raise ValueError(
            "Cannot interpret `dtype` argument. Expected a string or an instance of DTypePolicy. "
            f"Received: dtype={identifier}"
        )
    quantizes = name.startswith(QUANTIZATION_MODES)
    return _get_quantized_dtype_policy_by_str(name) if quantizes else DTypePolicy(name)


def serialize(dtype_policy):
    """As a config."""
    return serialize_keras_object(dtype_policy)


def deserialize(config, custom_objects=None):
    """The policy of a config."""
    cls = _OBJECTS.get(config.get("class_name"))
    if cls is not None:
        return cls.from_config(config["config"])
    found = deserialize_keras_object(config, custom_objects)
    if not isinstance(found, DTypePolicy):
        raise ValueError(f"expected a DTypePolicy, got {config.get('class_name')!r}")
    return found

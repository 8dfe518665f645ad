"""keras.name_scope."""

from ..export import keras_export
from .global_state import _thread


@keras_export("")
class name_scope:
    """While it lasts the paths of variables that are made begin with its name."""

    def __init__(self, name, caller=None, deduplicate=True, override_parent=None):
        if not isinstance(name, str) or "/" in name:
            raise ValueError(
                f"Argument `name` must be a string and cannot contain character `/`. Received: name={name}"
            )
        self.name, self.caller, self._deduplicate, self._parent = name, caller, deduplicate, override_parent

    def __enter__(self):
        stack = _thread.names
        last = stack[-1] if stack else None
        same = last is not None and self.caller is not None and (last.caller, last.name) == (self.caller, self.name)
        self._entered = not (self._deduplicate and same)
        if self._entered:
            stack.append(self)
        return self

    def __exit__(self, *_):
        if self._entered:
            _thread.names.pop()


def current_path():
    parts = []
    for scope in _thread.names:
        if scope._parent is not None:
            parts = [p for p in scope._parent.split("/") if p]
        parts.append(scope.name)
    return "/".join(parts)

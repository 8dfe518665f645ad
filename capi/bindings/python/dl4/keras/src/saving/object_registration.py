"""Custom classes and functions by name."""

import contextlib

_registered, _scopes = {}, []


def register_keras_serializable(package="Custom", name=None):
    """A decorator: a custom class or function, to be found by its name."""

    def decorated(thing):
        registered_name = f"{package}>{name or thing.__name__}"
        if isinstance(thing, type) and not hasattr(thing, "get_config"):
            raise ValueError("Cannot register a class that does not have a get_config() method.")
        _registered[registered_name] = thing
        return thing

    return decorated


@contextlib.contextmanager
def custom_object_scope(custom_objects):
    """While it lasts these names are known."""
    _scopes.append(custom_objects or {})
    try:
        yield
    finally:
        _scopes.pop()


CustomObjectScope = custom_object_scope


def get_custom_objects():
    """The dict of registered classes and functions by name."""
    return _registered


def registered(name):
    """The custom class or function of that name."""
    for scope in reversed(_scopes):
        if name in scope:
            return scope[name]
    if name in _registered:
        return _registered[name]
    return next((v for k, v in _registered.items() if k.split(">")[-1] == name), None)


get_registered_object = registered


def get_registered_name(thing):
    """The name that a class or function is registered under."""
    return next((k for k, v in _registered.items() if v is thing), thing.__name__)

"""Layers of the library's kinds that are Python where what they are given is: around a layer or a cell of one's own."""

import functools
import inspect


def called(layer, x, **given):
    """A layer on x, with those of the arguments that its call() takes and that are not None."""
    known = inspect.signature(layer.call).parameters
    return layer(x, **{key: value for key, value in given.items() if key in known and value is not None})


def in_python(*names):
    """A class decorator: these methods are those of layers that are Python, whose `_class_name` is None. Others take
    the base class's."""

    def decorate(cls):
        for name in names:
            setattr(cls, name, _either(cls, name, vars(cls)[name]))
        return cls

    return decorate


def _either(cls, name, method):
    if isinstance(method, property):

        def get(self):
            return method.fget(self) if self._class_name is None else getattr(super(cls, self), name)

        return property(get)

    @functools.wraps(method)
    def either(self, *args, **kwargs):
        call = method.__get__(self) if self._class_name is None else getattr(super(cls, self), name)
        return call(*args, **kwargs)

    return either

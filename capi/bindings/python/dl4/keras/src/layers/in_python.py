"""Layers of the library's kinds that are Python where what they are given is: around a layer or a cell of one's own."""

import functools


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

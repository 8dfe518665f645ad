"""Public names of classes."""


def keras_export(module):
    """A decorator: the class has the public module that exports it as its `__module__`, also in configs and pickles."""

    def decorate(cls):
        cls.__module__ = f"dl4.keras.{module}".rstrip(".")
        return cls

    return decorate

"""NumPy, imported when a name of it is first used: `import dl4.keras` does not need it."""


class _NumPy:
    def __getattr__(self, name):
        import numpy

        value = getattr(numpy, name)
        setattr(self, name, value)
        return value


np = _NumPy()

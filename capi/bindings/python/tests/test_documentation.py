"""Every public class, function and method says what it does, in Python's words."""

import inspect
import re
import unittest

import dl4
import dl4.keras as keras
import dl4.plot

MODULES = "activations callbacks config constraints initializers layers losses metrics models ops optimizers "
MODULES += "regularizers saving utils"


def public():
    """(name, object): of a class its methods and properties too, inherited ones included."""
    modules = [("dl4", dl4), ("dl4.plot", dl4.plot), ("keras", keras)]
    modules += [(f"keras.{name}", getattr(keras, name)) for name in MODULES.split()]
    for where, module in modules:
        for name in dir(module):
            if name.startswith("_") or inspect.ismodule(one := getattr(module, name)) or not callable(one):
                continue
            if not getattr(one, "__module__", "").startswith("dl4"):
                continue
            yield f"{where}.{name}", one
            for member in dir(one) if inspect.isclass(one) else ():
                value = inspect.getattr_static(one, member)
                if not member.startswith("_") and (isinstance(value, property) or callable(getattr(one, member))):
                    yield f"{where}.{name}.{member}", value if isinstance(value, property) else getattr(one, member)


class Documentation(unittest.TestCase):
    def test_everything_has_a_docstring(self):
        names = [name for name, one in public()]
        self.assertGreater(len(names), 1000)
        self.assertEqual([name for name, one in public() if not (inspect.getdoc(one) or "").strip()], [])

    def test_docstrings_speak_python(self):
        said = [(name, line) for name, one in public() for line in (inspect.getdoc(one) or "").splitlines()
                if re.search(r"\bnull\b", line)]
        self.assertEqual(said, [])

    def test_methods_of_a_model_say_their_arguments(self):
        for name in ("compile", "fit", "evaluate", "predict"):
            method = getattr(keras.Model, name)
            for argument in set(inspect.signature(method).parameters) - {"self", "kwargs"}:
                self.assertRegex(method.__doc__, rf"\b{argument}\b", name)


if __name__ == "__main__":
    unittest.main()

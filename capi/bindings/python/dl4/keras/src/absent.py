"""What is said of names that are not there."""

import difflib
import sys


_OTHERS = {"lr": "learning_rate"}  # names that others have


def meant(name, known):
    """What is said of the one of `known` that was probably meant."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1, 0.7)
    close = close or [k for k in known if k in (_OTHERS.get(name), name.lower())]
    return f"; did you mean '{close[0]}'?" if close else ""


def absent(owner, name, known):
    """The AttributeError for a name."""
    return AttributeError(f"{owner} has no attribute '{name}'{meant(name, known)}")


def absent_from(module):
    """The __getattr__ of a module that has all its names."""

    def __getattr__(name):
        known = () if name.startswith("__") else dir(sys.modules[module])
        raise absent(f"module '{module}'", name, known)

    return __getattr__

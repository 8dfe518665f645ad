"""What is global in Keras: automatic names, the context with its seed, and the scratch graph."""
import re

from .. import core

_context = None
_scratch = None
_counts = {}
_scheme = "dl4"


def context():
    global _context
    if _context is None:
        _context = core.Context()
    return _context


def scratch():
    global _scratch
    if _scratch is None:
        _scratch = core.Graph(context())
    return _scratch


def set_seed(seed, scheme="dl4"):
    """Models that are made from now on draw from the start of this seed's numbers."""
    global _context, _scheme
    _context, _scheme = core.Context(seed=int(seed), seed_scheme=scheme), scheme


def goes_by_order():
    """Do initial weights go by the order in which layers were called, as in TensorFlow?"""
    return _scheme == "tensorflow"


def clear():
    global _scratch
    _scratch = None
    _counts.clear()


def snake_case(name):
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def unique(name, automatic=True):
    """Keras's automatic name for a base: dense, dense_1, ..."""
    if not automatic:
        return name
    n = _counts.get(name, 0)
    _counts[name] = n + 1
    return f"{name}_{n}" if n else name


_changes = 0


def changed():
    """Some weights have changed: sessions with the old ones are made anew."""
    global _changes
    _changes += 1


def changes():
    return _changes

"""Seeds, one-hot labels, drawings."""
from . import _state


def set_random_seed(seed):
    """Of Python, NumPy and the models made from now on."""
    import random
    random.seed(seed)
    try:
        import numpy
        numpy.random.seed(seed)
    except ImportError:
        pass
    _state.set_seed(seed)


def to_categorical(x, num_classes=None):
    """One-hot rows of labels."""
    import numpy
    x = numpy.asarray(x, dtype="int64")
    if x.ndim > 1 and x.shape[-1] == 1:
        x = x[..., 0]
    classes = int(num_classes or x.max() + 1)
    return numpy.eye(classes, dtype="float32")[x]


def model_to_dot(model, **_):
    """The model as DOT text."""
    return model.core.describe(2)


def plot_model(model, to_file="model.svg", **_):
    """Draws a model with Graphviz's `dot`; a file that ends in .dot is its text."""
    import pathlib
    import subprocess
    text, path = model_to_dot(model), pathlib.Path(to_file)
    if path.suffix == ".dot":
        path.write_text(text)
    else:
        subprocess.run(["dot", f"-T{path.suffix[1:] or 'svg'}", "-o", str(path)], input=text.encode(), check=True)
    return str(path)

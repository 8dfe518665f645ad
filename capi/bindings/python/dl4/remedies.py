"""Messages of the library in Python's words, with what usually mends the mistake."""

import re

MORE = "for all of Keras, install keras and import dl4.keras_backend"

_SHAPE = r"\(([^()]*)\)"
_INPUT = re.compile(rf'input "[^"]*": expected shape {_SHAPE}, got {_SHAPE}$')
_TARGET = re.compile(rf'target of output "[^"]*": expected shape {_SHAPE} for predictions of shape {_SHAPE}, got {_SHAPE}$')
_NO_TARGETS = re.compile(r"expected \d+ targets?, got 0$")


def _sizes(text):
    return [size for size in text.replace(" ", "").split(",") if size]


def batch_axis(wanted, got):
    """What is said where a sample came without a batch axis; `got` may have an axis of 1 that was added to it."""
    sample = wanted[1:]
    fits = lambda sizes: len(sizes) == len(sample) and all(w in ("None", g) for w, g in zip(sample, sizes))
    alone = sample and (fits(got) or (got[-1:] == ["1"] and fits(got[:-1])))
    return "; a single sample needs a batch axis: x[None]" if alone else ""


def _targets(wanted, predicted, got):
    classes = len(predicted) > 1 and predicted[-1] != "1"
    if classes and wanted == predicted and got[1:] in (predicted[1:-1], [*predicted[1:-1], "1"]):
        return '; for integer labels the loss is "sparse_categorical_crossentropy"'
    if classes and wanted == predicted[:-1] and got[1:] == predicted[1:]:
        return '; for one-hot targets the loss is "categorical_crossentropy"'
    return ""


def worded(message, function):
    """What Python raises for the message of a function of the library's."""
    message = re.sub(r"(?<=[(,\s])\?(?=[,)])", "None", message.removeprefix(f"{function}: "))
    if found := _INPUT.search(message):
        message += batch_axis(*map(_sizes, found.groups()))
    elif found := _TARGET.search(message):
        message += _targets(*map(_sizes, found.groups()))
    elif _NO_TARGETS.search(message):
        message += "; a loss needs `y`"
    return message

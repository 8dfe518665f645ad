"""The programs of scripts/, as users of Keras write them: each runs on TensorFlow with Keras, and on dl4 with its lines
of imports changed, with equal `results`."""

import pathlib
import re
import sys
import types

FOLDER = pathlib.Path(__file__).parent / "scripts"
IMPORTS = [
    (r"^(\s*)import keras$", r"\1import dl4.keras as keras"),
    (r"^(\s*(?:import|from) )keras\b", r"\1dl4.keras"),
    (r"^(\s*(?:import|from) )tensorflow\b", r"\1dl4"),
]


def run(path, swapped=False):
    """What a script leaves in `results`."""
    text = path.read_text()
    for line, other in IMPORTS if swapped else []:
        text = re.sub(line, other, text, flags=re.MULTILINE)
    module = types.ModuleType(path.stem)
    sys.modules[path.stem] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module.results


def program(path):
    return lambda tf, keras: (keras.utils.clear_session(), run(path, swapped=tf.__name__ == "dl4"))[1]


PROGRAMS = {path.stem: program(path) for path in sorted(FOLDER.glob("*.py"))}

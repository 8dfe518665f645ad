"""The command line of an example: `--keras` runs it on Keras itself, anything else on dl4.keras."""
import os
import sys


def chosen():
    """The module and the other arguments, the first of which is a path; without it, what the example needs is told."""
    arguments = [a for a in sys.argv[1:] if a != "--keras"]
    if not arguments or not os.path.exists(arguments[0]):
        sys.exit(f"{sys.modules['__main__'].__doc__}\nthere is no {arguments[0]}" if arguments
                 else sys.modules["__main__"].__doc__)
    if len(arguments) < len(sys.argv) - 1:
        import keras
        return keras, arguments
    import dl4.keras
    return dl4.keras, arguments

"""Which Keras: `--keras` runs an example on Keras itself, anything else on dl4.keras."""
import sys


def chosen():
    """The module and the other arguments."""
    arguments = [a for a in sys.argv[1:] if a != "--keras"]
    if len(arguments) < len(sys.argv) - 1:
        import keras
        return keras, arguments
    import dl4.keras
    return dl4.keras, arguments

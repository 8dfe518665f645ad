"""Messages of callbacks."""

import logging

from ..backend.config import is_interactive_logging_enabled


def print_msg(message):
    """Shows a message: as text, or where disable_interactive_logging() was called to the log "absl", as Keras does."""
    if is_interactive_logging_enabled():
        print(message, flush=True)
    else:
        logging.getLogger("absl").info(message)

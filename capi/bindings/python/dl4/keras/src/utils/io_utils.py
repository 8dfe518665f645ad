"""Messages of callbacks and files."""

import logging
import sys

from ..backend.config import is_interactive_logging_enabled


def print_msg(message, line_break=True):
    """Shows a message: as text, or where disable_interactive_logging() was called to the log "absl", as Keras does."""
    if is_interactive_logging_enabled():
        print(message, end="\n" if line_break else "", flush=True)
    else:
        logging.getLogger("absl").info(message)


def log_warning(message):
    """Warns in the log "absl", as Keras does: by absl's own function where that package is loaded."""
    (sys.modules.get("absl.logging") or logging.getLogger("absl")).warning(message)

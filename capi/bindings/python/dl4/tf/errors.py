"""tf.errors."""


class OpError(Exception):
    """What an operation on bad values raises."""

    def __init__(self, *args):
        super().__init__(*args)
        self.message = str(args[-1]) if args else ""


class InvalidArgumentError(OpError, ValueError):
    pass


class OutOfRangeError(OpError, StopIteration):
    pass


class NotFoundError(OpError, FileNotFoundError):
    pass


class AlreadyExistsError(OpError, FileExistsError):
    pass


class UnknownError(OpError):
    pass


class ResourceExhaustedError(OpError, MemoryError):
    pass


class FailedPreconditionError(OpError):
    pass


class UnimplementedError(OpError, NotImplementedError):
    pass

package org.dl4;

/** What kind of error a {@link Dl4Exception} is. */
public enum Code {
  /** A bug in the library: please report. Also a code of a newer library. */
  INTERNAL,
  /** An allocation failed, or memory_limit would be passed. */
  OUT_OF_MEMORY,
  /** A value, attribute or call that cannot be right. */
  INVALID_ARGUMENT,
  /** No layer, loss, ... of that name. */
  UNKNOWN_KIND,
  /** No weight, file, key, ... of that name. */
  NOT_FOUND,
  /** By a {@link Cancel}. */
  CANCELLED,
  /** Shapes or types of data that do not fit. */
  SHAPE_MISMATCH,
  /** Valid, but not in this version or build. */
  UNSUPPORTED,
  /** The system refused to read or write. */
  IO,
  /** Not a model, truncated or damaged. */
  CORRUPT_FILE,
  /** Made by, or for, a newer library. */
  VERSION,
  /** In use by another thread, or by the caller of this callback. */
  BUSY,
  /** A callback that is not Java's reported failure. */
  CALLBACK_FAILED,
  /** NaN or infinity met by the nan_guard. */
  NUMERIC;

  static Code of(int number) {
    return number >= 1 && number <= values().length ? values()[number - 1] : INTERNAL;
  }
}

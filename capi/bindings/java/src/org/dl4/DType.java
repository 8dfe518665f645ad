package org.dl4;

import java.util.Locale;

/** A type of data. Values in a graph are all of these but FLOAT64, which is for tensors only. */
public enum DType {
  FLOAT32(1, 4),
  FLOAT64(2, 8),
  INT32(3, 4),
  INT64(4, 8),
  UINT8(5, 1),
  BOOL(6, 1),
  /** Of {@link Tensor#of(String[], long...)}. */
  STRING(9, 16);

  final int number;
  final int bytes;

  DType(int number, int bytes) {
    this.number = number;
    this.bytes = bytes;
  }

  static DType of(int number) {
    for (DType t : values()) {
      if (t.number == number) {
        return t;
      }
    }
    throw new IllegalStateException("dl4: type of data " + number + " is not known");
  }

  /** The name that the library uses, such as "float32". */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}

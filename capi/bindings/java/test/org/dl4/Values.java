package org.dl4;

import java.util.Arrays;
import java.util.Map;

/** Tensors as the steps of conformance.json have them. */
final class Values {
  private Values() {}

  static long[] longs(Object list) {
    return Json.<Number>list(list).stream().mapToLong(Number::longValue).toArray();
  }

  static double[] doubles(Object list) {
    return Json.<Number>list(list).stream().mapToDouble(Number::doubleValue).toArray();
  }

  static Tensor tensor(Map<String, Object> s) {
    long[] shape = longs(s.get("shape"));
    DType type =
        Arrays.stream(DType.values())
            .filter(t -> t.toString().equals(s.get("dtype")))
            .findAny()
            .orElse(null);
    if (type == null) { // a type that Java has no name for: what does the library say?
      try (Call c = new Call()) {
        c.check(Lib.dl4_tensor_create(0, 7, shape.length, c.longs(shape), c.slot()));
      }
    }
    if (type == DType.STRING) {
      return Tensor.of(Json.<String>list(s.get("values")).toArray(String[]::new), shape);
    }
    double[] v = doubles(s.get("values"));
    float[] floats = new float[v.length];
    byte[] bytes = new byte[v.length];
    boolean[] truths = new boolean[v.length];
    for (int i = 0; i < v.length; i++) {
      floats[i] = (float) v[i];
      bytes[i] = (byte) (int) v[i];
      truths[i] = v[i] != 0;
    }
    return switch (type) {
      case FLOAT32 -> Tensor.of(floats, shape);
      case FLOAT64 -> Tensor.of(v, shape);
      case INT32 -> Tensor.of(Arrays.stream(v).mapToInt(d -> (int) d).toArray(), shape);
      case INT64 -> Tensor.of(longs(s.get("values")), shape);
      case UINT8 -> Tensor.of(bytes, shape);
      case BOOL -> Tensor.of(truths, shape);
      case STRING -> throw new IllegalStateException("made above");
    };
  }

  static double[] read(Tensor t) {
    double[] out = new double[0];
    switch (t.dtype()) {
      case FLOAT32:
        float[] f = t.toFloats();
        out = new double[f.length];
        for (int i = 0; i < f.length; i++) {
          out[i] = f[i];
        }
        return out;
      case FLOAT64:
        return t.toDoubles();
      case INT32:
        return Arrays.stream(t.toInts()).asDoubleStream().toArray();
      case INT64:
        return Arrays.stream(t.toLongs()).asDoubleStream().toArray();
      case UINT8:
        byte[] b = t.toBytes();
        out = new double[b.length];
        for (int i = 0; i < b.length; i++) {
          out[i] = b[i] & 255;
        }
        return out;
      default:
        boolean[] truths = t.toBooleans();
        out = new double[truths.length];
        for (int i = 0; i < truths.length; i++) {
          out[i] = truths[i] ? 1 : 0;
        }
        return out;
    }
  }
}

package org.dl4;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.Map;

/**
 * Numbers with a shape, row-major. They lie in memory of the library, or of a direct buffer of
 * yours; {@link #buffer} sees them in place. Or strings, which have no buffer and do not change.
 * Threads may use a tensor at once as long as none writes it.
 */
public final class Tensor extends Handle {
  private DType dtype;
  private long[] shape;
  private ByteBuffer own; // for copies in and out, while the tensor is in use

  Tensor(long address) {
    super(address, Lib.dl4_tensor_bytes(address));
  }

  Tensor(long address, boolean borrowed) {
    super(address, borrowed);
  }

  /** Zeros. A context, which may be null, says whose memory limit counts. */
  public static Tensor zeros(Context context, DType dtype, long... shape) {
    try (Call c = new Call()) {
      long out = c.slot();
      long dims = c.longs(shape);
      c.check(Lib.dl4_tensor_create(c.use(context), dtype.number, shape.length, dims, out));
      return new Tensor(c.get(out, 0));
    }
  }

  public static Tensor zeros(DType dtype, long... shape) {
    return zeros(null, dtype, shape);
  }

  /** A copy of values, row-major; without a shape a scalar. */
  public static Tensor of(float[] values, long... shape) {
    return zeros(DType.FLOAT32, shape).set(values);
  }

  public static Tensor of(double[] values, long... shape) {
    return zeros(DType.FLOAT64, shape).set(values);
  }

  public static Tensor of(int[] values, long... shape) {
    return zeros(DType.INT32, shape).set(values);
  }

  public static Tensor of(long[] values, long... shape) {
    return zeros(DType.INT64, shape).set(values);
  }

  /** Of unsigned bytes. */
  public static Tensor of(byte[] values, long... shape) {
    return zeros(DType.UINT8, shape).set(values);
  }

  public static Tensor of(boolean[] values, long... shape) {
    return zeros(DType.BOOL, shape).set(values);
  }

  /** A copy of strings, as UTF-8. */
  public static Tensor of(String[] values, long... shape) {
    byte[][] utf8 = new byte[values.length][];
    for (int i = 0; i < values.length; i++) {
      utf8[i] = Strings.encode(values[i], i);
    }
    return of(utf8, shape);
  }

  /** A copy of strings given by their bytes, which need not be UTF-8. */
  public static Tensor of(byte[][] values, long... shape) {
    mustHave(count(shape), values.length);
    try (Call c = new Call()) {
      long out = c.slot();
      long at = c.bytes(Strings.joined(values));
      long lengths = c.longs(Arrays.stream(values).mapToLong(v -> v.length).toArray());
      long[] pointers = new long[values.length];
      for (int i = 0; i < values.length; at += values[i++].length) {
        pointers[i] = at;
      }
      long dims = c.longs(shape);
      long strings = c.longs(pointers);
      c.check(Lib.dl4_tensor_from_strings(0, shape.length, dims, strings, lengths, out));
      return new Tensor(c.get(out, 0));
    }
  }

  /**
   * A tensor over the remaining elements of a direct buffer in native order, without a copy:
   * float32, float64, int32, int64 or, of a ByteBuffer, uint8. The buffer stays alive as long as
   * the library needs it.
   */
  public static Tensor wrap(Buffer buffer, long... shape) {
    DType dtype = dtypeOf(buffer);
    if (!buffer.isDirect()) {
      throw Dl4Exception.invalid("expected a direct buffer, got one in the heap");
    }
    if (dtype.bytes > 1 && orderOf(buffer) != ByteOrder.nativeOrder()) {
      throw Dl4Exception.invalid("expected a buffer in native order, got " + orderOf(buffer));
    }
    long data = Foreign.address(buffer);
    data += (long) buffer.position() * dtype.bytes;
    long bytes = (long) buffer.remaining() * dtype.bytes;
    long user = Callbacks.keep(buffer);
    try (Call c = new Call()) {
      long out = c.slot();
      long dims = c.longs(shape);
      c.check(
          Lib.dl4_tensor_wrap(
              0, dtype.number, shape.length, dims, 0, data, bytes, Callbacks.RELEASE, user, out));
      return new Tensor(c.get(out, 0));
    } catch (RuntimeException e) {
      Callbacks.forget(user);
      throw e;
    }
  }

  private static DType dtypeOf(Buffer b) {
    if (b instanceof FloatBuffer) {
      return DType.FLOAT32;
    } else if (b instanceof DoubleBuffer) {
      return DType.FLOAT64;
    } else if (b instanceof IntBuffer) {
      return DType.INT32;
    } else if (b instanceof LongBuffer) {
      return DType.INT64;
    } else if (b instanceof ByteBuffer) {
      return DType.UINT8;
    }
    throw Dl4Exception.invalid("expected a buffer of float, double, int, long or byte, got " + b);
  }

  private static ByteOrder orderOf(Buffer b) {
    if (b instanceof FloatBuffer f) {
      return f.order();
    } else if (b instanceof DoubleBuffer d) {
      return d.order();
    } else if (b instanceof IntBuffer i) {
      return i.order();
    }
    return ((LongBuffer) b).order();
  }

  public DType dtype() {
    if (dtype == null) {
      try (Call c = new Call()) {
        dtype = DType.of(Lib.dl4_tensor_dtype(c.use(this)));
      }
    }
    return dtype;
  }

  public long[] shape() {
    if (shape == null) {
      try (Call c = new Call()) {
        long t = c.use(this);
        long[] dims = new long[Lib.dl4_tensor_rank(t)];
        Foreign.memory(Lib.dl4_tensor_dims(t), 8L * dims.length).asLongBuffer().get(dims);
        shape = dims;
      }
    }
    return shape.clone();
  }

  @Override
  public String toString() {
    return told(() -> dtype() + " " + Arrays.toString(shape()));
  }

  private ByteBuffer view(long tensor) {
    if (dtype() == DType.STRING) {
      throw new Dl4Exception(
          Code.UNSUPPORTED, "dl4: a tensor of strings has no buffer: see toStrings()", Map.of());
    }
    long bytes = Lib.dl4_tensor_bytes(tensor);
    if (bytes > Integer.MAX_VALUE) {
      throw new Dl4Exception(
          Code.UNSUPPORTED, "dl4: expected at most 2 GiB for a buffer, got " + bytes, Map.of());
    }
    return Foreign.memory(Lib.dl4_tensor_data(tensor), bytes);
  }

  /**
   * The elements where they lie, in native order. A buffer keeps them alive, also after {@link
   * #close}; but not that of a tensor that a {@link Kind} is given, which is valid during the call.
   */
  public ByteBuffer buffer() {
    try (Call c = new Call()) {
      long t = c.use(this);
      ByteBuffer b = view(t);
      if (!ref.isBorrowed()) {
        Lib.dl4_retain(t);
        CLEANER.register(b, () -> Lib.dl4_release(t)); // views of b keep b
      }
      return b;
    }
  }

  private ByteBuffer as(DType type) {
    mustBe(type);
    return buffer();
  }

  private void mustBe(DType type) {
    if (dtype() != type) {
      throw new Dl4Exception(
          Code.SHAPE_MISMATCH,
          "dl4: the tensor is " + dtype + ", expected " + type,
          Map.of("expected", type, "got", dtype));
    }
  }

  /** {@link #buffer} as floats; refused for another type. */
  public FloatBuffer floats() {
    return as(DType.FLOAT32).asFloatBuffer();
  }

  public DoubleBuffer doubles() {
    return as(DType.FLOAT64).asDoubleBuffer();
  }

  public IntBuffer ints() {
    return as(DType.INT32).asIntBuffer();
  }

  public LongBuffer longs() {
    return as(DType.INT64).asLongBuffer();
  }

  /** What is done with the elements in place, while the tensor is in use. */
  private interface Inside {
    void run(ByteBuffer elements);
  }

  private Tensor inside(DType type, long count, Inside f) {
    mustBe(type);
    try (Call c = new Call()) {
      long t = c.use(this);
      ByteBuffer b = own == null ? view(t) : own;
      own = b;
      mustHave(b.capacity() / type.bytes, count);
      f.run(b);
    }
    return this;
  }

  private static void mustHave(long expected, long got) {
    if (expected != got) {
      throw new Dl4Exception(
          Code.SHAPE_MISMATCH,
          "dl4: expected " + expected + " elements, got " + got,
          Map.of("expected", expected, "got", got));
    }
  }

  private static long count(long[] shape) {
    return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
  }

  private int elements() {
    return Math.toIntExact(count(shape()));
  }

  /** Copies all elements in. */
  public Tensor set(float... values) {
    return inside(DType.FLOAT32, values.length, b -> b.asFloatBuffer().put(values));
  }

  public Tensor set(double... values) {
    return inside(DType.FLOAT64, values.length, b -> b.asDoubleBuffer().put(values));
  }

  public Tensor set(int... values) {
    return inside(DType.INT32, values.length, b -> b.asIntBuffer().put(values));
  }

  public Tensor set(long... values) {
    return inside(DType.INT64, values.length, b -> b.asLongBuffer().put(values));
  }

  public Tensor set(byte... values) {
    return inside(DType.UINT8, values.length, b -> b.put(0, values));
  }

  public Tensor set(boolean... values) {
    return inside(
        DType.BOOL,
        values.length,
        b -> {
          for (int i = 0; i < values.length; i++) {
            b.put(i, (byte) (values[i] ? 1 : 0));
          }
        });
  }

  /** A copy of all elements. */
  public float[] toFloats() {
    float[] out = new float[elements()];
    inside(DType.FLOAT32, out.length, b -> b.asFloatBuffer().get(out));
    return out;
  }

  public double[] toDoubles() {
    double[] out = new double[elements()];
    inside(DType.FLOAT64, out.length, b -> b.asDoubleBuffer().get(out));
    return out;
  }

  public int[] toInts() {
    int[] out = new int[elements()];
    inside(DType.INT32, out.length, b -> b.asIntBuffer().get(out));
    return out;
  }

  public long[] toLongs() {
    long[] out = new long[elements()];
    inside(DType.INT64, out.length, b -> b.asLongBuffer().get(out));
    return out;
  }

  public byte[] toBytes() {
    byte[] out = new byte[elements()];
    inside(DType.UINT8, out.length, b -> b.get(0, out));
    return out;
  }

  public boolean[] toBooleans() {
    boolean[] out = new boolean[elements()];
    inside(
        DType.BOOL,
        out.length,
        b -> {
          for (int i = 0; i < out.length; i++) {
            out[i] = b.get(i) != 0;
          }
        });
    return out;
  }

  /** A copy of all strings; refused where one is not UTF-8, which {@link #toByteArrays} gives. */
  public String[] toStrings() {
    byte[][] all = toByteArrays();
    String[] out = new String[all.length];
    for (int i = 0; i < all.length; i++) {
      out[i] = Strings.decode(all[i], i);
    }
    return out;
  }

  /** A copy of the bytes of all strings. */
  public byte[][] toByteArrays() {
    mustBe(DType.STRING);
    byte[][] out = new byte[elements()][];
    try (Call c = new Call()) {
      long t = c.use(this);
      long bytes = c.slot();
      for (int i = 0; i < out.length; i++) {
        long address = Lib.dl4_tensor_string(t, i, bytes);
        out[i] = new byte[Math.toIntExact(c.get(bytes, 0))];
        Foreign.memory(address, out[i].length).get(out[i]);
      }
    }
    return out;
  }

  /** A dense copy with memory of its own. */
  public Tensor copy() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_tensor_clone(c.use(this), out));
      return new Tensor(c.get(out, 0));
    }
  }

  /** Another reference to the same numbers, to be closed by itself. */
  public Tensor share() {
    try (Call c = new Call()) {
      long t = c.use(this);
      Lib.dl4_retain(t);
      return new Tensor(t);
    }
  }
}

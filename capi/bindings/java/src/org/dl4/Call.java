package org.dl4;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The arguments of one call, in memory of the thread's that is taken as a stack, and what it uses
 * meanwhile.
 */
final class Call implements AutoCloseable {
  private static final int ROOM = 16384;
  private static final int RANK = 8;

  private static final class Stack {
    final ByteBuffer bytes = ByteBuffer.allocateDirect(ROOM).order(ByteOrder.nativeOrder());
    final long address = Foreign.address(bytes);
    int top;
  }

  private static final ThreadLocal<Stack> STACK = ThreadLocal.withInitial(Stack::new);

  private final Stack stack = STACK.get();
  private final int mark = stack.top;
  private List<Long> extra;
  private long refs;
  private Handle.Ref[] used = new Handle.Ref[4];
  private int uses;

  /** Bytes that live as long as the call. */
  private long room(long size) {
    long aligned = (size + 7) & ~7L;
    if (aligned <= ROOM - stack.top) {
      int at = stack.top;
      stack.top += (int) aligned;
      return stack.address + at;
    }
    long address = Foreign.allocate(Math.max(aligned, 8));
    if (address == 0) {
      throw new OutOfMemoryError("dl4: " + size + " bytes for the arguments of a call");
    }
    extra = extra == null ? new ArrayList<>() : extra;
    extra.add(address);
    return address;
  }

  private boolean mine(long address) {
    return address >= stack.address && address < stack.address + ROOM;
  }

  private void put(long address, int i, long value) {
    if (mine(address)) {
      stack.bytes.putLong((int) (address - stack.address) + 8 * i, value);
    } else {
      Foreign.memory(address + 8L * i, 8).putLong(value);
    }
  }

  long get(long address, int i) {
    return mine(address)
        ? stack.bytes.getLong((int) (address - stack.address) + 8 * i)
        : Foreign.memory(address + 8L * i, 8).getLong();
  }

  /** Of a slot that holds 32 bits. */
  int getInt(long address) {
    return mine(address)
        ? stack.bytes.getInt((int) (address - stack.address))
        : Foreign.memory(address, 4).getInt();
  }

  double getDouble(long address, int i) {
    return Double.longBitsToDouble(get(address, i));
  }

  long slots(int n) {
    long address = room(8L * n);
    for (int i = 0; i < n; i++) {
      put(address, i, 0);
    }
    return address;
  }

  long slot() {
    return slots(1);
  }

  /** The address of an object, which stays until the call has ended; 0 of null. */
  long use(Handle h) {
    if (h == null) {
      return 0;
    }
    if (!h.ref.use()) {
      throw Dl4Exception.invalid("the " + h.getClass().getSimpleName() + " is closed");
    }
    if (uses == used.length) {
      used = Arrays.copyOf(used, 2 * uses);
    }
    used[uses++] = h.ref;
    return h.ref.address();
  }

  long text(String s) {
    if (s == null) {
      return 0;
    }
    if (s.indexOf(0) >= 0) {
      throw Dl4Exception.invalid("expected text without a zero character");
    }
    byte[] utf8 = s.getBytes(StandardCharsets.UTF_8);
    return bytes(Arrays.copyOf(utf8, utf8.length + 1));
  }

  long bytes(byte[] data) {
    long address = room(data.length);
    if (mine(address)) {
      stack.bytes.put((int) (address - stack.address), data);
    } else {
      Foreign.memory(address, data.length).put(data);
    }
    return address;
  }

  long longs(long[] values) {
    long address = room(8L * values.length);
    for (int i = 0; i < values.length; i++) {
      put(address, i, values[i]);
    }
    return address;
  }

  long ints(int[] values) {
    ByteBuffer b = ByteBuffer.allocate(4 * values.length).order(ByteOrder.nativeOrder());
    b.asIntBuffer().put(values);
    return bytes(b.array());
  }

  long tensors(Tensor... list) {
    if (list == null || list.length == 0) {
      return 0;
    }
    long address = room(8L * list.length);
    for (int i = 0; i < list.length; i++) {
      put(address, i, use(list[i]));
    }
    return address;
  }

  static int count(Tensor[] list) {
    return list == null ? 0 : list.length;
  }

  /** Nodes by their numbers, -1 for null; all of one graph. */
  long nodes(Graph g, List<Node> list) {
    int[] ids = new int[list.size()];
    for (int i = 0; i < ids.length; i++) {
      Node n = list.get(i);
      g = g == null && n != null ? n.graph : g;
      if (n != null && n.graph != g) {
        throw Dl4Exception.invalid("node " + i + " is of another graph");
      }
      ids[i] = n == null ? -1 : n.id;
    }
    return ints(ids);
  }

  /** The number of one node. */
  int node(Graph g, Node n) {
    return getInt(nodes(g, Collections.singletonList(n)));
  }

  /** The nodes whose numbers a call has written. */
  List<Node> nodesAt(Graph g, long ids, int n) {
    List<Node> all = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      all.add(new Node(g, getInt(ids + 4L * i)));
    }
    return all;
  }

  /** The text of options; 0 of none. */
  long options(Map<String, ?> values) {
    if (values == null || values.isEmpty()) {
      return 0;
    }
    values.forEach(
        (key, value) -> {
          if (value instanceof Model || nodes(value) != null) {
            throw Dl4Exception.invalid(key + ": expected a plain value, got a node or a model");
          }
        });
    return text(Json.write(values));
  }

  /** Those of a value that is symbolic, or a list that has some; else null. */
  private static List<Node> nodes(Object value) {
    if (value instanceof Node n) {
      return List.of(n);
    }
    if (!(value instanceof Collection<?> l) || l.stream().noneMatch(Node.class::isInstance)) {
      return null;
    }
    List<Node> nodes = new ArrayList<>();
    l.forEach(n -> nodes.add((Node) n));
    return nodes;
  }

  /** The text of a layer's attributes; the models among them are in {@link #refs}. */
  long config(Map<String, ?> values) {
    if (values == null || values.isEmpty()) {
      return 0;
    }
    Map<String, Object> plain = new LinkedHashMap<>(values);
    plain.values().removeIf(Model.class::isInstance);
    values.forEach(
        (key, value) -> {
          if (value instanceof Model m) {
            check(Lib.dl4_refs_set_model(makeRefs(), text(key), use(m)));
          }
        });
    return options(plain);
  }

  /** The text of a call's arguments; the nodes among them are in {@link #refs}. */
  long arguments(Map<String, ?> values) {
    if (values == null || values.isEmpty()) {
      return 0;
    }
    Map<String, Object> plain = new LinkedHashMap<>(values);
    plain.values().removeIf(value -> nodes(value) != null);
    values.forEach(
        (key, value) -> {
          List<Node> nodes = nodes(value);
          if (nodes != null) {
            check(Lib.dl4_refs_set_nodes(makeRefs(), text(key), nodes(null, nodes), nodes.size()));
          }
        });
    return options(plain);
  }

  /** What the config or the arguments above had beside text; 0 if nothing. */
  long refs() {
    return refs;
  }

  private long makeRefs() {
    if (refs == 0) {
      long out = slot();
      check(Lib.dl4_refs_create(out));
      refs = get(out, 0);
    }
    return refs;
  }

  /** Throws what a call returned; what a callback threw as it was. */
  void check(long error) {
    if (error != 0) {
      throw Callbacks.cause(Dl4Exception.taken(error));
    }
  }

  /** The text of a blob, which is released. */
  String blob(long slot) {
    return new String(content(slot), StandardCharsets.UTF_8);
  }

  byte[] content(long slot) {
    long blob = get(slot, 0);
    try {
      byte[] data = new byte[Math.toIntExact(Lib.dl4_blob_size(blob))];
      Foreign.memory(Lib.dl4_blob_data(blob), data.length).get(data);
      return data;
    } finally {
      Lib.dl4_release(blob);
    }
  }

  /** Asks a function for a shape, by the addresses of dims, and of the rank. */
  interface Shaped {
    long ask(long dims, long cap, long rank);
  }

  long[] shape(Shaped f) {
    long dims = slots(RANK);
    long rank = slot();
    check(f.ask(dims, RANK, rank));
    long[] shape = new long[getInt(rank)];
    for (int i = 0; i < shape.length; i++) {
      shape[i] = get(dims, i);
    }
    return shape;
  }

  @Override
  public void close() {
    for (int i = 0; i < uses; i++) {
      used[i].done();
    }
    Lib.dl4_release(refs);
    if (extra != null) {
      extra.forEach(Foreign::free);
    }
    stack.top = mark;
  }
}

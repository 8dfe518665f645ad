package org.dl4;

import java.util.List;

/** A symbolic value in a graph. */
public final class Node {
  final Graph graph;
  final int id;

  Node(Graph graph, int id) {
    this.graph = graph;
    this.id = id;
  }

  /** The dimensions; -1 is free. */
  public long[] shape() {
    try (Call c = new Call()) {
      long g = c.use(graph);
      return c.shape((dims, cap, rank) -> Lib.dl4_node_shape(g, id, dims, cap, rank));
    }
  }

  public DType dtype() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_node_dtype(c.use(graph), id, out));
      return DType.of(c.getInt(out));
    }
  }

  /** The mask that this node carries; null if there is none. */
  public Node mask() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_graph_add_mask(c.use(graph), id, out));
      return c.getInt(out) < 0 ? null : new Node(graph, c.getInt(out));
    }
  }

  /**
   * All outputs of the call that gave this one: of an LSTM with return_state the sequence, then its
   * states.
   */
  public List<Node> outputs() {
    try (Call c = new Call()) {
      long g = c.use(graph);
      long count = c.slot();
      c.check(Lib.dl4_node_outputs(g, id, 0, 0, count));
      int n = (int) c.get(count, 0);
      long ids = c.slots(n);
      c.check(Lib.dl4_node_outputs(g, id, ids, n, count));
      return c.nodesAt(graph, ids, n);
    }
  }
}

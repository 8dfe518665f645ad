package org.dl4;

import java.util.List;
import java.util.Map;

/** A layer in a graph that may be called more than once; its calls share its weights. */
public final class Layer {
  final Graph graph;
  final int id;

  Layer(Graph graph, int id) {
    this.graph = graph;
    this.id = id;
  }

  /** Calls the layer and gives the first output; the others are its {@link Node#outputs}. */
  public Node call(Node... inputs) {
    return call(Map.of(), inputs);
  }

  /**
   * The same with call arguments: "mask", "initial_state", "training", ...; values may be nodes or
   * lists of them.
   */
  public Node call(Map<String, ?> arguments, Node... inputs) {
    try (Call c = new Call()) {
      long out = c.slot();
      long in = c.nodes(graph, List.of(inputs));
      long call = c.arguments(arguments);
      c.check(Lib.dl4_graph_call(c.use(graph), id, call, c.refs(), in, inputs.length, out, 1));
      return new Node(graph, c.getInt(out));
    }
  }
}

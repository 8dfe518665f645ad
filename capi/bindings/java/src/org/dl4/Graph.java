package org.dl4;

import java.util.List;
import java.util.Map;

/**
 * Layers being called on symbolic values, in Keras's functional style. What is refused changes
 * nothing. One thread at a time may use it.
 */
public final class Graph extends Handle {
  public Graph() {
    this(null);
  }

  public Graph(Context context) {
    super(made(context));
  }

  private static long made(Context context) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_graph_create(c.use(context), out));
      return c.get(out, 0);
    }
  }

  /**
   * Adds an input. The shape includes the batch axis; -1 is free. A null name is made by the
   * library.
   */
  public Node input(String name, DType dtype, long... shape) {
    try (Call c = new Call()) {
      long out = c.slot();
      long dims = c.longs(shape);
      c.check(
          Lib.dl4_graph_add_input(c.use(this), c.text(name), dtype.number, shape.length, dims, out));
      return new Node(this, c.getInt(out));
    }
  }

  /** Adds a value that never changes. */
  public Node constant(String name, Tensor value) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_graph_add_constant(c.use(this), c.text(name), c.use(value), out));
      return new Node(this, c.getInt(out));
    }
  }

  /**
   * Adds a layer by the name of its kind, without calling it. Its own name is the attribute "name".
   */
  public Layer layer(String kind, Map<String, ?> attrs) {
    try (Call c = new Call()) {
      long out = c.slot();
      long g = c.use(this);
      long config = c.config(attrs);
      c.check(Lib.dl4_graph_add_layer(g, c.text(kind), 0, config, c.refs(), out));
      return new Layer(this, c.getInt(out));
    }
  }

  /**
   * Adds a layer of another graph, which has been called there: one layer in both, with one set of
   * weights. A null name is the layer's own.
   */
  public Layer share(Layer layer, String name) {
    try (Call c = new Call()) {
      long out = c.slot();
      long from = c.use(layer.graph);
      c.check(Lib.dl4_graph_add_shared(c.use(this), from, layer.id, c.text(name), out));
      return new Layer(this, c.getInt(out));
    }
  }

  /**
   * Adds a layer and calls it once; gives the first output, the others are its {@link
   * Node#outputs}.
   */
  public Node add(String kind, Map<String, ?> attrs, Node... inputs) {
    try (Call c = new Call()) {
      long out = c.slot();
      long in = c.nodes(this, List.of(inputs));
      long g = c.use(this);
      long config = c.config(attrs);
      c.check(Lib.dl4_graph_add(g, c.text(kind), 0, config, 0, c.refs(), in, inputs.length, out, 1));
      return new Node(this, c.getInt(out));
    }
  }

  /**
   * The value of a weight, "layer/weight", of a layer that has been called: what it holds where
   * this stands among the assignments. Of a layer "judge" that is a model it is "judge/dense/kernel".
   */
  public Node weight(String name) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_graph_add_weight(c.use(this), c.text(name), out));
      return new Node(this, c.getInt(out));
    }
  }

  /** The gradients of targets by each of some nodes; they may be differentiated again. */
  public List<Node> gradients(List<Node> targets, List<Node> by) {
    return gradients(Map.of(), targets, by, null);
  }

  /**
   * The same with attributes, "sum" and "unconnected", and the gradients of the outputs: one for each
   * target, null for ones, or null for all.
   */
  public List<Node> gradients(
      Map<String, ?> attrs, List<Node> targets, List<Node> by, List<Node> outputGradients) {
    if (outputGradients != null && outputGradients.size() != targets.size()) {
      throw Dl4Exception.invalid(
          "expected " + targets.size() + " output gradients, got " + outputGradients.size());
    }
    try (Call c = new Call()) {
      long g = c.use(this);
      long y = c.nodes(this, targets);
      long x = c.nodes(this, by);
      int n = by.size();
      long out = c.slots(n);
      long dy = outputGradients == null ? 0 : c.nodes(this, outputGradients);
      long config = c.options(attrs);
      c.check(Lib.dl4_graph_add_gradients(g, config, y, targets.size(), dy, x, n, out, n));
      return c.nodesAt(this, out, n);
    }
  }

  /**
   * Sets a weight, a node of {@link #weight} or of a layer Weight, to a value in each run, and
   * gives the value.
   */
  public Node assign(Node weight, Node value) {
    return assign(Map.of(), weight, value);
  }

  /** The same with attributes: the "operation" may be "assign_add" or "assign_sub". */
  public Node assign(Map<String, ?> attrs, Node weight, Node value) {
    try (Call c = new Call()) {
      long out = c.slot();
      long g = c.use(this);
      long config = c.options(attrs);
      c.check(Lib.dl4_graph_add_assign(g, config, c.node(this, weight), c.node(this, value), out));
      return new Node(this, c.getInt(out));
    }
  }

  /**
   * Makes one update of the attribute "optimizer" in each run: of weights, by as many gradients. It
   * gives the number of updates so far.
   */
  public Node update(Map<String, ?> attrs, List<Node> weights, List<Node> gradients) {
    return update(attrs, weights, gradients, null);
  }

  /** The same with a node in place of the optimizer's learning rate; null for its own. */
  public Node update(
      Map<String, ?> attrs, List<Node> weights, List<Node> gradients, Node learningRate) {
    try (Call c = new Call()) {
      long out = c.slot();
      long g = c.use(this);
      long to = c.nodes(this, weights);
      long by = c.nodes(this, gradients);
      int n = weights.size();
      int m = gradients.size();
      int rate = c.node(this, learningRate);
      long config = c.options(attrs);
      c.check(Lib.dl4_graph_add_update(g, 0, config, rate, to, n, by, m, out));
      return new Node(this, c.getInt(out));
    }
  }

  /** The value of a node, in a model that makes the assignments that are the others too. */
  public Node after(Node node, Node... others) {
    try (Call c = new Call()) {
      long out = c.slot();
      long g = c.use(this);
      long in = c.nodes(this, List.of(others));
      c.check(Lib.dl4_graph_add_after(g, c.node(this, node), in, others.length, out));
      return new Node(this, c.getInt(out));
    }
  }

  /**
   * Adds everything of an architecture, JSON of describe(). Build it without inputs and outputs.
   */
  public void mergeJson(String architecture) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_graph_add_json(c.use(this), c.text(architecture)));
    }
  }

  /**
   * Makes a model of what lies between; models of one graph share the weights of the layers they
   * share.
   */
  public Model build(List<Node> inputs, List<Node> outputs) {
    try (Call c = new Call()) {
      long out = c.slot();
      long in = c.nodes(this, inputs);
      long ends = c.nodes(this, outputs);
      c.check(Lib.dl4_graph_build(c.use(this), in, inputs.size(), ends, outputs.size(), out));
      return new Model(c.get(out, 0));
    }
  }

  public Model build(Node input, Node output) {
    return build(List.of(input), List.of(output));
  }
}

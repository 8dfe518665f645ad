package dl4

// #include "shim.h"
import "C"

import (
	"encoding/json"
	"unsafe"
)

// Graph is layers being called on symbolic values, in Keras's functional style. The first refusal is kept: what is
// added after it does nothing, Err and Build return it. So a network is written without an error check for each layer.
type Graph struct {
	*object
	err error
}

// Node is a symbolic value in a graph. Node{} stands for none.
type Node struct {
	graph *Graph
	id    C.int32_t
}

// Layer is a layer in a graph that may be called more than once; its calls share its weights.
type Layer struct {
	graph *Graph
	id    C.int32_t
}

// NewGraph makes an empty graph in a context, which may be nil.
func NewGraph(x *Context) (*Graph, error) {
	var c call
	context := c.context(x)
	var out *C.dl4_graph
	if err := c.run(func() *C.dl4_error { return C.dl4_graph_create(context, &out) }); err != nil {
		return nil, err
	}
	return &Graph{object: newObject("Graph", unsafe.Pointer(out))}, nil
}

func (c *call) graph(g *Graph) *C.dl4_graph {
	if c.err == nil {
		c.err = g.err
	}
	return (*C.dl4_graph)(c.object(g.object))
}

// nodes passes ids; of the graph, if it is not nil, and -1 for none.
func (c *call) nodes(g *Graph, list []Node) *C.int32_t {
	if len(list) == 0 {
		return nil
	}
	out := make([]C.int32_t, len(list))
	for i, n := range list {
		out[i] = n.id
		if n.graph == nil {
			out[i] = -1
			continue
		}
		if g == nil {
			g = n.graph
		}
		if n.graph != g && c.err == nil {
			c.err = invalid("node %d is of another graph", i)
		}
	}
	return &out[0]
}

func (c *call) id(g *Graph, n Node) C.int32_t {
	return *c.nodes(g, []Node{n})
}

// Err is the first refusal, if there was one.
func (g *Graph) Err() error {
	return g.err
}

// TakeErr gives the first refusal and forgets it: a refused call has changed nothing, the graph goes on as it was.
func (g *Graph) TakeErr() error {
	err := g.err
	g.err = nil
	return err
}

// node makes a call that gives a node, and keeps its refusal.
func (g *Graph) node(c *call, f func(out *C.int32_t) *C.dl4_error) Node {
	var out C.int32_t
	if g.err = c.run(func() *C.dl4_error { return f(&out) }); g.err != nil {
		return Node{}
	}
	return Node{g, out}
}

// Input adds an input. The shape includes the batch axis; -1 is free. An empty name is made by the library.
func (g *Graph) Input(name string, dtype DType, shape ...int) Node {
	var c call
	p, name_ := c.graph(g), c.optional(name)
	sizes, rank := dims(shape)
	return g.node(&c, func(out *C.int32_t) *C.dl4_error {
		return C.dl4_graph_add_input(p, name_, C.int32_t(dtype), rank, sizes, out)
	})
}

// Constant adds a value that never changes.
func (g *Graph) Constant(name string, value *Tensor) Node {
	var c call
	p, name_, v := c.graph(g), c.optional(name), c.tensor(value)
	return g.node(&c, func(out *C.int32_t) *C.dl4_error { return C.dl4_graph_add_constant(p, name_, v, out) })
}

// Layer adds a layer by the name of its kind, without calling it. Its own name is the attribute "name".
func (g *Graph) Layer(kind string, attrs Attrs) Layer {
	var c call
	p, kind_, config := c.graph(g), c.text(kind), c.config(attrs)
	n := g.node(&c, func(out *C.int32_t) *C.dl4_error {
		return C.dl4_graph_add_layer(p, kind_, nil, config, c.refs_, out)
	})
	return Layer(n)
}

// Share adds a layer of another graph, which has been called there: one layer in both, with one set of weights. An empty
// name is the layer's own.
func (g *Graph) Share(l Layer, name string) Layer {
	if l.graph == nil {
		return Layer{}
	}
	var c call
	p, from, name_ := c.graph(g), c.graph(l.graph), c.optional(name)
	n := g.node(&c, func(out *C.int32_t) *C.dl4_error { return C.dl4_graph_add_shared(p, from, l.id, name_, out) })
	return Layer(n)
}

// Call calls the layer with call arguments, which may be nil: "mask", "initial_state", "training", ... It gives the
// first output; the others are those of [Node.Outputs].
func (l Layer) Call(arguments Attrs, inputs ...Node) Node {
	if l.graph == nil {
		return Node{}
	}
	var c call
	p, text, in := c.graph(l.graph), c.arguments(arguments), c.nodes(l.graph, inputs)
	return l.graph.node(&c, func(out *C.int32_t) *C.dl4_error {
		return C.dl4_graph_call(p, l.id, text, c.refs_, in, C.int64_t(len(inputs)), out, 1)
	})
}

// Add adds a layer and calls it once. It gives the first output; the others are those of [Node.Outputs].
func (g *Graph) Add(kind string, attrs Attrs, inputs ...Node) Node {
	var c call
	p, kind_, config, in := c.graph(g), c.text(kind), c.config(attrs), c.nodes(g, inputs)
	return g.node(&c, func(out *C.int32_t) *C.dl4_error {
		return C.dl4_graph_add(p, kind_, nil, config, nil, c.refs_, in, C.int64_t(len(inputs)), out, 1)
	})
}

// Weight gives the value of a weight, "<layer>/<weight>", of a layer that has been called: what it holds where this
// stands among the assignments. Of a layer "judge" that is a model it is "judge/dense/kernel".
func (g *Graph) Weight(name string) Node {
	var c call
	p, name_ := c.graph(g), c.text(name)
	return g.node(&c, func(out *C.int32_t) *C.dl4_error { return C.dl4_graph_add_weight(p, name_, out) })
}

// Gradients gives those of the targets with respect to each node of by, which may be differentiated again. attrs, "sum"
// and "unconnected", may be nil. outputGradients has one for each target, Node{} for ones, or none at all.
func (g *Graph) Gradients(attrs Attrs, targets, by, outputGradients []Node) []Node {
	var c call
	p, config := c.graph(g), c.options(attrs)
	from, to, ids := c.nodes(g, targets), c.nodes(g, by), make([]C.int32_t, len(by)+1)
	var given *C.int32_t
	if len(outputGradients) > 0 {
		given = c.nodes(g, outputGradients)
		if c.err == nil && len(outputGradients) != len(targets) {
			c.err = invalid("expected %d output gradients, got %d", len(targets), len(outputGradients))
		}
	}
	g.err = c.run(func() *C.dl4_error {
		return C.dl4_graph_add_gradients(p, config, from, C.int64_t(len(targets)), given, to, C.int64_t(len(by)),
			&ids[0], C.int64_t(len(by)))
	})
	out := make([]Node, len(by))
	for i := range out {
		if g.err == nil {
			out[i] = Node{g, ids[i]}
		}
	}
	return out
}

// Assign sets a weight, a node of [Graph.Weight] or of a layer Weight, to a value in each run, and gives the value.
// attrs may be nil, or have the "operation": "assign_add", "assign_sub".
func (g *Graph) Assign(attrs Attrs, weight, value Node) Node {
	var c call
	p, config, weight_, value_ := c.graph(g), c.options(attrs), c.id(g, weight), c.id(g, value)
	return g.node(&c, func(out *C.int32_t) *C.dl4_error {
		return C.dl4_graph_add_assign(p, config, weight_, value_, out)
	})
}

// Update makes one update of the "optimizer" of attrs in each run: of weights, by as many gradients. It gives the
// number of updates so far. learningRate is a node in place of the optimizer's own, or Node{}.
func (g *Graph) Update(attrs Attrs, weights, gradients []Node, learningRate Node) Node {
	var c call
	p, config, rate := c.graph(g), c.options(attrs), c.nodes(g, []Node{learningRate})
	to, by := c.nodes(g, weights), c.nodes(g, gradients)
	return g.node(&c, func(out *C.int32_t) *C.dl4_error {
		return C.dl4_graph_add_update(p, nil, config, *rate, to, C.int64_t(len(weights)), by,
			C.int64_t(len(gradients)), out)
	})
}

// After gives the value of a node in a model that makes the assignments others too.
func (g *Graph) After(node Node, others ...Node) Node {
	var c call
	p, id, in := c.graph(g), c.id(g, node), c.nodes(g, others)
	return g.node(&c, func(out *C.int32_t) *C.dl4_error {
		return C.dl4_graph_add_after(p, id, in, C.int64_t(len(others)), out)
	})
}

// MergeJSON adds everything of an architecture, the JSON that Describe gives. Its inputs and outputs become those of
// the graph: build it with nil for both.
func (g *Graph) MergeJSON(architecture json.RawMessage) error {
	var c call
	p, text := c.graph(g), c.text(string(architecture))
	g.err = c.run(func() *C.dl4_error { return C.dl4_graph_add_json(p, text) })
	return g.err
}

// Build makes a model of what lies between inputs and outputs. The graph may go on to be extended and built again;
// models of one graph share the weights of the layers they share.
func (g *Graph) Build(inputs, outputs []Node) (*Model, error) {
	var c call
	p, in, out := c.graph(g), c.nodes(g, inputs), c.nodes(g, outputs)
	var m *C.dl4_model
	err := c.run(func() *C.dl4_error {
		return C.dl4_graph_build(p, in, C.int64_t(len(inputs)), out, C.int64_t(len(outputs)), &m)
	})
	return newModel(m, err)
}

func (c *call) node(n Node) (*C.dl4_graph, C.int32_t) {
	if n.graph == nil {
		c.err = invalid("the node is of no graph")
		return nil, -1
	}
	return c.graph(n.graph), n.id
}

// shape makes a call that gives a shape.
func (c *call) shape(f func(sizes *C.int64_t, limit C.int64_t, rank *C.int32_t) *C.dl4_error) ([]int, error) {
	var sizes [C.DL4_MAX_RANK]C.int64_t
	var rank C.int32_t
	if err := c.run(func() *C.dl4_error { return f(&sizes[0], C.DL4_MAX_RANK, &rank) }); err != nil {
		return nil, err
	}
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = int(sizes[i])
	}
	return shape, nil
}

// Shape gives the dimensions of a node; -1 is free.
func (n Node) Shape() ([]int, error) {
	var c call
	g, id := c.node(n)
	return c.shape(func(sizes *C.int64_t, limit C.int64_t, rank *C.int32_t) *C.dl4_error {
		return C.dl4_node_shape(g, id, sizes, limit, rank)
	})
}

// DType gives the type of data of a node.
func (n Node) DType() (DType, error) {
	var c call
	g, id := c.node(n)
	var out C.int32_t
	err := c.run(func() *C.dl4_error { return C.dl4_node_dtype(g, id, &out) })
	return DType(out), err
}

// Mask gives the mask that a node carries, Node{} if there is none.
func (n Node) Mask() (Node, error) {
	var c call
	g, id := c.node(n)
	var out C.int32_t
	if err := c.run(func() *C.dl4_error { return C.dl4_graph_add_mask(g, id, &out) }); err != nil || out < 0 {
		return Node{}, err
	}
	return Node{n.graph, out}, nil
}

// Outputs gives all outputs of the call that gave a node, itself included: of an LSTM with return_state the sequence,
// then its states.
func (n Node) Outputs() ([]Node, error) {
	var c call
	g, id := c.node(n)
	ids := make([]C.int32_t, 64)
	var count C.int64_t
	err := c.run(func() *C.dl4_error {
		e := C.dl4_node_outputs(g, id, &ids[0], C.int64_t(len(ids)), &count)
		if e == nil && int(count) > len(ids) {
			ids = make([]C.int32_t, count)
			e = C.dl4_node_outputs(g, id, &ids[0], count, &count)
		}
		return e
	})
	if err != nil {
		return nil, err
	}
	out := make([]Node, count)
	for i := range out {
		out[i] = Node{n.graph, ids[i]}
	}
	return out, nil
}

// Converts an ONNX graph to layers: the values between nodes, and the reading of a node.
#pragma once

#include "graph/graph.hpp"
#include "io/onnx/schema.hpp"
#include "io/onnx/symbols.hpp"
#include "io/tensors.hpp"

namespace dl4::io::onnx {

using graph::Node;
using Ints = std::vector<int64_t>;
// A permutation of axes. It owns nothing, so its many copies have nothing to free.
class Perm {
 public:
  Perm() = default;
  Perm(std::initializer_list<int> axes) { insert(end(), axes.begin(), axes.end()); }
  template <class It>
  Perm(It first, It last) {
    insert(end(), first, last);
  }
  explicit Perm(size_t rank);  // zeros

  size_t size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int *begin() { return axes_.data(); }
  int *end() { return begin() + rank_; }
  const int *begin() const { return axes_.data(); }
  const int *end() const { return begin() + rank_; }
  int &operator[](size_t i) { return axes_[i]; }
  int operator[](size_t i) const { return axes_[i]; }
  void push_back(int axis) { insert(end(), axis); }
  void insert(int *at, int axis);
  template <class It>
  void insert(int *at, It first, It last) {
    for (; first != last; ++first) insert(at++, static_cast<int>(*first));
  }
  void erase(int *at);
  void clear() { rank_ = 0; }
  bool operator==(const Perm &o) const { return std::equal(begin(), end(), o.begin(), o.end()); }

 private:
  std::array<int, max_rank> axes_{};
  uint32_t rank_ = 0;
};
Perm plain(int rank);          // 0, 1, 2 ...
Perm channels_last(int rank);  // 0, 2, 3 ... 1
Perm inverse(const Perm &perm);

// A value in some axis order: axis i of the form is axis perm[i] of the value.
struct Form {
  Perm perm;
  Node node;
};
// QuantizeLinear's result, as float.
struct Quantized {
  Node less_zero;  // before adding the zero point
  int64_t zero;
  bool not_negative;  // without it
};
// A question about a free size: its value as float, whether it is 1, whether it exceeds a number.
struct Asked {
  enum class What { number, is_one, is_above } what;
  Dim size;
  int64_t than = 0;
};
struct Value {
  Type type = Type::none;
  DType dtype = DType::f32;
  std::vector<Dim> dims;
  std::vector<Form> forms;  // the first is the original; empty: only known as numbers
  std::optional<Tensor> constant;
  std::optional<std::vector<Dim>> sizes;  // the elements, in order, of integers computed from sizes
  std::optional<Asked> asked;             // and nothing else: what an If or a Loop may know
  std::optional<double> filled;           // the value of all elements if no shape is known: without forms
  std::optional<Tensor> around;           // in a body: a constant of the enclosing graph, for a layer's weights
  std::optional<Quantized> quantized;     // the first form
  bool not_negative = false;
  std::shared_ptr<const std::vector<Value>> list;  // for a sequence: its values; nothing else is set
  bool absent = false;                             // an Optional without a value

  int rank() const { return static_cast<int>(dims.size()); }
  // Known while reading: reshaping takes no layer.
  bool at_hand() const { return constant || sizes || filled; }
  // ONNX's type; integers made here have the representing type.
  Type onnx_type() const;
  // Axis order of the original form.
  Perm perm() const { return forms.empty() ? plain(rank()) : forms[0].perm; }
};

class Op;

using Handler = void (*)(const Op &);
// Traits of an op: slow: many steps per element; not_negative: results are never negative.
enum Trait { no_trait, slow, not_negative };
struct Row {
  std::string_view op;
  Handler read;
  std::string_view schema = {};  // none for an op that is refused altogether
  Trait trait = no_trait;
};

class Reader {
 public:
  // outer: the reader of the enclosing graph, for a body; else null.
  Reader(const File &file, const graph::Settings &settings, Outside &outside, Reader *outer = nullptr);
  // For a body whose layers become part of the enclosing graph.
  Reader(const File &body, Reader &around);
  std::shared_ptr<graph::Model> model();

  // ---- bodies
  // Reads its nodes, after its inputs are set.
  void nodes();
  // Skips nodes that none of these values needs.
  void only_for(const std::vector<std::string_view> &names);
  // A value of the enclosing graph as seen in the body.
  Value brought_in(Value &there);
  // A model of the body; `seen`: values of the enclosing graph it reads, its last inputs.
  std::shared_ptr<graph::Model> body(std::vector<Node> in, const std::vector<Node> &out, std::vector<Node> &seen);
  // Whether numbers may become sizes here: not in bodies, except a branch of a graph that runs once.
  bool counts() const { return inlined_ ? outer_->counts() : !outer_ || (is_branch_ && outer_->counts()); }
  void is_branch() { is_branch_ = true; }
  // Reads a synthesized node.
  void run(const NodeProto &node);

  Outside &outside() const { return outside_; }
  // A body has its file's opset, synthesized nodes the newest.
  int64_t opset() const { return file_.opset == 0 ? root().opset : file_.opset; }
  // Of an op's domain.
  int64_t opset(std::string_view domain) const;
  Value &value(std::string_view name);
  bool exists(std::string_view name) const { return values_.count(std::string(name)) > 0; }
  void set(std::string_view name, Value v);
  Symbols &symbols() { return outer_ ? outer_->symbols() : symbols_; }
  int fresh() { return symbols().fresh(); }
  // A node with an axis of that size, and the axis; refuses unknown symbols.
  std::pair<Node, int> axis_of(int symbol);
  void is_size_of(int symbol, Node node, int axis) {
    inlined_ ? outer_->is_size_of(symbol, node, axis) : void(axes_.try_emplace(symbol, node, axis));
  }
  graph::Graph &graph() { return *graph_; }
  // In a body, the constant is created outside, once.
  Node constant(Tensor t);
  // An unused layer name: `wanted`, or with a number appended.
  std::string free_name(const std::string &wanted);
  bool is_output(std::string_view name) const { return outputs_.count(std::string(name)) > 0; }
  // Whether it is an output, or read by a node that is not skipped.
  bool is_read(std::string_view name) const;
  // The only reader of a value that is no output; null unless there is exactly one.
  const NodeProto *only_reader(std::string_view name) const;
  // A value known by now to be constant.
  std::optional<Tensor> constant_named(std::string_view name);
  // A value with an axis of that free size, and the axis.
  std::optional<std::pair<Value *, int>> axis_of_size(const Dim &size);
  void skip(const NodeProto &node) { skipped_.insert(&node); }

 private:
  const File &root() const { return outer_ ? outer_->root() : file_; }
  void begin();
  void add_input(const Port &p);
  std::vector<Node> outputs(const Port &p);
  Node output(const Port &p, const std::string &name, Value &v);
  Value &from_outside(std::string_view name);
  Node seen(Node outside);

  const File &file_;
  Outside &outside_;
  Reader *const outer_;
  const bool inlined_ = false;  // the layers go into outer_'s graph
  bool is_branch_ = false;
  std::shared_ptr<graph::Graph> graph_;
  std::vector<std::pair<Node, Node>> seen_;  // outside, and as an input of the body
  std::map<std::string, Value, std::less<>> values_;
  std::map<std::string_view, const Numbers *> waiting_;  // initializers not read yet
  std::map<std::string_view, int> named_;                // symbols
  std::map<std::string_view, std::vector<const NodeProto *>> readers_;
  std::map<std::string_view, size_t> unread_;  // of folded constants: nodes that still read them
  std::set<std::string> names_, outputs_;
  std::map<std::string, int> numbered_;
  std::set<const NodeProto *> skipped_;
  std::vector<const NodeProto *> order_;  // in topological order
  bool folding() const { return outer_ ? outer_->folding() : folding_; }
  // Results of a node on constants, if it takes few steps and little memory.
  using Named = std::vector<std::pair<std::string_view, Value>>;
  std::optional<Named> computed(const NodeProto &node, const Row &row);
  bool folded(const NodeProto &node, const Row &row);
  // After the node has run: frees folded constants without further readers.
  void free_read(const NodeProto &node);

  bool folding_ = false;                      // its only node reads only constants
  std::map<int, std::pair<Node, int>> axes_;  // by symbol: the first node with an axis of that size
  Symbols symbols_;
};

// A layer's weight, by name.
using Weights = std::vector<std::pair<std::string, Tensor>>;

// A synthesized node, which names the layers that it makes.
inline NodeProto named(std::string_view name) {
  NodeProto n;
  n.name = n.op = name;
  return n;
}
// A node being read.
class Op {
 public:
  // row: null for a node without attributes.
  Op(Reader &reader, const NodeProto &node, const Row *row = nullptr) : r(reader), node(node), row(row) {}

  Reader &r;
  const NodeProto &node;
  const Row *row;

  int64_t opset() const { return r.opset(); }
  // Accounts for the node's memory, before it is read.
  void take(int64_t bytes) const { r.outside().budget.take(bytes, "it"); }
  bool has(size_t i) const { return i < node.in.size() && !node.in[i].empty(); }
  size_t inputs() const { return node.in.size(); }
  bool wants(size_t i) const { return i < node.out.size() && !node.out[i].empty(); }
  Value &in(size_t i) const;   // a tensor
  Value &any(size_t i) const;  // a tensor, a sequence or an Optional

  // An attribute, or its default in the row.
  int64_t integer(const char *name) const;
  bool flag(const char *name) const { return integer(name) != 0; }
  double real(const char *name) const;
  std::string string(const char *name) const;
  // The same for attributes without default.
  bool says(const char *name) const { return node.find(name) != nullptr; }
  int64_t integer(const char *name, int64_t otherwise) const { return says(name) ? integer(name) : otherwise; }
  double real(const char *name, double otherwise) const { return says(name) ? real(name) : otherwise; }
  std::optional<Ints> integers(const char *name) const;
  int64_t axis(int rank) const { return axis_of(integer("axis"), rank); }
  int64_t axis_of(int64_t axis, int rank) const;
  // An attribute or, depending on the opset, an input; none: omitted.
  std::optional<Ints> integers(const char *name, size_t input) const;
  // Integer elements of any shape known while reading, at most most_listed of them.
  std::optional<std::vector<Dim>> elements(size_t i) const;
  // The same for a list, or a single number.
  std::optional<std::vector<Dim>> sizes(size_t i) const;
  std::optional<Tensor> constant(size_t i) const;
  std::optional<Tensor> constant_of(Value &v) const;
  Tensor floats(size_t i, const char *what) const;  // refuses non-constants and other types
  double number(size_t i, double otherwise) const;  // of a constant with one element; otherwise: omitted

  template <class... A>
  [[noreturn]] void refuse(const A &...a) const {
    fail(Code::unsupported, a...);
  }

  // The value in that axis order.
  Node as(Value &v, const Perm &perm) const;
  Node as(size_t i, const Perm &perm) const { return as(in(i), perm); }
  Node x(size_t i) const { return as(in(i), plain(in(i).rank())); }
  Node constant_node(Tensor t) const;

  // Adds a layer; the node's last one gets its name.
  Node layer(const char *kind, Json::List config, ArrayRef<Node> in) const;
  Node layer(const char *kind, Json config, ArrayRef<Node> in) const;
  std::vector<Node> layers(const char *kind, Json config, ArrayRef<Node> in, graph::Arguments arguments = {},
                           const Weights &weights = {}) const;
  Node weighted(const char *kind, Json config, ArrayRef<Node> in, const Weights &weights) const;
  Node cast(Node n, DType to) const;
  // `size` positions of an axis from `begin`; -1: to its end.
  Node cut(Node x, int at, int64_t begin, int64_t size) const;
  // Also changes the first axis, unlike the layer Reshape.
  Node reshape(Node n, const Ints &target) const;

  // ---- values computed from sizes
  Symbols &symbols() const { return r.symbols(); }
  Node numbers(const std::vector<Dim> &list) const;          // int64 (n)
  Node number(const Dim &d) const;                           // int64, no axes
  Node zeros(const std::vector<Dim> &shape) const;           // false flags
  Node places(const Dim &n) const;                           // int64 (n): 0, 1, 2 ...
  Node spread(Node x, const std::vector<Dim> &shape) const;  // x, broadcast with that shape
  // ---- sizes computed by a run; refused in a body, whose shapes must be known in advance
  struct Counted {
    Dim size;
    Node places;  // int64: 0, 1, 2 ...
  };
  Counted counted(Node number) const;  // an integer without axes
  void need_counting() const;
  std::vector<Dim> sizes_of(Value &list) const;  // elements of a list of known length, or one number
  std::vector<Dim> sizes_of(size_t i) const;     // the same for an input, known or computed
  const Shape &shape(Node n) const { return r.graph().shape(n); }

  // Sets an output. dims: sources of free axes; none is a new size.
  void give(size_t i, Node n, ArrayRef<Dim> dims, Perm perm = {}, bool not_negative = false) const;
  void give(size_t i, Node n) const { give(i, n, {}); }
  // Sets the type of an output.
  void of_type(size_t i, Type type) const;
  void give_constant(size_t i, Tensor t, Type type = Type::none) const;
  // Integers of that shape.
  void give_elements(size_t i, std::vector<Dim> elements, std::vector<Dim> dims, Type type) const;
  void give_sizes(size_t i, std::vector<Dim> sizes, bool scalar = false, Type type = Type::int64) const;
  // A single repeated number, if no shape is known.
  void give_filled(double number, std::vector<Dim> dims, DType dtype, Type type) const;
  void give_value(size_t i, Value v) const;
  // The dims of broadcast inputs.
  std::vector<Dim> broadcast(const std::vector<const Value *> &values) const;

 private:
  std::string_view default_of(const char *name) const;
  Dim answer(const Asked &asked) const;
  Node constant_texts(const Tensor &t) const;
  Node of_sizes(const char *kind, const char *what, const std::vector<Dim> &list) const;
  std::string layer_name() const;
  Node repeated(const Value &v) const;
};

// By the file of their readers. Rows derived from kinds come last, so explicit rows take precedence.
extern const std::span<const Row> math_rows, activation_rows, shape_rows, index_rows, slice_rows, space_rows, pool_rows,
    pad_rows, resize_rows, norm_rows, product_rows, attention_rows, recurrent_rows, scan_rows, flow_rows, sequence_rows,
    quantized_rows, training_rows, counted_rows, signal_rows, step_rows, chosen_rows, integer_rows, type_rows,
    text_rows, experimental_rows;
std::span<const Row> named_rows();
// Of other domains.
extern const std::span<const Row> ml_rows, microsoft_rows;
// Null: no layer computes it.
const Row *row_of(std::string_view op);
// For an op whose form in the file's opset differs; null: unchanged, or not supported.
Handler old_reader_of(std::string_view op, int64_t opset);

// Largest list of integers of a node.
constexpr size_t most_listed = 4096;
constexpr int64_t place_bytes = 64;  // approximate memory of a position that a layer receives
// Integers as an int64 tensor, or of a shape and another integer type that can hold them.
Tensor tensor_of(const Ints &list, bool scalar = false);
Tensor tensor_of(const Ints &list, DType type, const Shape &shape);
// Floats, and a single number.
Tensor tensor_of(const std::vector<double> &list, const Shape &shape);
Tensor scalar(double v, DType type = DType::f32);
// The sizes, free ones as -1.
Ints sizes_of(const std::vector<Dim> &dims);
std::vector<Dim> dims_of(const Shape &shape);
Value constant_value(Tensor t, Type type = Type::none);
// Whether the type can represent it.
bool holds(Type type, int64_t v);
Ints ints_of(const Tensor &t);

}  // namespace dl4::io::onnx

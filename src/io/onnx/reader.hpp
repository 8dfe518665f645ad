// From an ONNX graph to one of ours: the values between nodes, and how a node becomes layers.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/array_ref.hpp"
#include "graph/graph.hpp"
#include "io/onnx/file.hpp"
#include "io/onnx/schema.hpp"
#include "io/onnx/symbols.hpp"
#include "io/tensors.hpp"

namespace dl4::io::onnx {

using graph::Node;
using Ints = std::vector<int64_t>;
// An order of axes. It owns nothing, so that its many copies leave nothing to free.
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

// A value between nodes. It may lie with its axes in another order: axis i of a form is axis perm[i] of the value.
struct Form {
  Perm perm;
  Node node;
};
// What QuantizeLinear gave, as floats.
struct Quantized {
  Node less_zero;  // before the zero point was added
  int64_t zero;
  bool not_negative;  // without it
};
// What a free size is asked: itself as a float, whether it is 1, whether it is above a number.
struct Asked {
  enum class What { number, is_one, is_above } what;
  Dim size;
  int64_t than = 0;
};
struct Value {
  Type type = Type::none;
  DType dtype = DType::f32;
  std::vector<Dim> dims;
  std::vector<Form> forms;  // the first is what was made; empty: only as numbers
  std::optional<Tensor> constant;
  std::optional<std::vector<Dim>> sizes;  // the elements, in their order, of integers that were made of sizes
  std::optional<Asked> asked;             // and nothing else: what an If or a Loop may know of
  std::optional<double> filled;           // every element, where no shape is known: without forms
  std::optional<Tensor> around;           // in a body: what a constant of the graph around it is, for a layer's weights
  std::optional<Quantized> quantized;     // the first form
  bool not_negative = false;
  std::shared_ptr<const std::vector<Value>> list;  // of a sequence: its values, and nothing else is set
  bool absent = false;                             // an Optional without a value

  int rank() const { return static_cast<int>(dims.size()); }
  // Known while the file is read: a new shape of the same elements takes no layer.
  bool at_hand() const { return constant || sizes || filled; }
  // As ONNX has it; integers that ours made are of the type that stands for theirs.
  Type onnx_type() const;
  // How its axes lie as it was made.
  Perm perm() const { return forms.empty() ? plain(rank()) : forms[0].perm; }
};

class Op;

using Handler = void (*)(const Op &);
// Of an op: slow, that it may take many steps an element; not_negative, that it gives no number below 0.
enum Trait { no_trait, slow, not_negative };
struct Row {
  std::string_view op;
  Handler read;
  std::string_view schema = {};  // none of an op that is refused as a whole
  Trait trait = no_trait;
};

class Reader {
 public:
  // outer: of the graph that this one is a body in, null if it is in none.
  Reader(const File &file, const graph::Settings &settings, Outside &outside, Reader *outer = nullptr);
  // Of a body whose layers stand in the graph around it.
  Reader(const File &body, Reader &around);
  std::shared_ptr<graph::Model> model();

  // ---- of a body
  // Its nodes, once its inputs are set.
  void nodes();
  // Skips those that none of these values needs.
  void only_for(const std::vector<std::string_view> &names);
  // A value of the graph around the body, as the body sees it.
  Value brought_in(Value &there);
  // A model of them; `seen`: what it reads of the graph around it, its last inputs.
  std::shared_ptr<graph::Model> body(std::vector<Node> in, const std::vector<Node> &out, std::vector<Node> &seen);
  // May numbers become sizes here? In no body but a branch of what runs once.
  bool counts() const { return inlined_ ? outer_->counts() : !outer_ || (is_branch_ && outer_->counts()); }
  void is_branch() { is_branch_ = true; }
  // A node that stands in no file.
  void run(const NodeProto &node);

  Outside &outside() const { return outside_; }
  // A body has that of the file it stands in, nodes that stand in no file the newest.
  int64_t opset() const { return file_.opset == 0 ? root().opset : file_.opset; }
  // Of the domain that an op is of.
  int64_t opset(std::string_view domain) const;
  Value &value(std::string_view name);
  bool exists(std::string_view name) const { return values_.count(std::string(name)) > 0; }
  void set(std::string_view name, Value v);
  Symbols &symbols() { return outer_ ? outer_->symbols() : symbols_; }
  int fresh() { return symbols().fresh(); }
  // A node that has an axis of that size, and which; refuses a symbol that none has.
  std::pair<Node, int> axis_of(int symbol);
  void is_size_of(int symbol, Node node, int axis) {
    inlined_ ? outer_->is_size_of(symbol, node, axis) : void(axes_.try_emplace(symbol, node, axis));
  }
  graph::Graph &graph() { return *graph_; }
  // In a body it stands outside, once.
  Node constant(Tensor t);
  // A name that no layer has: `wanted`, or with a number.
  std::string free_name(const std::string &wanted);
  bool is_output(std::string_view name) const { return outputs_.count(std::string(name)) > 0; }
  // Is it an output, or does a node read it that is not skipped?
  bool is_read(std::string_view name) const;
  // The only node that reads a value which is no output of the model; null if there is another number of them.
  const NodeProto *only_reader(std::string_view name) const;
  // One that is known by now to be a constant.
  std::optional<Tensor> constant_named(std::string_view name);
  // A value that has an axis of that free size, and which.
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
  const bool inlined_ = false;  // the graph is that of outer_
  bool is_branch_ = false;
  std::shared_ptr<graph::Graph> graph_;
  std::vector<std::pair<Node, Node>> seen_;  // outside, and as an input of the body
  std::map<std::string, Value, std::less<>> values_;
  std::map<std::string_view, const Numbers *> waiting_;  // initializers that nothing has read
  std::map<std::string_view, int> named_;                // symbols
  std::map<std::string_view, std::vector<const NodeProto *>> readers_;
  std::map<std::string_view, size_t> unread_;  // of constants that were folded: the nodes that will read them
  std::set<std::string> names_, outputs_;
  std::map<std::string, int> numbered_;
  std::set<const NodeProto *> skipped_;
  std::vector<const NodeProto *> order_;  // each behind all that it reads
  bool folding() const { return outer_ ? outer_->folding() : folding_; }
  // What a node makes of constants, where it takes few steps and little memory.
  using Named = std::vector<std::pair<std::string_view, Value>>;
  std::optional<Named> computed(const NodeProto &node, const Row &row);
  bool folded(const NodeProto &node, const Row &row);
  // The node was run: constants that were folded, and that no other node will read, are free.
  void free_read(const NodeProto &node);

  bool folding_ = false;                      // its only node reads constants alone
  std::map<int, std::pair<Node, int>> axes_;  // of symbols: the first node that had one of that size
  Symbols symbols_;
};

// A weight of a layer, by its name there.
using Weights = std::vector<std::pair<std::string, Tensor>>;

// One that stands in no file, for the layers that it makes.
inline NodeProto named(std::string_view name) {
  NodeProto n;
  n.name = n.op = name;
  return n;
}
// A node while it is read.
class Op {
 public:
  // row: null for a node that has no attributes.
  Op(Reader &reader, const NodeProto &node, const Row *row = nullptr) : r(reader), node(node), row(row) {}

  Reader &r;
  const NodeProto &node;
  const Row *row;

  int64_t opset() const { return r.opset(); }
  // Of what is to be made of the node, before it is.
  void take(int64_t bytes) const { r.outside().budget.take(bytes, "it"); }
  bool has(size_t i) const { return i < node.in.size() && !node.in[i].empty(); }
  size_t inputs() const { return node.in.size(); }
  bool wants(size_t i) const { return i < node.out.size() && !node.out[i].empty(); }
  Value &in(size_t i) const;   // a tensor
  Value &any(size_t i) const;  // that, a sequence, or an Optional

  // An attribute, or its default in the row.
  int64_t integer(const char *name) const;
  bool flag(const char *name) const { return integer(name) != 0; }
  double real(const char *name) const;
  std::string string(const char *name) const;
  // The same of one that has no default there.
  bool says(const char *name) const { return node.find(name) != nullptr; }
  int64_t integer(const char *name, int64_t otherwise) const { return says(name) ? integer(name) : otherwise; }
  double real(const char *name, double otherwise) const { return says(name) ? real(name) : otherwise; }
  std::optional<Ints> integers(const char *name) const;
  int64_t axis(int rank) const { return axis_of(integer("axis"), rank); }
  int64_t axis_of(int64_t axis, int rank) const;
  // Of an attribute, or where the opset has it among the inputs, of that one; none: left out.
  std::optional<Ints> integers(const char *name, size_t input) const;
  // The elements of integers of any shape that are known while the file is read, where they are no more than
  // most_listed.
  std::optional<std::vector<Dim>> elements(size_t i) const;
  // The same of a list, or of one number.
  std::optional<std::vector<Dim>> sizes(size_t i) const;
  std::optional<Tensor> constant(size_t i) const;
  std::optional<Tensor> constant_of(Value &v) const;
  Tensor floats(size_t i, const char *what) const;  // refuses what is no constant of floats
  double number(size_t i, double otherwise) const;  // of a constant of one element; otherwise: left out

  template <class... A>
  [[noreturn]] void refuse(const A &...a) const {
    fail(Code::unsupported, a...);
  }

  // The value in that order of its axes.
  Node as(Value &v, const Perm &perm) const;
  Node as(size_t i, const Perm &perm) const { return as(in(i), perm); }
  Node x(size_t i) const { return as(in(i), plain(in(i).rank())); }
  Node constant_node(Tensor t) const;

  // Adds a layer; the last one of a node gets its name.
  Node layer(const char *kind, Json::List config, ArrayRef<Node> in) const;
  Node layer(const char *kind, Json config, ArrayRef<Node> in) const;
  std::vector<Node> layers(const char *kind, Json config, ArrayRef<Node> in, graph::Arguments arguments = {},
                           const Weights &weights = {}) const;
  Node weighted(const char *kind, Json config, ArrayRef<Node> in, const Weights &weights) const;
  Node cast(Node n, DType to) const;
  // Of one axis `size` from `begin` on; -1: to its end.
  Node cut(Node x, int at, int64_t begin, int64_t size) const;
  // The layer Reshape leaves the first axis as it is; this one does not.
  Node reshape(Node n, const Ints &target) const;

  // ---- what is computed of sizes
  Symbols &symbols() const { return r.symbols(); }
  Node numbers(const std::vector<Dim> &list) const;          // int64 (n)
  Node number(const Dim &d) const;                           // int64, no axes
  Node zeros(const std::vector<Dim> &shape) const;           // flags that are false
  Node places(const Dim &n) const;                           // int64 (n): 0, 1, 2 ...
  Node spread(Node x, const std::vector<Dim> &shape) const;  // x, broadcast with that shape
  // ---- what a run computes, as sizes; refused in a body, whose shapes are known before it runs
  struct Counted {
    Dim size;
    Node places;  // int64: 0, 1, 2 ...
  };
  Counted counted(Node number) const;  // an integer without axes
  void need_counting() const;
  std::vector<Dim> sizes_of(Value &list) const;  // the elements of one of known length, or one number
  std::vector<Dim> sizes_of(size_t i) const;     // the same of an input, known or computed
  const Shape &shape(Node n) const { return r.graph().shape(n); }

  // What the outputs are. dims: where a free axis comes from; none is a size of its own.
  void give(size_t i, Node n, ArrayRef<Dim> dims, Perm perm = {}, bool not_negative = false) const;
  void give(size_t i, Node n) const { give(i, n, {}); }
  // The type of what was given.
  void of_type(size_t i, Type type) const;
  void give_constant(size_t i, Tensor t, Type type = Type::none) const;
  // Integers of that shape.
  void give_elements(size_t i, std::vector<Dim> elements, std::vector<Dim> dims, Type type) const;
  void give_sizes(size_t i, std::vector<Dim> sizes, bool scalar = false, Type type = Type::int64) const;
  // One number, wherever a shape is not known.
  void give_filled(double number, std::vector<Dim> dims, DType dtype, Type type) const;
  void give_value(size_t i, Value v) const;
  // The dims of inputs that broadcast.
  std::vector<Dim> broadcast(const std::vector<const Value *> &values) const;

 private:
  std::string_view default_of(const char *name) const;
  Dim answer(const Asked &asked) const;
  Node of_sizes(const char *kind, const char *what, const std::vector<Dim> &list) const;
  std::string layer_name() const;
  Node repeated(const Value &v) const;
};

// By the file they stand in. Those that kinds name come last: a row of its own goes before.
std::span<const Row> math_rows();
std::span<const Row> activation_rows();
std::span<const Row> shape_rows();
std::span<const Row> index_rows();
std::span<const Row> space_rows();
std::span<const Row> pool_rows();
std::span<const Row> pad_rows();
std::span<const Row> resize_rows();
std::span<const Row> norm_rows();
std::span<const Row> product_rows();
std::span<const Row> attention_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> scan_rows();
std::span<const Row> flow_rows();
std::span<const Row> sequence_rows();
std::span<const Row> quantized_rows();
std::span<const Row> training_rows();
std::span<const Row> order_rows();
std::span<const Row> number_rows();
std::span<const Row> counted_rows();
std::span<const Row> sampled_rows();
std::span<const Row> signal_rows();
std::span<const Row> step_rows();
std::span<const Row> chosen_rows();
std::span<const Row> integer_rows();
std::span<const Row> drawn_rows();
std::span<const Row> type_rows();
std::span<const Row> experimental_rows();
std::span<const Row> named_rows();
// Of other domains.
std::span<const Row> ml_rows();
std::span<const Row> microsoft_rows();
std::span<const Row> microsoft_quantized_rows();
// Null: no layer of ours computes it.
const Row *row_of(std::string_view op);
// Of an op that had another form in the opset of the file; null: it is as it was, or not read.
Handler old_reader_of(std::string_view op, int64_t opset);

// Integers that a node may list.
constexpr size_t most_listed = 4096;
constexpr int64_t place_bytes = 64;  // about what a place takes that a layer is told, on its way there
// Integers, as a tensor of int64, or of a shape and another type of integers, which holds them.
Tensor tensor_of(const Ints &list, bool scalar = false);
Tensor tensor_of(const Ints &list, DType type, const Shape &shape);
// Is it a number of that type?
bool holds(Type type, int64_t v);
Ints ints_of(const Tensor &t);

}  // namespace dl4::io::onnx

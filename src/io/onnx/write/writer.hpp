// Converts the ops of a Program to nodes of an ONNX graph.
#pragma once

#include "base/array_ref.hpp"
#include "io/onnx/file.hpp"
#include "ops/op.hpp"

namespace dl4::io::onnx {

// A name owned by a Whole; none is "".
class Name {
 public:
  Name() = default;
  explicit Name(const std::string &kept) : kept_(&kept) {}
  bool empty() const { return !kept_; }
  operator std::string_view() const { return kept_ ? std::string_view(*kept_) : std::string_view(); }

 private:
  const std::string *kept_ = nullptr;
};
using Names = std::vector<Name>;
using Ints = std::vector<int64_t>;

// A node's attribute; text, lists and graphs are the caller's.
struct Said {
  const char *name;
  enum Type { real = 1, integer, text, graph = 5, reals, list, texts } type;  // ONNX's numbers
  union {
    int64_t i;
    float f;
    const char *s;
    const Ints *ints;
    const MessageWriter *body;
  };

  Said(const char *name, int64_t v) : name(name), type(integer), i(v) {}
  Said(const char *name, int v) : Said(name, int64_t{v}) {}
  Said(const char *name, float v, Type type = real) : name(name), type(type), f(v) {}        // or reals of one
  Said(const char *name, const char *v, Type type = text) : name(name), type(type), s(v) {}  // or texts of one
  Said(const char *name, const Ints &v) : name(name), type(list), ints(&v) {}
  Said(const char *name, const MessageWriter &graph_of) : name(name), type(graph), body(&graph_of) {}
};

// An op's attributes by name.
class Listed {
 public:
  explicit Listed(const ops::Op &op) : attributes_(op.attributes()) {}
  bool flag(std::string_view name) const { return find(name) != nullptr; }
  const std::string &word() const { return at("").shown; }  // the first, unnamed one
  const std::string &text(std::string_view name) const { return at(name).shown; }
  int64_t number(std::string_view name) const;
  double real(std::string_view name) const { return at(name).real; }
  const Ints &numbers(std::string_view name) const;  // free dims are -1; none: not listed

 private:
  const ops::Attribute *find(std::string_view name) const;
  const ops::Attribute &at(std::string_view name) const;

  std::vector<ops::Attribute> attributes_;
};

// Initializers and names of the whole model.
struct Whole {
  MessageWriter initializers;  // as fields of the graph
  std::set<std::string> names;

  // A unique name from `wanted` and `behind`.
  Name unique(std::string_view wanted, std::string_view behind = "");
  Name constant(const Tensor &t, std::string_view name);
};

// A scan as ONNX's GRU or RNN.
struct Recurrence {
  bool gated;
  const char *activation;  // for an RNN
  ops::Id x, first;        // (T, B, I); the initial state (B, units), none: zeros
  bool backwards = false;
  Tensor kernel{}, recurrent_kernel{}, bias{}, recurrent_bias{};
};

// Writes the nodes of a Program. `values`: a tensor for each of its states.
class Writer {
 public:
  Writer(Whole &whole, const ops::Program &p, std::map<ops::Id, Tensor> values);

  // The steps in order, except those that are part of a larger ONNX op.
  void steps();
  void step(const ops::Step &step);
  MessageWriter nodes;  // as fields of the graph

  // ---- the step being written
  const ops::Step &now() const { return *step_; }
  bool has(size_t i) const { return i < step_->src.size() && step_->src[i] != ops::none; }
  Name in(size_t i) { return name_of(step_->src[i]); }
  Shape shape(size_t i) const { return program_[step_->src[i]].shape; }
  DType dtype(size_t i) const { return program_[step_->src[i]].dtype; }
  bool is_read(size_t dst) const { return uses_[step_->dst[dst]] > 0; }
  // Whether a source is a constant or a weight.
  bool is_held(size_t i) const {
    return program_[step_->src[i]].role == ops::Role::constant || values_.count(step_->src[i]) > 0;
  }
  bool is_used(ops::Id v) const { return uses_[v] > 0; }
  // The numbers of a constant or weight, or of a part of one; none: computed.
  std::optional<Tensor> held(ops::Id v) const;
  // The numbers of a source; refuses computed ones.
  const Tensor &numbers(size_t i, const char *what) const;
  [[noreturn]] void refuse(std::string_view what) const;

  // Adds a node; returns its only output.
  Name node(const char *op, ArrayRef<Name> in, ArrayRef<Said> said = {});
  Names nodes_of(const char *op, ArrayRef<Name> in, size_t outputs, ArrayRef<Said> said = {});
  // Constant inputs.
  Name ints(ArrayRef<int64_t> list, bool scalar = false);
  Name real(double v);
  Name tensor(const Tensor &t, std::string_view name = "constant");
  Name transposed(Name x, ArrayRef<int64_t> perm);
  Name cast(Name x, DType to);
  // The dims [from, to) of x as a value.
  Name dims(Name x, int64_t from, int64_t to);
  Name reversed(Name x, int64_t axis);
  Name repeated(Name x, int64_t axis, int64_t rank, int64_t times);
  Name range_over(Name x, int64_t axis);

  void give(size_t dst, Name name) { names_[step_->dst[dst]] = name; }
  Name name_of(ops::Id v);
  void call(ops::Id v, Name name) { names_[v] = name; }
  Whole &whole() { return whole_; }
  const ops::Program &program() const { return program_; }
  const ops::Step *maker(ops::Id v) const { return ops::maker(program_, producers_, v); }
  // A step of the Program as an ONNX recurrence, if it is one.
  const std::optional<Recurrence> &recurrence(const ops::Step &step);

 private:
  Whole &whole_;
  const ops::Program &program_;
  const std::map<ops::Id, Tensor> values_;
  const ops::PerValue<int32_t> uses_;
  const ops::PerValue<std::optional<size_t>> producers_;
  std::map<const ops::Step *, std::optional<Recurrence>> recurrences_;
  std::map<ops::Id, Name> names_;
  const ops::Step *step_ = nullptr;
};

// The scan of now() or another step, as one.
std::optional<Recurrence> find_recurrence(const Writer &w, const ops::Step &step);
void write_recurrence(Writer &w, const Recurrence &r);

// For a product of rounded inputs by a weight's bytes: the bytes, offset by 128, for ONNX's integer op.
std::optional<ops::Id> bytes_of_product(const Writer &w, const ops::Step &step);

// How ops are written, by their names.
using WriteOp = void (*)(Writer &, const Listed &);
using WriteRow = std::pair<std::string_view, WriteOp>;
// Elementwise, shapes and reductions; products, convolutions and recurrence; segments; strings.
extern const std::span<const WriteRow> plain_ops, larger_ops, segment_ops, text_ops;

// Ops with bodies, and ensure_size.
void write_branch(Writer &w, const Listed &said);
void write_while(Writer &w, const Listed &said);
// Cumulative products, for which ONNX has no op: a Scan.
void write_products(Writer &w, const Listed &said);
void write_ensure_size(Writer &w, const Listed &said);

int64_t type_of(DType t);
MessageWriter value_info(std::string_view name, DType type, const Shape &shape,
                         const std::vector<std::string> &symbols = {});

}  // namespace dl4::io::onnx

// From the ops of a Program to the nodes of an ONNX graph.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/onnx/protobuf.hpp"
#include "ops/op.hpp"

namespace dl4::io::onnx {

using Names = std::vector<std::string>;
using Ints = std::vector<int64_t>;

// An attribute of a node.
struct Said {
  const char *name;
  enum { integer, real, text, list, texts, reals, graph } type;
  int64_t i = 0;
  float f = 0;
  std::string s{};
  Ints ints{};
  Names words{};
  std::vector<float> floats{};

  Said(const char *name, int64_t v) : name(name), type(integer), i(v) {}
  Said(const char *name, int v) : Said(name, int64_t{v}) {}
  Said(const char *name, float v) : name(name), type(real), f(v) {}
  Said(const char *name, const char *v) : name(name), type(text), s(v) {}
  Said(const char *name, Ints v) : name(name), type(list), ints(std::move(v)) {}
  Said(const char *name, Names v) : name(name), type(texts), words(std::move(v)) {}
  Said(const char *name, std::vector<float> v) : name(name), type(reals), floats(std::move(v)) {}
  Said(const char *name, const MessageWriter &graph_of) : name(name), type(graph), s(graph_of.bytes) {}
};

// An op's attributes by their names.
class Listed {
 public:
  explicit Listed(const ops::Op &op) : attributes_(op.attributes()) {}
  bool flag(std::string_view name) const { return find(name) != nullptr; }
  std::string word() const { return at("").shown; }  // the first without a name
  std::string text(std::string_view name) const { return at(name).shown; }
  int64_t number(std::string_view name) const { return at(name).integers.at(0); }
  double real(std::string_view name) const { return at(name).real; }
  Ints numbers(std::string_view name) const { return flag(name) ? at(name).integers : Ints(); }  // a free dim is -1

 private:
  const ops::Attribute *find(std::string_view name) const;
  const ops::Attribute &at(std::string_view name) const;

  std::vector<ops::Attribute> attributes_;
};

// The initializers and names of a whole model.
struct Whole {
  MessageWriter initializers;  // as fields of the graph
  std::set<std::string> names;

  std::string unique(const std::string &wanted);
  std::string constant(const Tensor &t, const std::string &name);
};

// A scan as ONNX's GRU or RNN.
struct Recurrence {
  bool gated;
  const char *activation;  // of an RNN
  ops::Id x, first;        // (T, B, I); the state at first (B, units), none: zeros
  bool backwards = false;
  Tensor kernel{}, recurrent_kernel{}, bias{}, recurrent_bias{};
};

// The nodes of a Program. `values`: a tensor for each of its states.
class Writer {
 public:
  Writer(Whole &whole, const ops::Program &p, std::map<ops::Id, Tensor> values);

  // The steps in their order, but for those that only an op of ONNX with more in it needs.
  void steps();
  void step(const ops::Step &step);
  MessageWriter nodes;  // as fields of the graph

  // ---- of the step that is written
  const ops::Step &now() const { return *step_; }
  bool has(size_t i) const { return i < step_->src.size() && step_->src[i] != ops::none; }
  std::string in(size_t i) { return name_of(step_->src[i]); }
  Shape shape(size_t i) const { return program_[step_->src[i]].shape; }
  DType dtype(size_t i) const { return program_[step_->src[i]].dtype; }
  bool is_read(size_t dst) const { return uses_[step_->dst[dst]] > 0; }
  // Is a source a constant or a weight?
  bool is_held(size_t i) const {
    return program_[step_->src[i]].role == ops::Role::constant || values_.count(step_->src[i]) > 0;
  }
  bool is_used(ops::Id v) const { return uses_[v] > 0; }
  // The numbers of a constant or a weight, or of a part of one; none: it is computed.
  std::optional<Tensor> held(ops::Id v) const;
  // The numbers of a source; refuses what is computed.
  const Tensor &numbers(size_t i, const char *what) const;
  [[noreturn]] void refuse(const std::string &what) const;

  // Adds a node; its only output.
  std::string node(const char *op, const Names &in, const std::vector<Said> &said = {}) {
    return nodes_of(op, in, 1, said)[0];
  }
  Names nodes_of(const char *op, const Names &in, size_t outputs, const std::vector<Said> &said = {});
  // Inputs that are constants.
  std::string ints(const Ints &list, bool scalar = false);
  std::string real(double v);
  std::string tensor(const Tensor &t, const std::string &name = "constant");
  std::string transposed(const std::string &x, const Ints &perm) { return node("Transpose", {x}, {{"perm", perm}}); }
  std::string cast(const std::string &x, DType to);
  // The dims of x as a value, with those of [from, to) alone.
  std::string dims(const std::string &x, int64_t from, int64_t to);
  std::string reversed(const std::string &x, int64_t axis);
  std::string repeated(const std::string &x, int64_t axis, int64_t rank, int64_t times);
  std::string range_over(const std::string &x, int64_t axis);

  void give(size_t dst, const std::string &name) { names_[step_->dst[dst]] = name; }
  std::string name_of(ops::Id v);
  void call(ops::Id v, const std::string &name) { names_[v] = name; }
  Whole &whole() { return whole_; }
  const ops::Program &program() const { return program_; }
  const ops::Step *maker(ops::Id v) const { return ops::maker(program_, producers_, v); }
  // A step of the Program as ONNX has it, if it does.
  const std::optional<Recurrence> &recurrence(const ops::Step &step);

 private:
  Whole &whole_;
  const ops::Program &program_;
  const std::map<ops::Id, Tensor> values_;
  const ops::PerValue<int32_t> uses_;
  const ops::PerValue<std::optional<size_t>> producers_;
  std::map<const ops::Step *, std::optional<Recurrence>> recurrences_;
  std::map<ops::Id, std::string> names_;
  const ops::Step *step_ = nullptr;
};

// The scan, of now() or another step, as that.
std::optional<Recurrence> find_recurrence(const Writer &w, const ops::Step &step);
void write_recurrence(Writer &w, const Recurrence &r);

// Of a product of rounded inputs by the bytes of a weight, the bytes, moved by 128: ONNX has an op for it.
std::optional<ops::Id> bytes_of_product(const Writer &w, const ops::Step &step);

using WriteOp = void (*)(Writer &, const Listed &);
WriteOp find_plain(std::string_view op);   // elementwise, shapes, reductions
WriteOp find_larger(std::string_view op);  // products, convolutions, recurrence
WriteOp find_segments(std::string_view op);

int64_t type_of(DType t);
MessageWriter value_info(const std::string &name, DType type, const Shape &shape, const Names &symbols);

}  // namespace dl4::io::onnx

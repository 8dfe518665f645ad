// What a kind of layer is: from symbols to symbols, in ops.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kinds/activation.hpp"
#include "kinds/field.hpp"
#include "kinds/layers/core/facts.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

class Initializer;
class Regularizer;
class Constraint;
class Layer;
struct InnerLayer;

// A value with its companion mask: bool, the leading axes of the value; ops::none = no mask.
struct Symbol {
  ops::Id value = ops::none;
  ops::Id mask = ops::none;
};

// One weight as a layer asks for it.
struct WeightSpec {
  std::string name;
  Shape shape;
  Of<Initializer> initializer;  // null is GlorotUniform, as in Keras
  Of<Regularizer> regularizer;
  Of<Constraint> constraint;
  bool trainable = true;  // false: no gradient changes it, only Call::write
  bool frozen = false;    // at the start training does not change it
  bool kept = false;  // the state of a stateful layer: every run of a trainer writes it, and no model is saved with it
  bool assigned = false;     // calls in training write it, whether it is trainable, frozen or neither
  DType dtype = DType::f32;  // of one that is trainable always
  bool lora = false;         // one of the two matrices beside a kernel, which Keras's files have no place for
};

// A weight as a value of a graph, which can be assigned.
struct Variable {
  std::string name;  // in the graph: "dense/kernel"
  WeightSpec spec;
};

// What a layer may ask of the graph it stands in.
class Host {
 public:
  virtual ~Host() = default;
  virtual ops::Id weight(const WeightSpec &spec) = 0;
  // The key of this call's draws: from `own` if the layer has a seed, else from the layer's name.
  virtual uint64_t random_seed(std::optional<int64_t> own) = 0;
  virtual ops::Id draws() = 0;  // int64 scalar: counts the runs
  // Where each worker has its part of the batch: what sums over all of them.
  virtual std::shared_ptr<ops::Collective> collective() { return nullptr; }
  virtual void add_loss(ops::Id scalar) = 0;  // activity penalties
  // The layer's weight of that name holds `value` for the calls that follow and, after a training run, for good. The
  // gradient of one that is trained is that of the last value.
  virtual void write(const std::string &name, ops::Id value) = 0;
  // What the layer carries from call to call under that name, of this shape with the batch axis; none: it begins at
  // zeros. A stateful layer keeps it for good, any other where the Program runs a part of a sequence.
  virtual ops::Id carried(const std::string & /*name*/, const Shape & /*shape*/, bool /*stateful*/) {
    return ops::none;
  }
  virtual void carry(const std::string & /*name*/, ops::Id /*value*/, bool /*stateful*/) {}
  // False where the layer is frozen as a whole; of one inside it, whose weights' names begin with `inside`.
  virtual bool trainable(const std::string &inside) const = 0;
  // Refuses a run in training.
  virtual void refuse_training() {}

  // ---- what a graph does to its own weights

  // What the weight of that name of the graph, "dense/kernel", holds now. Refused inside of a layer.
  virtual ops::Id graph_weight(const std::string &name);
  // The weight that input i is; none: it is another value.
  virtual std::optional<Variable> variable(int /*input*/) { return std::nullopt; }
  // Of one that is a weight what it held so far, before each assignment and now; a gradient by it is the sum of those
  // by all of these.
  virtual std::vector<ops::Id> values_of(int /*input*/) { return {}; }
  // It holds `value` for the calls that follow and, after the run, for good. No gradient passes. Refused as above.
  virtual void assign(int input, ops::Id value);
};

// Call arguments as given: plain ones as JSON, symbolic ones by name.
struct Arguments {
  Json plain = Json::object();
  std::map<std::string, std::vector<Symbol>> symbols;
};

// Gives the value of a weight that an inner layer asks for, by the name it has in the outer one.
using WeightOf = std::function<ops::Id(const WeightSpec &)>;

// One call of a layer.
class Call {
 public:
  Call(ops::Emit &e, Host &host, std::vector<Symbol> in, const Arguments &arguments, bool training)
      : e(e), in(std::move(in)), host(host), arguments_(arguments), training_(training) {}

  ops::Emit &e;
  std::vector<Symbol> in;
  Host &host;

  ops::Id x(int i = 0) const { return in[static_cast<size_t>(i)].value; }
  Shape shape(int i = 0) const { return e.shape(x(i)); }
  // The mask of input i: from the `mask` argument (for input 0, or one each), else the one it carries.
  ops::Id mask(int i = 0) const;
  // Training mode, unless the call says otherwise.
  bool training() const;
  bool flag(const std::string &key, bool fallback) const;
  std::span<const Symbol> symbols(const std::string &key) const;
  const Arguments &arguments() const { return arguments_; }

  ops::Id weight(const char *name, const Shape &shape, const Of<Initializer> &initializer,
                 const Of<Regularizer> &regularizer = nullptr, const Of<Constraint> &constraint = nullptr) {
    return host.weight({name, shape, initializer, regularizer, constraint});
  }
  // A weight that no gradient changes; training writes it, as moving statistics, with write().
  ops::Id non_trainable(const char *name, const Shape &shape, const Of<Initializer> &initializer) {
    return host.weight({name, shape, initializer, nullptr, nullptr, false});
  }
  // No gradient passes through the value written.
  void write(const char *name, ops::Id value) { host.write(name, value); }
  // Adds the penalty on an output, divided by the batch size, to the loss; nothing without a regularizer.
  void penalize(const Of<Regularizer> &regularizer, ops::Id output);
  // Runs a layer that is an attribute of this one: its weights stand under its name, it draws numbers of its own, anew
  // at each of its calls. `weight_of`: instead of the host.
  std::vector<Symbol> run(const InnerLayer &layer, std::vector<Symbol> inputs, const Arguments &arguments = {},
                          const WeightOf &weight_of = {});
  // The last dim of input i; refuses a free one.
  int64_t last_dim(int i = 0) const;
  void need_rank(int i, int rank) const;       // exactly
  void need_rank_from(int i, int rank) const;  // at least
  void need_float(int i) const;
  // Whole numbers and flags as float32 from now on, where Keras joins them with a layer's weights.
  void as_float(int i);
  // All inputs of the type that Keras joins theirs to.
  void join_types();

 private:
  const Arguments &arguments_;
  bool training_;
  std::map<std::string, std::pair<const Layer *, int64_t>> inner_{};  // those that ran, and how often
};

// Whether the products of a layer that asks for it are of operands rounded to bfloat16 in this Program. Refuses it,
// with the layer's name, where it is missing.
bool rounds(const ops::Emit &e, const std::string &layer);

// Of two types of data the one that Keras joins them to.
DType joined_type(DType a, DType b);

// How many inputs a layer takes.
struct Arity {
  int least = 1, most = 1;
  void check(size_t inputs) const;  // refuses another number
};
inline constexpr int any_number = INT32_MAX;

class Layer : public Kind {
 public:
  static constexpr const char *category = "layer";
  virtual Arity arity() const { return {}; }
  virtual Facts facts() const = 0;
  Json more() const override { return facts().json(); }
  virtual std::vector<Symbol> call(Call &c) const = 0;
  // Is its output a weight, which can be assigned?
  virtual bool gives_weight() const { return false; }
  // Do its calls assign weights? They are made in the order in which they were added.
  virtual bool assigns() const { return false; }
};

}  // namespace dl4::kinds

// Layers: functions from symbols to symbols, in ops; their facts; a layer as an attribute of another one.
#pragma once

#include <functional>

#include "kinds/activation.hpp"
#include "kinds/field.hpp"
#include "kinds/weight.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

// Letters: B batch, T time, H W image, C channels, ... any axes.
struct Port {
  const char *name;
  Words shape;
  const char *condition = nullptr;  // the attribute or argument that it depends on
};

struct CallArgument {
  const char *name, *type;
  Words doc;
};

// For Keras's files: the location of weights that belong to an inner layer.
struct InsideOf {
  const char *key;        // attribute with the owning layer or list of layers; "": the layer itself
  const char *attribute;  // of Keras's object
};

// How masks are handled.
struct MaskRule {
  constexpr MaskRule(const char *words = "dropped") : words(words) {}

  const char *words;   // of the outputs' masks
  bool noted = false;  // also set for layers with a call argument "mask"
  bool built = true;   // whether the outputs have masks when the graph is built; else only at run time
};

// Facts as written in a layer's file: constant, unless options change them.
struct PlainFacts {
  std::initializer_list<Port> inputs, outputs;
  std::initializer_list<Port> weights{};
  std::initializer_list<CallArgument> arguments{};
  std::initializer_list<InsideOf> inside{};
  MaskRule mask{};
};

struct Facts {
  Facts() = default;
  Facts(const PlainFacts &plain);

  std::vector<Port> inputs, outputs;
  std::vector<Port> weights{};
  std::vector<CallArgument> arguments{};
  std::vector<InsideOf> inside{};
  MaskRule mask{};
  std::vector<bool> taken_off{};  // by input: Keras's layer removes its mask for later calls

  bool takes_mask_off(size_t input) const { return input < taken_off.size() && taken_off[input]; }
  // Whether the graph records the mask of a call's single input, so that it survives later removals, as in Keras for
  // layers with an argument `mask`.
  bool notes_mask() const;
  Json json() const;
};

class Layer;
struct InnerLayer;

// A value with its mask: bool over the value's leading axes; ops::none: no mask.
struct Symbol {
  ops::Id value = ops::none;
  ops::Id mask = ops::none;
};

// Services of the graph for a layer's call.
class Host {
 public:
  virtual ~Host() = default;
  virtual ops::Id weight(const WeightSpec &spec) = 0;
  // Key of this call's random numbers: from `own` if the layer has a seed, else from its name.
  virtual uint64_t random_seed(std::optional<int64_t> own) = 0;
  virtual ops::Id draws() = 0;  // int64 scalar, the number of the run
  // For distributed training: the sum over all workers.
  virtual std::shared_ptr<ops::Collective> collective() { return nullptr; }
  virtual void add_loss(ops::Id scalar) = 0;  // adds an activity penalty
  // The layer's weight of that name becomes `value` for later calls and, after a training run, permanently. The
  // gradient of a trainable weight is that of its last value.
  virtual void write(const std::string &name, ops::Id value) = 0;
  // The layer's state between calls under that name, of this shape including the batch; none: starts at zeros. Stateful
  // layers keep it permanently, others only if the Program runs part of a sequence.
  virtual ops::Id carried(const std::string & /*name*/, const Shape & /*shape*/, bool /*stateful*/) {
    return ops::none;
  }
  virtual void carry(const std::string & /*name*/, ops::Id /*value*/, bool /*stateful*/) {}
  // False if the layer is frozen; with `inside`, for the inner layer whose weights have this prefix.
  virtual bool trainable(const std::string &inside) const = 0;
  // Refuses to run in training.
  virtual void refuse_training(const std::string & /*why*/ = "its training mode is not supported") {}

  // ---- for layers that access the graph's weights

  // Current value of the graph's weight of that name, "dense/kernel". Refused inside another layer.
  virtual ops::Id graph_weight(const std::string &name);
  // The weight that input i is; none: another value.
  virtual std::optional<Variable> variable(int /*input*/) { return std::nullopt; }
  // If input i is a weight: its values before each assignment and now. Its gradient is the sum of theirs.
  virtual std::vector<ops::Id> values_of(int /*input*/) { return {}; }
  // It becomes `value` for later calls and, after the run, permanently, without a gradient. Refused inside another
  // layer.
  virtual void assign(int input, ops::Id value);
};

// Call arguments: plain ones as JSON, symbolic ones by name.
struct Arguments {
  Json plain = Json::object();
  std::map<std::string, std::vector<Symbol>> symbols;
};

// Provides an inner layer's weights, by their names in the outer one.
using WeightOf = std::function<ops::Id(const WeightSpec &)>;

// A call of a layer.
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
  // Training mode, unless the call's arguments override it.
  bool training() const;
  bool flag(const std::string &key, bool fallback) const;
  std::span<const Symbol> symbols(const std::string &key) const;
  const Arguments &arguments() const { return arguments_; }

  ops::Id weight(const char *name, const Shape &shape, const Of<Initializer> &initializer,
                 const Of<Regularizer> &regularizer = nullptr, const Of<Constraint> &constraint = nullptr) {
    return host.weight({name, shape, initializer, regularizer, constraint});
  }
  // A weight without gradient, such as moving statistics; training writes it with write().
  ops::Id non_trainable(const char *name, const Shape &shape, const Of<Initializer> &initializer) {
    return host.weight({name, shape, initializer, nullptr, nullptr, false});
  }
  // The written value gets no gradient.
  void write(const char *name, ops::Id value) { host.write(name, value); }
  // Adds the penalty on an output, divided by the batch size, to the loss. Does nothing without a regularizer.
  void penalize(const Of<Regularizer> &regularizer, ops::Id output);
  // Runs an inner layer. Its weights are named under its name, and it draws its own random numbers, new ones in each
  // call. `weight_of` replaces the host's weights.
  std::vector<Symbol> run(const InnerLayer &layer, std::vector<Symbol> inputs, const Arguments &arguments = {},
                          const WeightOf &weight_of = {});
  // The last dim of input i; refuses a free one.
  int64_t last_dim(int i = 0) const;
  void need_rank(int i, int rank) const;       // exactly this rank
  void need_rank_from(int i, int rank) const;  // at least this rank
  void need_float(int i) const;
  void need_strings(int i) const;
  // Converts integers and booleans to float32, where Keras promotes them with the layer's weights.
  void as_float(int i);
  // Converts all inputs to the type Keras promotes them to.
  void join_types();

 private:
  const Arguments &arguments_;
  bool training_;
  std::map<std::string, std::pair<const Layer *, int64_t>> inner_{};  // layers run so far, and number of calls
};

// Whether a layer's products use operands rounded to bfloat16 in this Program. Refuses a layer that requires it if
// unavailable.
bool rounds(const ops::Emit &e, const std::string &layer);

// Keras's type promotion.
DType joined_type(DType a, DType b);

// Number of a layer's inputs.
struct Arity {
  int least = 1, most = 1;
  void check(size_t inputs) const;  // refuses other numbers
};
inline constexpr int any_number = INT32_MAX;

// What a layer learns from data before training.
class Adapter {
 public:
  virtual ~Adapter() = default;
  // A batch, dense; valid during the call.
  virtual void add(const Tensor &batch) = 0;
  // The layer's config with what was learned so far. Refuses what no layer can be made of.
  virtual Json config() const = 0;
};

class Layer : public Kind {
 public:
  static constexpr const char *category = "layer";
  virtual Arity arity() const { return {}; }
  virtual Facts facts() const = 0;
  Json more() const override { return facts().json(); }
  virtual std::vector<Symbol> call(Call &c) const = 0;
  // Whether its output is an assignable weight.
  virtual bool gives_weight() const { return false; }
  // Learns from data what the config lacks, in at most so many bytes; null: there is nothing to learn.
  virtual std::shared_ptr<Adapter> adapter(int64_t /*memory_limit*/) const { return nullptr; }
  // Whether its calls assign weights; such calls run in the order in which they were added.
  virtual bool assigns() const { return false; }
};

// A layer whose facts no option changes: T::plain.
template <class T>
class LayerOf : public Layer {
 public:
  Facts facts() const override { return T::plain; }
};

// A layer as an attribute of another layer. Call::run() runs it.
struct InnerLayer {
  Of<Layer> kind;         // null: none
  std::string name{};     // prefix of its weights within those of the outer layer
  bool trainable = true;  // initially; whether training changes its weights
  // False: as Keras's layer.call(), without the penalty on its own outputs. Penalties of layers inside it remain.
  bool penalized = true;
  bool carries = true;          // false: non-stateful layers start each call from zeros
  bool mixed_bfloat16 = false;  // its dtype policy; false: the outer layer's

  explicit operator bool() const { return kind != nullptr; }
  const Layer *operator->() const { return kind.get(); }
  // A copy with another name and some attributes changed.
  InnerLayer with(const std::string &new_name, const Json &changes) const;

  // Keras's JSON: null, a class name, or {"class_name", "config"} with "name", "trainable" and "dtype" in the config.
  static InnerLayer parse(const Json &j);
  Json to_json() const;
};

// Makes names in a list unique as Keras does: "lstm_cell", "lstm_cell_1".
void number_names(std::vector<InnerLayer> &list);

// Whether it computes each sample of the first axis independently, according to its facts: shapes start with B.
bool by_sample(const Layer &layer);

// Of a default built-in layer of this class; empty for others.
Facts facts_of(const std::string &class_name);

// Keras's default name for a layer of this class.
std::string snake_case(const std::string &class_name);

}  // namespace dl4::kinds

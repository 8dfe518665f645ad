// What was said: layers, their calls and the symbolic values between them.
#pragma once

#include <atomic>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json.hpp"
#include "base/rng.hpp"
#include "base/table.hpp"
#include "graph/architecture.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layer.hpp"

namespace dl4::graph {

// By number: a symbolic value, a layer, a call.
enum class Node : int32_t {};
enum class LayerId : int32_t {};
enum class CallId : int32_t {};
inline constexpr Node no_node{-1};  // stands for null in a list of a call's arguments

template <class Id>
requires(std::same_as<Id, Node> || std::same_as<Id, LayerId> || std::same_as<Id, CallId>) std::string to_string(Id id) {
  return std::to_string(static_cast<int32_t>(id));
}

class Block;  // parameters.hpp

// What a weight holds. Where a model is a layer of another one it has a name in each.
struct Stored {
  std::atomic<bool> frozen{false};  // training leaves it as it is; atomic, for it is read behind no gate
  Tensor value;                     // no data until a model is built
  // Where the value lies if it is written in place; null: whoever changes it gives it another tensor.
  std::shared_ptr<Block> block;
  // True while a trainer owns it, whichever of the models that share it was given to the trainer.
  std::atomic<bool> in_training{false};
};

// One weight of a layer; shared by every model over the graph.
struct Weight {
  explicit Weight(std::shared_ptr<Stored> stored = std::make_shared<Stored>()) : stored(std::move(stored)) {}
  kinds::WeightSpec spec;
  std::string name;  // "<layer>/<weight>"
  kinds::Seed seed;
  const std::shared_ptr<Stored> stored;
  std::atomic<bool> &frozen = stored->frozen;
  Tensor &value = stored->value;
  std::shared_ptr<Block> &block = stored->block;
  std::atomic<bool> &in_training = stored->in_training;

  bool trainable() const { return spec.trainable && !frozen; }
  // By the calls of a step, as moving statistics are.
  bool written() const { return spec.assigned || (!spec.trainable && (spec.kept || !frozen)); }
  void initialise();
  // Gives it a tensor of its shape that no one else holds. It is copied where the value may be written in place; what
  // others keep by a pin stays as it was.
  void set(Tensor own) noexcept;
};

class Model;

// A model that stands among the attributes of a layer: the layer's weights are the model's.
struct Given {
  std::vector<std::string> path;  // of keys, to the attribute
  std::shared_ptr<const Model> model;
};

struct Layer {
  std::string name;
  std::shared_ptr<const kinds::Layer> kind;  // null for inputs and constants
  Tensor constant;                           // of a constant
  Shape input_shape;                         // of an input
  DType input_dtype = DType::f32;
  bool is_input = false, trainable = true;
  bool mixed_bfloat16 = false;  // its products in training are of operands rounded to bfloat16
  std::vector<std::shared_ptr<Weight>> weights;  // in order of creation, made by the first call
  std::optional<uint64_t> random_seed;           // set by the first call that draws without a seed of the layer
  int32_t calls = 0;
  // By the prefix of the names that their weights have here.
  std::map<std::string, std::shared_ptr<const Model>> given{};

  // False where all its weights are frozen, or all of a layer inside it, whose names begin with `inside`.
  bool is_trainable(const std::string &inside = "") const;
};

// Call arguments: plain ones as JSON, symbolic ones by node.
struct Arguments {
  Json plain = Json::object();
  std::map<std::string, std::vector<Node>> nodes;
};

// A weight of a layer, by its place among them.
struct WeightAt {
  LayerId layer{};
  size_t index = 0;
};

struct Call {
  LayerId layer{};
  int32_t number = 0;  // the layer's number-th call
  std::vector<Node> in;
  Arguments arguments;
  std::vector<Node> out;
  std::optional<WeightAt> weight{};  // that its output is
};

// Where a node comes from.
struct Origin {
  CallId call{};
  int32_t output = 0;
};

// What random numbers follow from: the names of layers and weights, or as in TensorFlow the order of creation.
enum class SeedScheme { dl4, tensorflow };

// What a context gives its graphs.
struct Settings {
  uint64_t seed = 0;
  SeedScheme scheme = SeedScheme::dl4;
  int64_t memory_limit = INT64_MAX;  // bytes of one model's weights; of a graph's constants
  bool limited = false;              // it was asked for
  bool emulate_bfloat16 = false;     // where the processor has no such products
};

class Graph {
 public:
  explicit Graph(const Settings &settings);

  Node input(const std::string &name, DType dtype, const Shape &shape);  // shape with the batch axis
  Node constant(const std::string &name, Tensor value);
  // Refuses so many bytes more of constants that are past the memory limit.
  void need_room(int64_t bytes) const;
  // A layer that is called later, once or more. An empty name gives an automatic one.
  // given: models among the attributes. Refuses one in training.
  LayerId layer(const std::string &kind, const std::string &name, Json attributes,
                const std::vector<Given> &given = {});
  // A layer of another graph, that has been called there, in this one too: its weights are one. An empty name gives its
  // own.
  LayerId share(const Graph &from, LayerId layer, const std::string &name);
  // Symbolic outputs; refuses what does not fit, with the layer's name, and leaves the graph as it was.
  // `asked`: the outputs it must have at least.
  std::vector<Node> call(LayerId layer, Arguments arguments, const std::vector<Node> &in, size_t asked = 0);
  // layer() and call() in one: a refusal leaves neither.
  std::vector<Node> add(const std::string &kind, const std::string &name, Json attributes, Arguments arguments,
                        const std::vector<Node> &in, size_t asked = 0, const std::vector<Given> &given = {});

  const Shape &shape(Node n) const;
  DType dtype(Node n) const;
  bool masked(Node n) const;  // does it carry a mask?
  // The weight that it is, as the output of a layer Weight or GetWeight; null: it is another value.
  const std::shared_ptr<Weight> &weight(Node n) const;
  const std::shared_ptr<Weight> &weight(WeightAt at) const { return layers_[at.layer].weights[at.index]; }
  const Table<LayerId, Layer> &layers() const { return layers_; }
  const Table<CallId, Call> &calls() const { return calls_; }
  const Table<Node, Origin> &nodes() const { return origins_; }
  const Layer &layer_of(CallId c) const { return layers_[calls_[c].layer]; }
  Origin origin(Node n) const { return origins_[check(n)]; }
  const Settings &settings() const { return settings_; }

  // With the given inputs and outputs: all of it, or these calls and their layers.
  Architecture architecture(const std::vector<Node> &in, const std::vector<Node> &out,
                            const std::vector<CallId> *calls = nullptr) const;
  std::string summary() const;  // a table
  std::string dot() const;      // a drawing for Graphviz
  // Adds its layers and calls; its inputs and outputs become nodes of this graph. Refuses what does not fit, with the
  // layer's name, and leaves the graph as it was.
  void merge(const Architecture &a, std::vector<Node> *in = nullptr, std::vector<Node> *out = nullptr);
  // Refuses a number that is no node.
  Node check(Node n) const;

 private:
  std::string unique_name(const std::string &wanted, const std::string &kind);
  // Where the random numbers of a layer or a weight of this name begin. What else is in the graph does not move them
  // unless the order of creation says it.
  uint64_t seed_of(std::string_view name);
  // What the call gives, and the weight that this is.
  struct Emitted {
    std::vector<kinds::Symbol> out;
    std::optional<WeightAt> weight;
  };
  Emitted emit(LayerId layer, const Arguments &arguments, const std::vector<Node> &in);
  std::vector<Node> record(LayerId layer, Arguments arguments, const std::vector<Node> &in, const Emitted &emitted);
  WeightAt find_weight(const std::string &name) const;
  void set_trainable(LayerId layer, const std::string &weight, bool yes);
  Node add_source(Layer layer, const std::function<ops::Id(ops::Emit &)> &emit);
  class Builder;

  Settings settings_;
  OpSeeds op_seeds_;  // by the order of creation
  int64_t constant_bytes_ = 0;
  Table<LayerId, Layer> layers_;
  std::unordered_set<std::string> names_;             // of the layers
  std::unordered_map<std::string, int64_t> numbers_;  // by the base of automatic names: all lower numbers are taken
  Table<CallId, Call> calls_;
  Table<Node, Origin> origins_;
  ops::Program scratch_;                                 // every call's ops, for their shape rules alone
  Table<Node, kinds::Symbol> symbols_;                   // in scratch_
  std::unordered_map<const Stored *, ops::Id> weights_;  // in scratch_
};

// The weight that input i of a call is, for a host.
std::optional<kinds::Variable> variable(const Graph &g, const std::vector<Node> &in, int i);

// The calls that `out` needs, in order. Refuses outputs that need an input not in `in`.
std::vector<CallId> needed_calls(const Graph &g, const std::vector<Node> &in, const std::vector<Node> &out);

}  // namespace dl4::graph

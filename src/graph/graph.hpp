// A graph: layers, their calls, and the symbolic values between them.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "base/rng.hpp"
#include "graph/architecture.hpp"
#include "kinds/layer.hpp"
#include "ops/op.hpp"

namespace dl4::graph {

// Ids of symbolic values, layers and calls.
enum class Node : int32_t {};
enum class LayerId : int32_t {};
enum class CallId : int32_t {};
inline constexpr Node no_node{-1};  // null in a list argument of a call

template <class Id>
requires(std::same_as<Id, Node> || std::same_as<Id, LayerId> || std::same_as<Id, CallId>) std::string to_string(Id id) {
  return std::to_string(static_cast<int32_t>(id));
}

class Block;  // parameters.hpp

// The value of a weight. If its model is a layer of another model, the weight has a name in each.
struct Stored {
  std::atomic<bool> frozen{false};  // not trained; atomic, since it is read without a gate
  Tensor value;                     // no data until a model is built
  // The block that contains the value if it is updated in place; null: changes replace the tensor.
  std::shared_ptr<Block> block;
  // True while a trainer owns it, through any of the models that share it.
  std::atomic<bool> in_training{false};
};

// A weight of a layer, shared by all models over the graph.
struct Weight {
  explicit Weight(std::shared_ptr<Stored> stored = std::make_shared<Stored>()) : stored(std::move(stored)) {}
  kinds::WeightSpec spec;
  std::string name;  // "<layer>/<weight>"
  kinds::Seed seed;
  const std::shared_ptr<Stored> stored;

  Tensor &value() const { return stored->value; }
  std::shared_ptr<Block> &block() const { return stored->block; }
  std::atomic<bool> &frozen() const { return stored->frozen; }
  bool trainable() const { return spec.trainable && !frozen(); }
  // Whether calls in a training step write it, as with moving statistics.
  bool written() const { return spec.assigned || (!spec.trainable && (spec.kept || !frozen())); }
  void initialise();
  // Replaces the value by an unshared tensor of its shape, or copies into the block. Pinned values don't change.
  void set(Tensor own) noexcept;
};

class Model;

// A model among the attributes of a layer, whose weights become the layer's.
struct Given {
  std::vector<std::string> path;  // keys that lead to the attribute
  std::shared_ptr<const Model> model;
};

struct Layer {
  std::string name;
  std::shared_ptr<const kinds::Layer> kind;  // null for inputs and constants
  Tensor constant;                           // of a constant
  std::optional<ops::Operand> input;         // type and shape of an input
  bool trainable = true;
  bool mixed_bfloat16 = false;                   // products in training use operands rounded to bfloat16
  std::vector<std::shared_ptr<Weight>> weights;  // in order of creation, by the first call
  std::optional<uint64_t> random_seed;           // set by the first call that draws without a seed of the layer
  int32_t calls = 0;
  // By the prefix of their weights' names in this layer.
  std::map<std::string, std::shared_ptr<const Model>> given{};

  // False if all its weights are frozen, or all whose names start with `inside`.
  bool is_trainable(const std::string &inside = "") const;
};

// Call arguments: plain ones as JSON, symbolic ones by node.
struct Arguments {
  Json plain = Json::object();
  std::map<std::string, std::vector<Node>> nodes;
};

// A weight, by its layer and index.
struct WeightAt {
  LayerId layer{};
  size_t index = 0;
};

struct Call {
  LayerId layer{};
  int32_t number = 0;  // index among the layer's calls
  std::vector<Node> in;
  Arguments arguments;
  std::vector<Node> out;
  std::optional<WeightAt> weight{};  // that its output is

  std::vector<Node> sources() const;  // inputs and arguments
};

// Producer of a node.
struct Origin {
  CallId call{};
  int32_t output = 0;
};

// What random seeds depend on: names of layers and weights, or as in TensorFlow the order of creation.
enum class SeedScheme { dl4, tensorflow };

// Settings that a context passes to its graphs.
struct Settings {
  uint64_t seed = 0;
  SeedScheme scheme = SeedScheme::dl4;
  int64_t memory_limit = INT64_MAX;  // bytes of a model's weights, and of a graph's constants
  bool limited = false;              // the limit was set explicitly
  bool emulate_bfloat16 = false;     // on processors without such products
};

class Graph {
 public:
  explicit Graph(const Settings &settings);

  Node input(const std::string &name, DType dtype, const Shape &shape);  // shape with the batch axis
  Node constant(const std::string &name, Tensor value);
  // Refuses constants that would exceed the memory limit by so many more bytes.
  void need_room(int64_t bytes) const;
  // A layer to be called later, possibly repeatedly. An empty name is replaced by an automatic one. given: models among
  // the attributes. Refuses models in training.
  LayerId layer(const std::string &kind, const std::string &name, Json attributes,
                const std::vector<Given> &given = {});
  // Adds a layer of another graph that has been called there; both graphs share its weights. An empty name keeps its
  // name there.
  LayerId share(const Graph &from, LayerId layer, const std::string &name);
  // The outputs of a call. Refuses invalid calls, naming the layer, and leaves the graph unchanged. `asked`: minimum
  // number of outputs.
  std::vector<Node> call(LayerId layer, Arguments arguments, const std::vector<Node> &in, size_t asked = 0);
  // layer() and call(); a refusal undoes both.
  std::vector<Node> add(const std::string &kind, const std::string &name, Json attributes, Arguments arguments,
                        const std::vector<Node> &in, size_t asked = 0, const std::vector<Given> &given = {});

  const Shape &shape(Node n) const;
  DType dtype(Node n) const;
  bool masked(Node n) const;  // whether it carries a mask
  // The weight that a node is, as the output of a layer Weight or GetWeight; null: another value.
  const std::shared_ptr<Weight> &weight(Node n) const;
  const std::shared_ptr<Weight> &weight(WeightAt at) const { return layers_[at.layer].weights[at.index]; }
  const Table<LayerId, Layer> &layers() const { return layers_; }
  const Table<CallId, Call> &calls() const { return calls_; }
  const Table<Node, Origin> &nodes() const { return origins_; }
  const Layer &layer_of(CallId c) const { return layers_[calls_[c].layer]; }
  Origin origin(Node n) const { return origins_[check(n)]; }
  const Settings &settings() const { return settings_; }

  // With the given inputs and outputs: the whole graph, or only these calls and their layers.
  Architecture architecture(const std::vector<Node> &in, const std::vector<Node> &out,
                            const std::vector<CallId> *calls = nullptr) const;
  std::string summary() const;  // as a table
  std::string dot() const;      // in Graphviz's language
  // Adds an architecture's layers and calls, and returns its inputs and outputs as nodes. Refuses invalid calls, naming
  // the layer, and leaves the graph unchanged.
  void merge(const Architecture &a, std::vector<Node> *in = nullptr, std::vector<Node> *out = nullptr);
  // Refuses ids that are no node.
  Node check(Node n) const;

 private:
  std::string unique_name(const std::string &wanted, const std::string &kind);
  // Seed of the random numbers of a layer or weight of this name. Independent of the rest of the graph, unless the seed
  // scheme uses the order of creation.
  uint64_t seed_of(std::string_view name);
  // The outputs of a call, and the weight that the output is.
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
  OpSeeds op_seeds_;  // in order of creation
  int64_t constant_bytes_ = 0;
  Table<LayerId, Layer> layers_;
  std::unordered_set<std::string> names_;             // of the layers
  std::unordered_map<std::string, int64_t> numbers_;  // by base of automatic names: all lower numbers are taken
  Table<CallId, Call> calls_;
  Table<Node, Origin> origins_;
  ops::Program scratch_;                                 // the ops of all calls, only for their shape rules
  Table<Node, kinds::Symbol> symbols_;                   // in scratch_
  std::unordered_map<const Stored *, ops::Id> weights_;  // in scratch_
};

// For hosts: the weight that input i of a call is.
std::optional<kinds::Variable> variable(const Graph &g, const std::vector<Node> &in, int i);

// Whether it is the counter of random draws of graphs that assign weights.
bool is_draws(const kinds::Layer &kind);

// The calls needed for `out`, in order. Refuses outputs that depend on inputs not in `in`.
std::vector<CallId> needed_calls(const Graph &g, const std::vector<Node> &in, const std::vector<Node> &out);

}  // namespace dl4::graph

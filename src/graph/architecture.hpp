// Layers and calls as data, independent of a graph. Each format's reader fills an Architecture; Graph::merge() builds
// it.
#pragma once

#include <compare>
#include <map>
#include <optional>

#include "base/json.hpp"
#include "base/tensor.hpp"

namespace dl4::graph {

enum class Node : int32_t;
class Graph;
class Translation;

struct Architecture {
  // A call of a layer: the layer's name and the index among its calls.
  struct CallRef {
    std::string layer;
    int64_t call = 0;
    auto operator<=>(const CallRef &) const = default;
  };
  // A symbolic value: an output of a call.
  struct Ref {
    CallRef of;
    int64_t output = 0;
  };
  struct Call {
    std::vector<Ref> inputs;
    Json arguments = Json::object();                                // plain arguments
    std::map<std::string, std::vector<std::optional<Ref>>> values;  // symbolic arguments; null: left out
  };
  // An operation of a format becomes layers once its operands are known.
  enum class Role { input, constant, kind, operation };
  struct Layer {
    Role role = Role::kind;
    std::string name;
    DType dtype = DType::f32;  // for inputs
    Shape shape;               // for inputs, with the batch axis
    Tensor constant;
    std::string class_name;  // of a kind, or of a format's operation
    int64_t version = 0;     // of the config; 0: the current one
    Json config = Json::object();
    std::optional<uint64_t> random_seed;
    std::vector<std::string> frozen;  // untrained weights of a trainable layer
    std::vector<std::string> thawed;  // trained weights although the config says no
    std::vector<Call> calls;
  };
  std::vector<Layer> layers;
  std::vector<Ref> inputs, outputs;
  std::vector<CallRef> sequence{};           // all calls, if their order matters: some assign weights that others read
  const Translation *translation = nullptr;  // for formats whose layers are not this library's
};

// Maps a format's layers to this library's while a graph is built.
class Translation {
 public:
  virtual ~Translation() = default;
  // The kind's config.
  virtual Json config(const Architecture::Layer &layer) const = 0;
  // Refuses unknown operations with UNSUPPORTED.
  virtual void need_operation(const Architecture::Layer &layer) const = 0;
  // Adds the layers that compute a call of an operation, the last one under its name, and returns its outputs. Refuses
  // with UNSUPPORTED what no layer computes.
  virtual std::vector<Node> add_operation(Graph &g, const Architecture::Layer &layer, int64_t call,
                                          const Json &arguments, const std::vector<Node> &in) const = 0;
};

// The calls as (layer, call) in topological order: repeated passes over the list, each making what is ready. With
// SeedScheme::tensorflow the order determines the seeds of weights. Refuses references to missing calls, and cycles.
std::vector<std::pair<size_t, size_t>> order(const Architecture &a);

// Tensors of constants, by the names that replace them in the JSON.
using Constants = std::map<std::string, Tensor>;

// A list; free dims are null.
Json shape_json(const Shape &shape);
// The native JSON. Tensors go to `constants` if given, else into the JSON as hexadecimal digits.
Json to_json(const Architecture &a, Constants *constants = nullptr);
Architecture read_architecture(const Json &j, const Constants &constants = {});
inline bool is_architecture(const Json &j) { return j.find("format") && j.find("layers"); }

// Adds the layer's name to an error, once.
template <class F>
void as_layer(const std::string &name, F f) {
  try {
    f();
  } catch (Error &error) {
    error.with("layer", name);
    if (error.message.find('"' + name + '"') == std::string::npos) error.in("layer \"" + name + "\"");
    throw;
  }
}

}  // namespace dl4::graph

// Layers and calls as data: what a file says before anything is made of it. Each format's reader fills one;
// Graph::merge() makes it.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/tensor.hpp"

namespace dl4::graph {

enum class Node : int32_t;
class Graph;
class Translation;

struct Architecture {
  // A call of a layer, by the layer's name and the number among its calls.
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
    Json arguments = Json::object();                                // plain ones
    std::map<std::string, std::vector<std::optional<Ref>>> values;  // symbolic ones; what is left out is null
  };
  // An operation of a format becomes layers once its operands are known.
  enum class Role { input, constant, kind, operation };
  struct Layer {
    Role role = Role::kind;
    std::string name;
    DType dtype = DType::f32;  // of an input
    Shape shape;               // of an input, with the batch axis
    Tensor constant;
    std::string class_name;  // of a kind, or of an operation in its format
    int64_t version = 0;     // of its config; 0: this library's
    Json config = Json::object();
    std::optional<uint64_t> random_seed;
    std::vector<std::string> frozen;  // weights of a trainable layer that are not trained
    std::vector<std::string> thawed;  // weights that are trained, though its config says no
    std::vector<Call> calls;
  };
  std::vector<Layer> layers;
  std::vector<Ref> inputs, outputs;
  std::vector<CallRef> sequence{};  // of all calls, where their order counts: some assign weights that others read
  const Translation *translation = nullptr;  // of a format with layers that are not this library's
};

// How the layers of a format become this library's while a graph is made of them.
class Translation {
 public:
  virtual ~Translation() = default;
  // The config of a kind.
  virtual Json config(const Architecture::Layer &layer) const = 0;
  // Refuses with UNSUPPORTED an operation that is not known.
  virtual void need_operation(const Architecture::Layer &layer) const = 0;
  // Adds the layers that compute a call of an operation, the last one under its name; gives its outputs. Refuses with
  // UNSUPPORTED what no layer computes.
  virtual std::vector<Node> add_operation(Graph &g, const Architecture::Layer &layer, int64_t call,
                                          const Json &arguments, const std::vector<Node> &in) const = 0;
};

// The calls as (layer, call), each behind all it reads: as if the list were gone through again and again, each time
// making what can be made. Under `tensorflow` the order decides the seeds of weights. Refuses what reads a call that
// is nowhere, or itself.
std::vector<std::pair<size_t, size_t>> order(const Architecture &a);

// The tensors of constants, by the names that stand in the JSON for them.
using Constants = std::map<std::string, Tensor>;

// A list, null where a size is free.
Json shape_json(const Shape &shape);
// The native form. With `constants` these go there, without they stand in the JSON, as hexadecimal digits.
Json to_json(const Architecture &a, Constants *constants = nullptr);
Architecture read_architecture(const Json &j, const Constants &constants = {});
inline bool is_architecture(const Json &j) { return j.find("format") && j.find("layers"); }

// What is wrong with a layer is told with its name, once.
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

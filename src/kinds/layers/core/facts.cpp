// A layer's facts as JSON.
#include "kinds/layers/core/facts.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dl4::kinds {
namespace {

Json ports(const std::vector<Port> &list) {
  Json j = Json::array();
  for (const Port &p : list) {
    Json one = Json::object();
    one["name"] = p.name;
    one["shape"] = p.shape.view();
    if (p.condition) one["if"] = p.condition;
    j.push_back(std::move(one));
  }
  return j;
}

}  // namespace

Facts::Facts(const PlainFacts &plain)
    : inputs(plain.inputs),
      outputs(plain.outputs),
      weights(plain.weights),
      arguments(plain.arguments),
      inside(plain.inside),
      mask(plain.mask) {}

bool Facts::notes_mask() const {
  const auto is_mask = [](const CallArgument &a) { return std::string_view(a.name) == "mask"; };
  return mask.noted || std::ranges::any_of(arguments, is_mask);
}

Json Facts::json() const {
  Json j = Json::object();
  j["inputs"] = ports(inputs);
  j["outputs"] = ports(outputs);
  j["weights"] = ports(weights);
  j["arguments"] = Json::array();
  for (const CallArgument &a : arguments) {
    Json one = Json::object();
    one["name"] = a.name;
    one["type"] = a.type;
    one["doc"] = a.doc.view();
    j["arguments"].push_back(std::move(one));
  }
  const bool taken = std::ranges::find(taken_off, true) != taken_off.end();
  j["mask"] = text(mask.words, taken ? ". As in Keras 3.15.1, calls that run after it find none on its inputs: a sum "
                                       "of input and output has none"
                                     : "");
  return j;
}

}  // namespace dl4::kinds

// The facts of a layer as JSON.
#include "kinds/layers/core/facts.hpp"

namespace dl4::kinds {
namespace {

Json ports(const std::vector<Port> &list) {
  Json j = Json::array();
  for (const Port &p : list) {
    Json one = Json::object();
    one["name"] = p.name;
    one["shape"] = p.shape;
    if (p.condition) one["if"] = p.condition;
    j.push_back(std::move(one));
  }
  return j;
}

}  // namespace

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
    one["doc"] = a.doc;
    j["arguments"].push_back(std::move(one));
  }
  j["mask"] = mask;
  return j;
}

}  // namespace dl4::kinds

// Configs and options as the core reads them.
#pragma once

#include <span>
#include <vector>

#include "border.hpp"
#include "kinds/field.hpp"

namespace dl4::capi {

// The text of a JSON object; NULL is an empty one.
Json json_object(const char *json, const char *argument);
inline Json json_options(const char *options) { return json_object(options, "options"); }
// The same into an O with fields(kinds::Fields &).
template <class O>
O read_options(const char *options) {
  O o;
  kinds::read_fields(o, json_options(options));
  return o;
}
// The options of a call by its name, as the registry lists attributes, from the list that parses them; null if it takes
// none.
Json options_of(std::string_view function);
Json describe_context_options();
Json describe_custom_options();
Json describe_check_options();
Json describe_session_options();
Json describe_stream_options();
Json describe_next_options();
Json describe_fork_options();
Json describe_load_options();
Json describe_load_weights_options();
Json describe_save_options();
Json describe_callback_options();
// A config with the models that refs has for it.
struct Config {
  Json attributes;
  std::vector<GivenModel> models;
};
Config config_of(const char *text, const dl4_refs *refs);
// The arguments of a call, with the nodes that refs has for it.
graph::Arguments call_arguments(const char *call, const dl4_refs *refs);
// For a function that takes no config, or makes no call.
void refuse_models(const dl4_refs *refs);
void refuse_nodes(const dl4_refs *refs);
// The ABI's numbers as a graph's ids: the graph refuses those that it does not have.
std::vector<graph::Node> nodes_of(std::span<const dl4_node> numbers);

}  // namespace dl4::capi

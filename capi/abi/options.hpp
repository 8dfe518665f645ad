// Parses configs and options for the core.
#pragma once

#include <span>
#include <vector>

#include "border.hpp"
#include "kinds/field.hpp"

namespace dl4::capi {

// Parses a JSON object; NULL is an empty one.
Json json_object(const char *json, const char *argument);
inline Json json_options(const char *options) { return json_object(options, "options"); }
// The same into an O with fields(kinds::Fields &).
template <class O>
O read_options(const char *options) {
  O o;
  kinds::read_fields(o, json_options(options));
  return o;
}
// A function's options, listed like attributes in the registry by the code that parses them; null if it has none.
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
// Call arguments with the nodes that refs has for them.
graph::Arguments call_arguments(const char *call, const dl4_refs *refs);
// For functions that take no config, or make no call.
void refuse_models(const dl4_refs *refs);
void refuse_nodes(const dl4_refs *refs);
// Converts node numbers; the graph refuses unknown ones.
std::vector<graph::Node> nodes_of(std::span<const dl4_node> numbers);

}  // namespace dl4::capi

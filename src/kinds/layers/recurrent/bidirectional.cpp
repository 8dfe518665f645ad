// Bidirectional: a recurrent layer forwards and one backwards in time.
#include "base/error.hpp"
#include "kinds/inner_layer.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"

namespace dl4::kinds {
namespace {

// Attributes that both layers must have, as recurrent layers do.
constexpr const char *direction = "go_backwards";
constexpr const char *common[] = {"stateful", "return_sequences", "return_state"};

bool flag_of(const InnerLayer &layer, const char *key) { return layer->config()[key].get<bool>(); }

struct Bidirectional : Layer {
  static constexpr const char *doc =
      "A recurrent layer over (batch, time, features) in both directions, the outputs merged. The halves are named "
      "forward_ and backward_; under a mask with return_sequences the output of a masked step is 0.";
  enum class Merge { concat, sum, mul, ave, none };
  InnerLayer layer, backward_layer;
  Merge merge_mode = Merge::concat;

  void fields(Fields &f) override {
    f("layer", layer)
        .required(R"({"class_name": "LSTM", "config": {"units": 4}})")
        .doc("the recurrent layer, an LSTM for example");
    f("merge_mode", merge_mode, {"concat", "sum", "mul", "ave"})
        .null_means(Merge::none)
        .doc("what becomes of the two outputs; null: both stay, the forward one first");
    f("backward_layer", backward_layer)
        .doc("the layer of the other direction; null: one like `layer`, with go_backwards");
  }
  Facts facts() const override {
    const bool alone = !layer || by_sample(*layer.kind);
    return PlainFacts{
        .inputs = {{"x", "(B, T, I)"}},
        .outputs = {{"y", text(alone ? "(B, ...)" : "(...)",
                               " as of the inner layer; with concat its last axis is twice as long")},
                    {"y_backward", "(B, ...) as of the backward layer", "merge_mode null"},
                    {"states", "(B, ...) of the forward layer, then of the backward one", "return_state"}},
        .weights = {{"weights", "those of the forward layer, then those of the backward one"}},
        .arguments = {mask_argument,
                      {"initial_state", "tensors", "those of the forward layer, then those of the backward one"}},
        .inside = {{"layer", "forward_layer"}, {"backward_layer", "backward_layer"}},
        .mask = mask_of_run};
  }

  void check() override {
    need_recurrent("layer", layer);
    layer = named("forward_", layer, Json::object());
    if (backward_layer) {
      need_recurrent("backward_layer", backward_layer);
      backward_layer = with_zeros(backward_layer, backward_layer.name, Json::object());
    } else {
      backward_layer = layer;
      backward_layer.name = without("forward_", layer.name);
      backward_layer = named("backward_", backward_layer, {{direction, true}});
    }
    if (flag_of(layer, direction) == flag_of(backward_layer, direction))
      refuse_attribute("backward_layer", "expected another go_backwards than of the forward layer, got ",
                       Json(flag_of(backward_layer, direction)).shown(), " of both");
    for (const char *key : common)
      if (flag_of(layer, key) != flag_of(backward_layer, key))
        refuse_attribute("backward_layer", "expected ", key, " as of the forward layer, ",
                         Json(flag_of(layer, key)).shown(), ", got ", Json(flag_of(backward_layer, key)).shown());
  }

  std::vector<Symbol> call(Call &c) const override {
    const auto states = c.symbols("initial_state");
    const size_t half = states.size() / 2;
    const auto run = [&](const InnerLayer &inner, std::span<const Symbol> from) {
      Arguments arguments;
      if (const auto mask = c.symbols("mask"); !mask.empty()) arguments.symbols["mask"] = {mask.begin(), mask.end()};
      if (!states.empty()) arguments.symbols["initial_state"] = {from.begin(), from.end()};
      return c.run(inner, c.in, arguments);
    };
    std::vector<Symbol> forward = run(layer, states.first(half)), backward = run(backward_layer, states.subspan(half));
    const ops::Id mask = forward[0].mask;
    if (flag_of(layer, "return_sequences")) backward[0].value = ops::flip(c.e, backward[0].value, 1);
    std::vector<Symbol> out;
    if (merge_mode == Merge::none)
      out = {{forward[0].value, mask}, {backward[0].value, mask}};
    else
      out = {{merged(c.e, forward[0].value, backward[0].value), mask}};
    out.insert(out.end(), forward.begin() + 1, forward.end());
    out.insert(out.end(), backward.begin() + 1, backward.end());
    return out;
  }

 private:
  static void need_recurrent(const char *key, const InnerLayer &inner) {
    if (!inner) refuse_attribute(key, "expected a recurrent layer, got null");
    const Json config = inner->config();
    if (!config.contains(direction)) refuse_attribute(key, "expected a recurrent layer, got ", inner->entry().name);
  }
  static std::string without(const std::string &prefix, const std::string &name) {
    return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
  }
  static InnerLayer named(const std::string &prefix, const InnerLayer &inner, const Json &changes) {
    return with_zeros(inner, prefix + without(prefix, inner.name), changes);
  }
  // Forced by Keras.
  static InnerLayer with_zeros(const InnerLayer &inner, const std::string &new_name, Json changes) {
    const Json config = inner->config();
    if (config.contains("zero_output_for_mask")) changes["zero_output_for_mask"] = config["return_sequences"];
    return inner.with(new_name, changes);
  }
  ops::Id merged(ops::Emit &e, ops::Id a, ops::Id b) const {
    switch (merge_mode) {
      case Merge::concat:
        return ops::concat(e, {a, b}, -1);
      case Merge::sum:
        return ops::add(e, a, b);
      case Merge::mul:
        return ops::mul(e, a, b);
      default:
        return ops::scale(e, ops::add(e, a, b), 0.5f);
    }
  }
};

}  // namespace
DL4_KINDS(bidirectional, Bidirectional)
}  // namespace dl4::kinds

// Wrappers over time. Bidirectional: a layer forwards and backwards. TimeDistributed: a layer at every step.
#include "base/error.hpp"
#include "kinds/inner_layer.hpp"
#include "kinds/layers/core/masks.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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
    f("layer", layer, "the recurrent layer, an LSTM for example")
        .required(R"({"class_name": "LSTM", "config": {"units": 4}})");
    f("merge_mode", merge_mode, {"concat", "sum", "mul", "ave"},
      "what becomes of the two outputs; null: both stay, the forward one first")
        .null_means(Merge::none);
    f("backward_layer", backward_layer, "the layer of the other direction; null: one like `layer`, with go_backwards");
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

// Limit for unrolling the steps.
constexpr int64_t most_steps = 10000;

// Detects layers that need a call per step: random numbers, penalties or moving statistics of each step.
class Probe final : public Host {
 public:
  explicit Probe(ops::Emit &e) : e_(e) {}
  Id weight(const WeightSpec &spec) override { return e_.state(spec.name, spec.dtype, spec.shape); }
  uint64_t random_seed(std::optional<int64_t>) override { return 0; }
  Id draws() override {
    by_step = true;
    return e_.state("draws", DType::i64, {});
  }
  void add_loss(Id) override { by_step = true; }
  void write(const std::string &, Id) override { by_step = true; }
  Id carried(const std::string &name, const Shape &shape, bool stateful) override {
    by_step |= stateful;
    return stateful ? e_.state(name, DType::f32, shape) : ops::none;
  }
  bool trainable(const std::string &) const override { return true; }

  bool by_step = false;

 private:
  ops::Emit &e_;
};

bool known(const Shape &s, int from) {
  for (int i = from; i < s.rank(); ++i)
    if (s[i] == free_dim) return false;
  return true;
}

Shape tail(const Shape &s, int from, std::initializer_list<int64_t> before) {
  std::vector<int64_t> dims(before);
  for (int i = from; i < s.rank(); ++i) dims.push_back(s[i]);
  return Shape(dims);
}

struct TimeDistributed : Layer {
  static constexpr const char *doc =
      "A layer at every time step of (batch, time, ...), with the same weights. As in Keras each step is a call: "
      "dropout draws anew at each, normalization sees the steps apart; activity penalties of the layer are left out.";
  InnerLayer layer;

  void fields(Fields &f) override {
    f("layer", layer, "the layer for one step, of one input")
        .required(R"({"class_name": "Dense", "config": {"units": 4}})");
  }
  Facts facts() const override {
    const bool alone = !layer || by_sample(*layer.kind);
    return PlainFacts{.inputs = {{"x", alone ? "(B, T, ...)" : "(...), of them T the second"}},
                      .outputs = {{"y", alone ? "(B, T, ...)" : "(...)"}},
                      .weights = {{"weights", "those of the inner layer"}},
                      .arguments = {{"mask", "tensor", "bool (B, T, ...); each step gets its part"}},
                      .inside = {{"layer", "layer"}},
                      .mask = "used by the inner layer; passed on where it has no more axes than the output"};
  }

  void check() override {
    layer.penalized = layer.carries = false;
    const Json config = layer ? layer->config() : Json::object();
    if (const Json *q = config.find("quantization"); q && !q->is_null())
      unsupported_attribute("layer", "a quantized layer is not supported here: Keras calls it without its scales");
    if (layer && layer->arity().least <= 1) return;
    refuse_attribute(
        "layer", "expected a layer of one input, got " + (layer ? layer->entry().name.c_str() : std::string("null")));
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 3);
    Id mask = mask_as_given(c);
    if (mask != ops::none && (c.e.rank(mask) < 2 || !compatible(c.e.shape(mask).first(2), c.shape().first(2))))
      fail(Code::shape_mismatch, "\"mask\": expected shape (batch, time, ...), got ", c.e.shape(mask),
           " for input 0 with shape ", c.shape());
    const Id y = one_call_does(c) ? at_once(c) : step_by_step(c);
    const auto fits = [&] {
      return c.e.rank(mask) <= c.e.rank(y) && compatible(c.e.shape(mask), c.e.shape(y).first(c.e.rank(mask)));
    };
    // A mask with more axes than the output says nothing about it; axes of size 1 carry no information.
    while (mask != ops::none && !fits() && c.e.rank(mask) > 2 && c.e.shape(mask).last() == 1)
      mask = ops::squeeze(c.e, mask, -1);
    return {{y, mask != ops::none && fits() ? mask : ops::none}};
  }

 private:
  // Step t of x and of its mask.
  Symbol step_of(Call &c, int64_t t) const {
    const auto at = [&](Id x) { return ops::squeeze(c.e, ops::slice(c.e, x, 1, t, 1), 1); };
    return {at(c.x()), mask_as_given(c) == ops::none ? ops::none : at(mask_as_given(c))};
  }
  bool one_call_does(Call &c) const {
    if (!by_sample(*layer.kind) || !known(c.shape(), 2)) return false;
    if (mask_as_given(c) != ops::none && !known(c.e.shape(mask_as_given(c)), 2)) return false;
    ops::Program program;
    ops::Emit e(program);
    Probe probe(e);
    const Shape s = c.shape();
    Symbol x{e.input("x", c.e.dtype(c.x()), tail(s, 2, {free_dim})), ops::none};
    if (mask_as_given(c) != ops::none)
      x.mask = e.input("mask", DType::boolean, tail(c.e.shape(mask_as_given(c)), 2, {free_dim}));
    const Arguments none;
    Call inside(e, probe, {x}, none, c.training());
    const Symbol y = single(inside.run(layer, {x}));
    return !probe.by_step && e.rank(y.value) >= 1 && known(e.shape(y.value), 1);
  }

  // The steps as samples.
  Id at_once(Call &c) const {
    const Shape s = c.shape();
    Symbol x{ops::reshape(c.e, c.x(), 0, tail(s, 2, {-1})), ops::none};
    if (mask_as_given(c) != ops::none)
      x.mask = ops::reshape(c.e, mask_as_given(c), 0, tail(c.e.shape(mask_as_given(c)), 2, {-1}));
    const Id y = single(c.run(layer, {x})).value;
    const Shape out = c.e.shape(y);
    if (s[1] > 0) return ops::reshape(c.e, y, 0, tail(out, 1, {-1, s[1]}));
    return ops::reshape_like(c.e, y, ops::fill(c.e, c.e.dtype(y), 0, c.x(), 2, tail(out, 1, {})));
  }

  Id step_by_step(Call &c) const {
    const Shape s = c.shape();
    if (s[1] == free_dim || s[1] < 1 || s[1] > most_steps)
      throw Error(Code::unsupported, text("input 0: layer \"", layer.name,
                                          "\" is called for each step, so their number must be known, 1 to ",
                                          most_steps, ". Full shape received: ", s))
          .with("expected", text("1 to ", most_steps, " steps"));
    std::vector<Id> steps;
    for (int64_t t = 0; t < s[1]; ++t)
      steps.push_back(ops::expand_dims(c.e, single(c.run(layer, {step_of(c, t)})).value, 1));
    return ops::concat(c.e, std::move(steps), 1);
  }

  Symbol single(const std::vector<Symbol> &out) const {
    if (out.size() != 1)
      refuse_attribute("layer", "expected a layer of one output, \"", layer.name, "\" has ", out.size());
    return out[0];
  }
};

}  // namespace

DL4_KINDS(bidirectional, Bidirectional, TimeDistributed)

}  // namespace dl4::kinds

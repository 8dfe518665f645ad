// TimeDistributed: applies a layer to every time step, with shared weights.
#include "base/error.hpp"
#include "kinds/inner_layer.hpp"
#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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
    f("layer", layer)
        .required(R"({"class_name": "Dense", "config": {"units": 4}})")
        .doc("the layer for one step, of one input");
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
DL4_KINDS(time_distributed, TimeDistributed)
}  // namespace dl4::kinds

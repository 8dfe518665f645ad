// A layer's facts as JSON.
// Masks, and Masking, which makes one.

#include <cmath>

#include "kinds/layers/core/masks.hpp"

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

namespace {

using ops::Emit, ops::Id;

struct Masking : LayerOf<Masking> {
  static constexpr const char *doc = "Masks the steps whose features all equal mask_value, and sets them to 0.";
  double mask_value = 0;

  void fields(Fields &f) override { f("mask_value", mask_value, "what every feature of a masked step equals"); }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, T, ...)"}}, .outputs = {{"y", "(B, T, ...)"}}, .mask = "made"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    if (c.e.dtype(c.x()) == DType::boolean) c.need_float(0);
    // A fractional value equals no integer.
    const ops::Id x = mask_value == std::floor(mask_value) ? c.x() : ops::cast(c.e, c.x(), DType::f32);
    ops::Id other = ops::binary(c.e, ops::Binary::not_equal, x, c.e.scalar(mask_value, c.e.dtype(x)));
    ops::Id valid = any(c.e, other, -1, false);
    return {{where_valid(c.e, valid, c.x(), 0), valid}};
  }
};

struct SetMask : LayerOf<SetMask> {
  static constexpr const char *doc = "The first input with the second as its mask, in place of the one it carries.";

  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, T, ...)"}, {"mask", "(B, T), or other first axes of x; 0 or false: masked"}},
      .outputs = {{"x", "(B, T, ...)"}},
      .mask = "the second input"};
  Arity arity() const override { return {2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    const Shape mask = c.shape(1), x = c.shape(0);
    if (mask.rank() < 1 || mask.rank() > x.rank() || !compatible(mask, x.first(mask.rank())))
      fail(Code::shape_mismatch, "mask: expected the first axes of x with shape ", x, ", got ", mask);
    return {{c.x(0), ops::cast(c.e, c.x(1), DType::boolean)}};
  }
};

struct SetLengths : LayerOf<SetLengths> {
  static constexpr const char *doc =
      "The first input with a mask of lengths, in place of the one it carries: the first n steps of a sample are "
      "valid, n being its number in the second input. None are where it is 0 or less, all where it is T or more.";

  static constexpr PlainFacts plain{.inputs = {{"x", "(B, T, ...)"}, {"lengths", "(B), int32 or int64"}},
                                    .outputs = {{"x", "(B, T, ...)"}},
                                    .mask = "(B, T), by the lengths"};
  Arity arity() const override { return {2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.need_rank(1, 1);
    const DType given = c.e.dtype(c.x(1));
    if (given != DType::i32 && given != DType::i64)
      fail(Code::invalid_argument, "input 1: expected int32 or int64, got ", given);
    if (!compatible(c.shape(1), c.shape().first(1)))
      fail(Code::shape_mismatch, "input 1: expected shape ", c.shape().first(1), ", got ", c.shape(1));
    const ops::Id lengths = ops::expand_dims(c.e, ops::cast(c.e, c.x(1), DType::i64), 1);
    return {{c.x(), ops::binary(c.e, ops::Binary::less, ops::indices(c.e, c.x(), 1), lengths)}};
  }
};

struct GetMask : Layer {
  static constexpr const char *doc = "The mask that the input carries, as a value; an input without one is refused.";

  Facts facts() const override {
    Facts facts = PlainFacts{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"mask", "the first axes of x, bool"}}};
    facts.mask.noted = true;
    return facts;
  }

  std::vector<Symbol> call(Call &c) const override {
    if (c.mask() == ops::none) fail(Code::invalid_argument, "expected an input with a mask, got one without");
    return {{c.mask()}};
  }
};

}  // namespace

Id spread(Emit &e, Id mask, int rank) {
  while (e.rank(mask) < rank) mask = ops::expand_dims(e, mask, -1);
  return mask;
}

Id where_valid(Emit &e, Id mask, Id x, double v) {
  if (mask == ops::none) return x;
  return ops::select(e, spread(e, mask, e.rank(x)), x, e.scalar(v, e.dtype(x)));
}

Id given_for(Emit &e, Id mask, Id x) {
  mask = ops::cast(e, mask, DType::boolean);
  const Shape s = e.shape(mask), of = e.shape(x);
  if (s.rank() == 0 || (s[0] == of[0] && s[0] != free_dim)) return mask;
  return both(e, mask, spread(e, ops::fill(e, DType::boolean, 1, x, 1, {}), s.rank()));
}

bool is_mask_of(const Shape &mask, const Shape &x) {
  if (mask.rank() > x.rank()) return false;
  return compatible(mask.rank() > 0 && mask[0] == 1 ? mask.with(0, x[0]) : mask, x.first(mask.rank()));
}

Id mask_as_given(Call &c) {
  const auto given = c.symbols("mask");
  if (given.empty() || given[0].value == ops::none) return given.empty() ? c.in[0].mask : ops::none;
  return ops::cast(c.e, given[0].value, DType::boolean);
}

Id any(Emit &e, Id mask, int axis, bool keepdims) { return ops::reduce(e, ops::Reduce::max, mask, {axis}, keepdims); }

ops::Id both(ops::Emit &e, ops::Id mask, ops::Id other) {
  if (mask == ops::none) return other;
  return other == ops::none ? mask : binary(e, ops::Binary::logical_and, mask, other);
}

Id any_of(Emit &e, const std::vector<Id> &masks) {
  Id all = masks[0];
  for (size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] == ops::none || e.rank(masks[i]) != e.rank(masks[0])) return ops::none;
    if (i > 0) all = ops::binary(e, ops::Binary::logical_or, all, masks[i]);
  }
  return all;
}

DL4_KINDS(masking, Masking, GetMask, SetLengths, SetMask)

}  // namespace dl4::kinds

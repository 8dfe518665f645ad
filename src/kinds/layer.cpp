// Checks of layer calls, with Keras's messages, and call arguments.
#include "kinds/layer.hpp"

#include <iterator>

#include "base/cpu.hpp"
#include "base/error.hpp"
#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

[[noreturn]] void incompatible(int i, const std::string &what, const Shape &got) {
  fail(Code::shape_mismatch, "input ", i, " is incompatible with the layer: ", what, ". Full shape received: ", got);
}

}  // namespace

namespace {

[[noreturn]] void refuse_inside() {
  fail(Code::unsupported, "weights of the graph are read and assigned in the graph itself, not inside of a layer");
}

}  // namespace

ops::Id Host::graph_weight(const std::string &) { refuse_inside(); }
void Host::assign(int, ops::Id) { refuse_inside(); }

void Arity::check(size_t inputs) const {
  const auto n = static_cast<int>(inputs);
  if (n < least || n > most)
    fail(Code::invalid_argument, "expected ", least,
         least == most        ? ""
         : most == any_number ? " or more"
                              : text(" to ", most),
         least == 1 && most == 1 ? " input" : " inputs", ", got ", n);
}

bool rounds(const ops::Emit &e, const std::string &layer) {
  if (e.mixed != ops::Emit::Mixed::missing) return e.mixed == ops::Emit::Mixed::yes;
  throw Error(Code::unsupported, text("layer \"", layer,
                                      "\": \"dtype\": expected a processor with AVX512_BF16, or the context's option "
                                      "\"emulate_bfloat16\", to train in mixed_bfloat16, got ",
                                      cpu::name(), " (", cpu::isa(), ')'))
      .with("layer", layer)
      .with("attribute", "dtype");
}

ops::Id Call::mask(int i) const {
  auto given = symbols("mask");
  if (given.empty()) return in[static_cast<size_t>(i)].mask;
  if (static_cast<size_t>(i) >= given.size()) return ops::none;
  ops::Id m = given[static_cast<size_t>(i)].value;
  if (m == ops::none) return m;
  const Shape s = e.shape(m), value = shape(i);
  if (!is_mask_of(s, value))
    fail(Code::shape_mismatch, "\"mask\": expected the first axes of input ", i, " with shape ", value, ", got ", s);
  return given_for(e, m, x(i));
}

bool Call::training() const { return flag("training", training_); }

bool Call::flag(const std::string &key, bool fallback) const {
  const Json *given = arguments_.plain.find(key);
  if (!given || given->is_null()) return fallback;
  try {
    return from_json<bool>(*given);
  } catch (Error &error) {
    throw error.with("argument", key).in("\"" + key + "\"");
  }
}

std::span<const Symbol> Call::symbols(const std::string &key) const {
  auto it = arguments_.symbols.find(key);
  if (it == arguments_.symbols.end()) return {};
  return it->second;
}

void Call::penalize(const Of<Regularizer> &regularizer, ops::Id output) {
  if (!regularizer) return;
  ops::Id penalty = regularizer->penalty(e, output);
  if (e.rank(output) > 0) {
    ops::Id batch = ops::reduce(e, ops::Reduce::sum, ops::fill(e, DType::f32, 1, output, 1, {}), {});
    // No penalty for an empty batch, instead of 0 / 0.
    penalty = ops::div(e, penalty, ops::binary(e, ops::Binary::max, batch, e.scalar(1)));
  }
  host.add_loss(penalty);
}

int64_t Call::last_dim(int i) const {
  need_rank_from(i, 1);
  if (shape(i).last() == free_dim)
    fail(Code::shape_mismatch, "the last dimension of input ", i, " should be known. Full shape received: ", shape(i));
  return shape(i).last();
}

void Call::need_rank(int i, int rank) const {
  if (shape(i).rank() != rank)
    incompatible(i, text("expected ndim=", rank, ", found ndim=", shape(i).rank()), shape(i));
}

void Call::need_rank_from(int i, int rank) const {
  if (shape(i).rank() < rank)
    incompatible(i, text("expected min_ndim=", rank, ", found ndim=", shape(i).rank()), shape(i));
}

void Call::need_float(int i) const {
  if (e.dtype(x(i)) != DType::f32)
    fail(Code::invalid_argument, "input ", i,
         " is incompatible with the layer: expected dtype=float32, found dtype=", e.dtype(x(i)));
}

void Call::need_strings(int i) const {
  if (e.dtype(x(i)) != DType::string)
    fail(Code::invalid_argument, "input ", i, ": expected strings, got ", e.dtype(x(i)));
}

void Call::as_float(int i) {
  Symbol &s = in[static_cast<size_t>(i)];
  s.value = ops::cast(e, s.value, DType::f32);
}

void Call::join_types() {
  DType type = e.dtype(x());
  for (const Symbol &s : in) type = joined_type(type, e.dtype(s.value));
  for (Symbol &s : in) s.value = ops::cast(e, s.value, type);
}

DType joined_type(DType a, DType b) {
  if (a == DType::string && b == a) return a;
  constexpr DType ascending[] = {DType::boolean, DType::u8, DType::i32, DType::i64, DType::f32};
  const auto *place = std::max(std::find(std::begin(ascending), std::end(ascending), a),
                               std::find(std::begin(ascending), std::end(ascending), b));
  return place == std::end(ascending) ? DType::f32 : *place;
}

}  // namespace dl4::kinds

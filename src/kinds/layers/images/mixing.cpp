// Parts of images, several images, and several changes.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/layers/images/augmentation.hpp"
#include "ops/flow.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::Reduce;
using ops::Unary;

// Rectangles of parts (B, 1, 1, 1) of the height and the width, at random places: bool (B, H, W, 1).
Id rectangles(const Changing &c, Id x, Id of_width, Id of_height) {
  Emit &e = c.e;
  const Shape images = e.shape(x);
  const auto inside = [&](int axis, Id part) {
    const auto n = static_cast<double>(images[axis]);
    const Id length = ops::scale_shift(e, part, n, 0);
    const Id begin = ops::mul(e, c.draws.each(0, 1), ops::scale_shift(e, length, -1, n));
    const Tensor places = make_tensor(DType::f32, axis == 1 ? Shape{1, images[1], 1, 1} : Shape{1, 1, images[2], 1});
    for (int64_t i = 0; i < places.elements(); ++i) places.as<float>()[i] = static_cast<float>(i);
    const Id at = e.constant(places);
    return ops::binary(e, Binary::logical_and, ops::binary(e, Binary::greater_equal, at, begin),
                       ops::binary(e, Binary::less, at, ops::add(e, begin, length)));
  };
  const Id along = inside(2, of_width);
  return ops::binary(e, Binary::logical_and, along, inside(1, of_height));
}

// The changes that RandAugment and AugMix choose from; those of colours, which not all of AugMix has, are last.
constexpr const char *changes[] = {"RandomShear",    "RandomTranslation",   "RandomRotation",
                                   "Solarization",   "RandomPosterization", "AutoContrast",
                                   "Equalization",   "RandomBrightness",    "RandomColorDegeneration",
                                   "RandomContrast", "RandomSharpness"};
constexpr int64_t without_colours = 7, with_colours = std::size(changes);

Json config_of(const Changing &c, std::string_view kind) {
  const Range factor = c.range("factor");
  const Json both = Json::array({factor.low, factor.high}), &between = c.at("interpolation");
  Json config = Json::object();
  if (kind == "RandomShear") return {{"x_factor", both}, {"y_factor", both}, {"interpolation", between}};
  if (kind == "RandomTranslation") return {{"height_factor", both}, {"width_factor", both}, {"interpolation", between}};
  if (kind == "RandomRotation") return {{"factor", both}, {"interpolation", between}};
  config["value_range"] = c.at("value_range");
  if (kind == "RandomPosterization")
    config["factor"] = std::max<int64_t>(1, static_cast<int64_t>(8 * factor.high));
  else if (kind == "Solarization")
    config["addition_factor"] = both, config["threshold_factor"] = both;
  else if (kind != "AutoContrast" && kind != "Equalization")
    config["factor"] = both;
  return config;
}

// The change of that number, a float32 scalar; none past the last. A run computes that one alone.
Id chosen(const Changing &c, Id x, Id which, int64_t count) {
  Emit &e = c.e;
  for (int64_t i = 0; i < count; ++i) {
    ops::BodyWriter then(e), otherwise(e);
    const Id inside = then.constant(x);
    Draws draws = c.draws.within(then, inside);
    const Id changed = Changing{then.body, c.c, draws, c.layer}.by(changes[i], config_of(c, changes[i]), inside);
    const Id flag = ops::binary(e, Binary::equal, which, e.scalar(static_cast<double>(i)));
    x = ops::branch(e, flag, then, {changed}, otherwise, {otherwise.constant(x)})[0];
  }
  return x;
}

Id number_below(const Changing &c, int64_t count) {
  return ops::unary(c.e, Unary::floor, c.draws.one(0, static_cast<double>(count)));
}

// a w + b (1 - w)
Id mix(Emit &e, Id w, Id a, Id b) {
  return ops::add(e, ops::mul(e, w, a), ops::mul(e, ops::scale_shift(e, w, -1, 1), b));
}

}  // namespace

Id erased(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range often = c.range("factor"), scale = c.range("scale"), values = c.range("value_range");
  const auto part = [&] { return ops::unary(e, Unary::sqrt, c.draws.each(scale.low, scale.high)); };
  const Id of_width = part(), of_height = part(), inside = rectangles(c, x, of_width, of_height);
  const Id limit = c.draws.each(often.low, often.high), chance = c.draws.each(0, 1);
  const Id erases = ops::binary(e, Binary::logical_and, inside, ops::binary(e, Binary::less, chance, limit));
  const Json &given = c.at("fill_value");
  Id fill;
  if (given.is_null()) {
    fill = ops::scale_shift(e, c.draws.normal(), c.at("value_range")[1].get<double>(), 0);
  } else if (given.is_array()) {
    if (e.shape(x).last() != 3)
      fail(Code::shape_mismatch, "expected images of 3 channels for three \"fill_value\", got ", e.shape(x));
    const Tensor three = make_tensor(DType::f32, {3});
    for (size_t i = 0; i < 3; ++i) three.as<float>()[i] = static_cast<float>(given[i].get<double>());
    fill = e.constant(three);
  } else {
    fill = e.scalar(given.get<double>());
  }
  fill = ops::clip(e, fill, values.low, values.high);
  return ops::select(e, erases, fill, x);
}

Id mixed(const Changing &c, Id x) {
  Emit &e = c.e;
  const Id other = ops::gather(e, x, c.draws.order());
  return mix(e, c.draws.beta(e.scalar(c.number("alpha")), true), x, other);
}

Id cut_and_mixed(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range factor = c.range("factor");
  const Id alpha = ops::scale_shift(e, c.draws.one(factor.low, factor.high), 1, 1e-6);
  const Id ratio = ops::unary(e, Unary::sqrt, ops::scale_shift(e, c.draws.beta(alpha, true), -1, 1));
  const Id inside = rectangles(c, x, ratio, ratio);
  return ops::select(e, inside, ops::gather(e, x, c.draws.order()), x);
}

Id by_chosen(const Changing &c, Id x) {
  const auto count = c.at("num_ops").get<int64_t>();
  for (int64_t i = 0; i < count; ++i) x = chosen(c, x, number_below(c, with_colours), with_colours);
  return x;
}

Id by_chains(const Changing &c, Id x) {
  Emit &e = c.e;
  const int64_t count = c.at("all_ops").get<bool>() ? with_colours : without_colours;
  const auto chains = c.at("num_chains").get<int64_t>(), depth = c.at("chain_depth").get<int64_t>();
  const Id shares = c.draws.dirichlet(c.number("alpha"), chains);
  const Id share = c.draws.beta(e.scalar(c.number("alpha")), false);
  Id all = ops::none;
  for (int64_t i = 0; i < chains; ++i) {
    Id y = x;
    for (int64_t k = 0; k < depth; ++k) y = chosen(c, y, number_below(c, count + 1), count);
    y = ops::mul(e, y, ops::slice(e, shares, 0, i, 1));
    all = all == ops::none ? y : ops::add(e, all, y);
  }
  const Json &values = c.at("value_range");
  return ops::clip(e, mix(e, share, x, all), values[0].get<double>(), values[1].get<double>());
}

}  // namespace dl4::kinds

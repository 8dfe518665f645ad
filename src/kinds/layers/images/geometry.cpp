// Where the pixels of images come from.
// Parts of images, several images, and several changes.
#include <cmath>

#include "kinds/layers/conv/sampling.hpp"
#include "kinds/layers/images/augmentation.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Reduce, ops::Unary;

// 0, 1, ... along an axis of (1, H, W).
Id places(Emit &e, const Shape &images, int axis) {
  const int64_t n = images[axis];
  const Tensor t = make_tensor(DType::f32, axis == 1 ? Shape{1, n, 1} : Shape{1, 1, n});
  for (int64_t i = 0; i < n; ++i) t.as<float>()[i] = static_cast<float>(i);
  return e.constant(t);
}

// x at the places (ys, xs), (B, H, W).
Id moved(const Changing &c, Id x, Id ys, Id xs, bool constant) {
  Emit &e = c.e;
  const Shape images = e.shape(x);
  const Outside outside = constant || c.says("fill_mode", "constant") ? Outside::zeros
                          : c.says("fill_mode", "nearest")            ? Outside::border
                          : c.says("fill_mode", "wrap")               ? Outside::wrap
                                                                      : Outside::reflection;
  const Between between = c.says("interpolation", "nearest") ? Between::nearest_up : Between::linear;
  const double fill = outside == Outside::zeros ? c.number("fill_value") : 0;
  const Id item = ops::reshape(e, ops::indices(e, x, 0), 1, {1, 1});
  if (fill != 0) x = ops::scale_shift(e, x, 1, -fill);
  const Id y = sampled(
      e, x, item, {taps(e, ys, images[1], between, outside, true), taps(e, xs, images[2], between, outside, true)});
  return fill != 0 ? ops::scale_shift(e, y, 1, fill) : y;
}

// Of the output's place (x, y) the input's: (a0 x + a1 y + a2, b0 x + b1 y + b2); each (B, 1, 1), none: 0.
struct Affine {
  Id a0 = ops::none, a1 = ops::none, a2 = ops::none, b0 = ops::none, b1 = ops::none, b2 = ops::none;
};

Id affine(const Changing &c, Id x, const Affine &m) {
  Emit &e = c.e;
  const Shape images = e.shape(x);
  const Id xs = places(e, images, 2), ys = places(e, images, 1);
  const auto place = [&](Id by_y, Id by_x, Id plus) {
    Id y = by_y == ops::none ? ops::none : ops::mul(e, ys, by_y);
    if (by_x != ops::none) y = y == ops::none ? ops::mul(e, xs, by_x) : ops::add(e, y, ops::mul(e, xs, by_x));
    return plus == ops::none ? y : ops::add(e, y, plus);
  };
  const Id grid = ops::fill(e, DType::f32, 0, x, 1, {images[1], images[2]});
  return moved(c, x, ops::add(e, place(m.b1, m.b0, m.b2), grid), ops::add(e, place(m.a1, m.a0, m.a2), grid), false);
}

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

Id flipped(const Changing &c, Id x) {
  const Id flips = ops::binary(c.e, Binary::less_equal, c.draws.each(0, 1), c.e.scalar(0.5));
  Id y = x;
  if (!c.says("mode", "vertical")) y = ops::select(c.e, flips, ops::flip(c.e, y, 2), y);
  if (!c.says("mode", "horizontal")) y = ops::select(c.e, flips, ops::flip(c.e, y, 1), y);
  return y;
}

Id cropped(const Changing &c, Id x) {
  Emit &e = c.e;
  const int64_t h = c.at("height").get<int64_t>(), w = c.at("width").get<int64_t>();
  const int64_t height = e.shape(x)[1], width = e.shape(x)[2];
  if (height > h && width > w) {
    for (const auto &[axis, all, part] : {std::tuple(1, height, h), std::tuple(2, width, w)}) {
      const Id start = ops::cast(e, c.draws.one(0, static_cast<double>(all - part + 1)), DType::i64);
      std::vector<int> first{axis};
      for (int i = 0; i < 4; ++i)
        if (i != axis) first.push_back(i);
      const Id ids = ops::add(e, start, ops::indices(e, ops::fill(e, DType::f32, 0, x, 0, {part}), 0));
      x = ops::gather(e, ops::transpose(e, x, first), ids);
      x = ops::transpose(e, x, axis == 1 ? std::vector<int>{1, 0, 2, 3} : std::vector<int>{1, 2, 0, 3});
    }
    return x;
  }
  // The middle, as far as there is one of that ratio.
  const auto middle = [](int64_t all, int64_t other, int64_t part, int64_t other_part) {
    const auto ratio =
        static_cast<int64_t>(static_cast<double>(other) * static_cast<double>(part) / static_cast<double>(other_part));
    return (all - std::max<int64_t>(std::min(all, ratio), 1)) / 2;
  };
  const int64_t top = middle(height, width, h, w), left = middle(width, height, w, h);
  x = ops::slice(e, x, 1, top, std::min(h, height - top));
  x = ops::slice(e, x, 2, left, std::min(w, width - left));
  return resized(c.c, x, h, w, Interpolation::bilinear, false);
}

Id rotated(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range turns = c.range("factor");
  constexpr double radians = 3.14159265358979323846 / 180;
  const Id angle = ops::scale_shift(e, c.draws.each(turns.low * 360, turns.high * 360, {1, 1}), radians, 0);
  const Id cos = ops::unary(e, Unary::cos, angle), sin = ops::unary(e, Unary::sin, angle);
  const Shape images = e.shape(x);
  const double cx = 0.5 * static_cast<double>(images[2] - 1), cy = 0.5 * static_cast<double>(images[1] - 1);
  const auto rest = [&](double from, Id a, Id b) {
    return ops::sub(e, ops::scale_shift(e, a, -cx, from), ops::scale_shift(e, b, cy, 0));
  };
  const Id minus = ops::unary(e, Unary::neg, sin);
  return affine(c, x, {cos, minus, rest(cx, cos, minus), sin, cos, rest(cy, sin, cos)});
}

Id zoomed(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range height = c.range("height_factor");
  const Id by_y = c.draws.each(1 + height.low, 1 + height.high, {1, 1});
  Id by_x = by_y;
  if (!c.at("width_factor").is_null()) {
    const Range width = c.range("width_factor");
    by_x = c.draws.each(1 + width.low, 1 + width.high, {1, 1});
  }
  const auto rest = [&](Id by, int64_t n) {
    return ops::scale_shift(e, ops::scale_shift(e, by, -1, 1), static_cast<double>(n - 1) / 2, 0);
  };
  const Shape images = e.shape(x);
  return affine(c, x, {by_x, ops::none, rest(by_x, images[2]), ops::none, by_y, rest(by_y, images[1])});
}

Id translated(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range height = c.range("height_factor"), width = c.range("width_factor");
  const Shape images = e.shape(x);
  const Id down =
      ops::scale_shift(e, c.draws.each(height.low, height.high, {1, 1}), -static_cast<double>(images[1]), 0);
  const Id right = ops::scale_shift(e, c.draws.each(width.low, width.high, {1, 1}), -static_cast<double>(images[2]), 0);
  const Id one = e.scalar(1);
  return affine(c, x, {one, ops::none, right, ops::none, one, down});
}

Id sheared(const Changing &c, Id x) {
  Emit &e = c.e;
  const Id way = ops::select(e, ops::binary(e, Binary::greater, c.draws.each(0, 1, {1, 1}), e.scalar(0.5)),
                             e.scalar(-1), e.scalar(1));
  const Range by_y = c.range("y_factor"), by_x = c.range("x_factor");
  const Id down = ops::mul(e, c.draws.each(by_y.low, by_y.high, {1, 1}), way);
  const Id right = ops::mul(e, c.draws.each(by_x.low, by_x.high, {1, 1}), way);
  const Id one = e.scalar(1);
  return affine(c, x, {one, right, ops::none, down, one, ops::none});
}

// By the projective map of the unit square to the corners that moved: places are those of its inverse. The corner
// (0, 0) stays, as in Keras.
Id in_perspective(const Changing &c, Id x) {
  Emit &e = c.e;
  const Shape images = e.shape(x);
  if (images[1] < 2 || images[2] < 2) fail(Code::shape_mismatch, "expected images of at least 2 x 2, got ", images);
  const double right = static_cast<double>(images[2] - 1), low = static_cast<double>(images[1] - 1);
  const Range often = c.range("factor");
  const Id limit = c.draws.each(often.low, often.high), chance = c.draws.each(0, 1);
  const double reach = 0.5 * c.range("scale").high;
  const auto corner = [&](double at) { return ops::scale_shift(e, c.draws.each(-reach, reach, {1, 1}), at, at); };
  const Id x1 = corner(right), y2 = corner(low), x3 = corner(right), y3 = corner(low);
  const auto times = [&](Id a, Id b) { return ops::mul(e, a, b); };
  // (0, 0), (x1, 0), (0, y2), (x3, y3)
  const Id dx1 = ops::sub(e, x1, x3), dx2 = ops::unary(e, Unary::neg, x3), sx = ops::sub(e, x3, x1);
  const Id dy1 = ops::unary(e, Unary::neg, y3), dy2 = ops::sub(e, y2, y3), sy = ops::sub(e, y3, y2);
  const Id all = ops::sub(e, times(dx1, dy2), times(dx2, dy1));
  const Id g = ops::div(e, ops::sub(e, times(sx, dy2), times(dx2, sy)), all);
  const Id h = ops::div(e, ops::sub(e, times(dx1, sy), times(sx, dy1)), all);
  const Id a = times(x1, ops::scale_shift(e, g, 1, 1)),
           d = times(y2, ops::scale_shift(e, h, 1, 1));  // x by u, y by v; the others are 0
  const Id xs = places(e, images, 2), ys = places(e, images, 1);
  const Id below = ops::sub(e, times(a, d), ops::add(e, times(xs, times(d, g)), times(ys, times(a, h))));
  const Id from_y = ops::div(e, ops::scale_shift(e, times(ys, a), low, 0), below);
  const Id from_x = ops::div(e, ops::scale_shift(e, times(xs, d), right, 0), below);
  return ops::select(e, ops::binary(e, Binary::less, chance, limit), moved(c, x, from_y, from_x, true), x);
}

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

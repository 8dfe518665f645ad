// The values of pixels.
#include <cmath>

#include "kinds/layers/images/augmentation.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::Reduce;
using ops::Unary;

constexpr Range bytes{0, 255}, unit{0, 1};

Id clipped(Emit &e, Id x, const Range &r) { return ops::clip(e, x, r.low, r.high); }
Id is(Emit &e, Binary how, Id a, Id b) { return ops::binary(e, how, a, b); }

using Planes = std::array<Id, 3>;

Planes planes(Emit &e, Id x) {
  return {ops::slice(e, x, -1, 0, 1), ops::slice(e, x, -1, 1, 1), ops::slice(e, x, -1, 2, 1)};
}
Id joined(Emit &e, const Planes &p) { return ops::concat(e, {p[0], p[1], p[2]}, -1); }

// As keras.ops.image.rgb_to_hsv.
Planes to_hsv(Emit &e, Id x) {
  const Id zero = e.scalar(0), one = e.scalar(1);
  const Id tiny = is(e, Binary::less, ops::unary(e, Unary::abs, x),
                     e.scalar(static_cast<double>(std::numeric_limits<float>::epsilon())));
  const Planes rgb = planes(e, ops::select(e, tiny, zero, x));
  const Id r = rgb[0], g = rgb[1], b = rgb[2];  // clang 14 captures no binding
  const auto of_both = [&](Binary how) { return is(e, how, is(e, how, r, g), b); };
  const Id value = of_both(Binary::max), range = ops::sub(e, value, of_both(Binary::min));
  const Id lit = is(e, Binary::greater, value, zero), coloured = is(e, Binary::greater, range, zero);
  const Id saturation = ops::select(e, lit, ops::div(e, range, ops::select(e, lit, value, one)), zero);
  const Id norm = ops::div(e, one, ops::scale_shift(e, ops::select(e, coloured, range, one), 6, 0));
  const auto sixth = [&](Id a, Id c, double plus) {
    return ops::scale_shift(e, ops::mul(e, norm, ops::sub(e, a, c)), 1, plus);
  };
  Id hue = ops::select(e, is(e, Binary::equal, value, g), sixth(b, r, 2.0 / 6), sixth(r, g, 4.0 / 6));
  hue = ops::select(e, is(e, Binary::equal, value, r), ops::mul(e, norm, ops::sub(e, g, b)), hue);
  const Id turned = ops::cast(e, is(e, Binary::less, hue, zero), DType::f32);
  return {ops::add(e, ops::select(e, coloured, hue, zero), turned), saturation, value};
}

Id from_hsv(Emit &e, const Planes &hsv) {
  const Id dh = ops::scale_shift(e, is(e, Binary::mod, hsv[0], e.scalar(1)), 6, 0),
           rest = ops::scale_shift(e, hsv[1], -1, 1);
  const auto away = [&](double from) { return ops::unary(e, Unary::abs, ops::scale_shift(e, dh, 1, -from)); };
  const auto plane = [&](Id share) {
    const Id coloured = ops::mul(e, hsv[1], clipped(e, share, unit));
    return ops::mul(e, hsv[2], ops::add(e, rest, coloured));
  };
  return joined(e, {plane(ops::scale_shift(e, away(3), 1, -1)), plane(ops::scale_shift(e, away(2), -1, 2)),
                    plane(ops::scale_shift(e, away(4), -1, 2))});
}

// Images of one channel as they are.
Id grey(Emit &e, Id x) {
  if (e.shape(x).last() == 1) return x;
  const auto [r, g, b] = planes(e, x);
  return ops::add(e, ops::add(e, ops::scale_shift(e, r, 0.2989, 0), ops::scale_shift(e, g, 0.5870, 0)),
                  ops::scale_shift(e, b, 0.1140, 0));
}

// A filter (KH, KW) of each channel, with zeros around.
Id filtered(Emit &e, Id x, Id filter) {
  const int64_t channels = e.shape(x).last();
  ops::Conv how;
  how.padding = ops::Padding::same;
  how.groups = channels;
  const Id each = ops::repeat(e, ops::expand_dims(e, ops::expand_dims(e, filter, -1), -1), -1, channels);
  return ops::conv(e, x, each, ops::none, how);
}

Id where_drawn(const Changing &c, Id changed, Id x) {
  const Range often = c.range("factor");
  const Id limit = c.draws.each(often.low, often.high), chance = c.draws.each(0, 1);
  return ops::select(c.e, is(c.e, Binary::less, chance, limit), changed, x);
}

}  // namespace

Id brightened(const Changing &c, Id x) {
  const Range factor = c.range("factor"), values = c.range("value_range");
  const Id plus = ops::scale_shift(c.e, c.draws.each(factor.low, factor.high), values.high - values.low, 0);
  return clipped(c.e, ops::add(c.e, x, plus), values);
}

Id contrasted(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range factor = c.range("factor");
  const Id by =
      c.draws.each(1 - factor.low, 1 + factor.high);  // both from the same end of a symmetric factor, as Keras
  const Id mean = ops::reduce(e, Reduce::mean, ops::reduce(e, Reduce::mean, x, {1}, true), {2}, true);
  const Json &values = c.at("value_range");  // as given
  return clipped(e, ops::add(e, ops::mul(e, ops::sub(e, x, mean), by), mean),
                 {values[0].get<double>(), values[1].get<double>()});
}

Id hue_turned(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range factor = c.range("factor"), values = c.range("value_range");
  const Id way = ops::select(e, is(e, Binary::greater, c.draws.each(0, 1), e.scalar(0.5)), e.scalar(-1), e.scalar(1));
  const Id by = ops::scale_shift(e, ops::mul(e, way, c.draws.each(factor.low, factor.high)), 0.5, 0);
  Planes hsv = to_hsv(e, in_range(e, x, values, unit));
  Id hue = ops::add(e, hsv[0], by);
  hue = ops::select(e, is(e, Binary::greater, hue, e.scalar(1)), ops::scale_shift(e, hue, 1, -1), hue);
  hsv[0] = ops::select(e, is(e, Binary::less, hue, e.scalar(0)), ops::scale_shift(e, hue, 1, 1), hue);
  return in_range(e, clipped(e, from_hsv(e, hsv), unit), unit, values);
}

Id saturated(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range factor = c.range("factor");
  const Id drawn = c.draws.each(factor.low, factor.high);
  constexpr double epsilon = 1e-7;
  const Id by = ops::div(e, drawn, ops::scale_shift(e, ops::scale_shift(e, drawn, -1, 1), 1, epsilon));
  Planes hsv = to_hsv(e, x);
  hsv[1] = clipped(e, ops::mul(e, hsv[1], by), c.range("value_range"));
  return from_hsv(e, hsv);
}

Id jittered(const Changing &c, Id x) {
  struct Part {
    const char *key, *kind;
    bool of_colours;
  };
  constexpr Part all[] = {{"brightness_factor", "RandomBrightness", false},
                          {"contrast_factor", "RandomContrast", false},
                          {"saturation_factor", "RandomSaturation", true},
                          {"hue_factor", "RandomHue", true}};
  for (const auto &[key, kind, of_colours] : all)
    if (!c.at(key).is_null()) {
      if (of_colours && c.e.shape(x).last() != 3)
        fail(Code::shape_mismatch, "expected images of 3 channels for \"", key, "\", got ", c.e.shape(x));
      x = c.by(kind, {{"factor", c.at(key)}, {"value_range", c.at("value_range")}}, x);
    }
  return x;
}

Id degenerated(const Changing &c, Id x) {
  const Range factor = c.range("factor");
  const Id by = c.draws.each(factor.low, factor.high);
  const Id y = ops::add(c.e, x, ops::mul(c.e, by, ops::sub(c.e, grey(c.e, x), x)));
  return clipped(c.e, y, c.range("value_range"));
}

Id in_grey(const Changing &c, Id x) { return where_drawn(c, grey(c.e, x), x); }

Id inverted(const Changing &c, Id x) {
  return where_drawn(c, ops::scale_shift(c.e, x, -1, c.at("value_range")[1].get<double>()), x);
}

Id posterized(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range bits = c.range("factor"), values = c.range("value_range");
  const Id kept = ops::unary(e, Unary::floor, c.draws.each(std::floor(bits.low), std::floor(bits.high)));
  const Id lost = ops::cast(e, ops::scale_shift(e, kept, -1, 8), DType::u8);
  const Id y = ops::cast(e, in_range(e, x, values, bytes), DType::u8);
  const Id leading = is(e, Binary::left_shift, is(e, Binary::right_shift, y, lost), lost);
  return in_range(e, ops::cast(e, leading, DType::f32), bytes, values);
}

Id solarized(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range plus = c.range("addition_factor"), limit = c.range("threshold_factor"), values = c.range("value_range");
  const Id added = c.draws.each(plus.low, plus.high * 255), limits = c.draws.each(limit.low, limit.high * 255);
  const Id y = clipped(e, ops::add(e, in_range(e, x, values, bytes), added), bytes);
  return in_range(e, ops::select(e, is(e, Binary::less, y, limits), y, ops::scale_shift(e, y, -1, 255)), bytes, values);
}

Id sharpened(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range factor = c.range("factor");
  const Id by = ops::scale_shift(e, c.draws.each(factor.low, factor.high), 2, 0);
  const Tensor filter = make_tensor(DType::f32, {3, 3});
  for (int64_t i = 0; i < 9; ++i) filter.as<float>()[i] = i == 4 ? 5.0f / 13 : 1.0f / 13;
  const Id smooth = filtered(e, x, e.constant(filter));
  const Id y = ops::add(e, x, ops::mul(e, ops::scale_shift(e, by, -1, 1), ops::sub(e, smooth, x)));
  return clipped(e, y, c.range("value_range"));
}

Id blurred(const Changing &c, Id x) {
  Emit &e = c.e;
  const Json &sizes = c.at("kernel_size");
  const Range sigma = c.range("sigma");
  const Id sigmas = ops::scale_shift(e, c.draws.one(sigma.low, sigma.high, {2}), 1, 1e-6);
  const auto bell = [&](int i) {
    const auto n = (sizes.is_array() ? sizes[static_cast<size_t>(i)] : sizes).get<int64_t>();
    const Tensor places = make_tensor(DType::f32, {n});
    for (int64_t k = 0; k < n; ++k) places.as<float>()[k] = static_cast<float>(k) - static_cast<float>(n - 1) / 2;
    const Id at = ops::div(e, e.constant(places), ops::slice(e, sigmas, 0, i, 1));
    const Id y = ops::unary(e, Unary::exp, ops::scale_shift(e, ops::mul(e, at, at), -0.5, 0));
    return ops::div(e, y, ops::reduce(e, Reduce::sum, y, {0}, true));
  };
  const Id filter = ops::mul(e, ops::expand_dims(e, bell(1), 1), ops::expand_dims(e, bell(0), 0));
  const Json &values = c.at("value_range");
  return clipped(e, where_drawn(c, filtered(e, x, filter), x), {values[0].get<double>(), values[1].get<double>()});
}

Id auto_contrasted(const Changing &c, Id x) {
  Emit &e = c.e;
  const Range values = c.range("value_range");
  Id y = in_range(e, x, values, bytes);
  const Id low = ops::reduce(e, Reduce::min, y, {1, 2}, true), high = ops::reduce(e, Reduce::max, y, {1, 2}, true);
  const Id by = ops::div(e, e.scalar(255), ops::sub(e, high, low));
  const Id plus = ops::mul(e, ops::unary(e, Unary::neg, low), by);
  y = in_range(e, clipped(e, ops::add(e, ops::mul(e, y, by), plus), bytes), bytes, values);
  return ops::select(e, is(e, Binary::equal, low, high), x, y);
}

namespace {

// round(255 (cdf - first) / (last - first)), ties to even, in whole numbers.
Id table_of(Emit &e, Id counts) {
  const auto whole = [&](int64_t v) { return e.scalar(static_cast<double>(v), DType::i64); };
  const Id cdf = ops::cumulate(e, counts, 0, {});
  const Id used = is(e, Binary::greater, cdf, whole(0));
  const Id last = ops::reduce(e, Reduce::max, cdf, {0}, true);
  const Id first = ops::reduce(e, Reduce::min, ops::select(e, used, cdf, last), {0}, true);
  const Id all = is(e, Binary::max, ops::sub(e, last, first), whole(1));
  const Id above = ops::mul(e, is(e, Binary::max, ops::sub(e, cdf, first), whole(0)), whole(255));
  const Id twice = ops::mul(e, all, whole(2)), sum = ops::add(e, ops::mul(e, above, whole(2)), all);
  const Id up = is(e, Binary::floor_div, sum, twice);
  const Id tie = is(e, Binary::equal, is(e, Binary::mod, sum, twice), whole(0));
  const Id odd = is(e, Binary::mod, up, whole(2));
  const Id y = ops::select(e, tie, ops::sub(e, up, odd), up);
  return ops::cast(e, is(e, Binary::min, y, whole(255)), DType::f32);
}

}  // namespace

Id equalized(const Changing &c, Id x) {
  Emit &e = c.e;
  const auto bins = c.at("bins").get<int64_t>();
  const Range values = c.range("value_range"), places{0, static_cast<double>(bins - 1)};
  const auto scaled = [&](Id y, const Range &from, const Range &to) {
    const double by = (to.high - to.low) / (from.high - from.low);
    return from.low == to.low && from.high == to.high ? y : ops::scale_shift(e, y, by, to.low - from.low * by);
  };
  const Id y = scaled(x, values, bytes);
  std::vector<Id> channels;
  for (int64_t i = 0; i < e.shape(x).last(); ++i) {
    const Id channel = ops::slice(e, y, -1, i, 1);
    const auto place = [&](Id at) { return ops::cast(e, clipped(e, at, places), DType::i32); };
    const Id bin = place(ops::div(e, ops::scale_shift(e, channel, places.high, 0), e.scalar(255)));
    const Id counts = ops::cast(e, ops::bucket_sums(e, bin, ops::none, bins), DType::i64);
    const Id used = ops::cast(e, is(e, Binary::greater, counts, e.scalar(0, DType::i64)), DType::i64);
    const Id several = ops::reduce(e, Reduce::sum, used, {0}, true);
    const Id at = place(ops::scale_shift(e, ops::div(e, channel, e.scalar(255)), places.high, 0));
    const Id equal = ops::gather(e, ops::expand_dims(e, table_of(e, counts), 1), ops::squeeze(e, at, -1));
    channels.push_back(ops::select(e, is(e, Binary::greater, several, e.scalar(1, DType::i64)), equal, channel));
  }
  return scaled(ops::concat(e, channels, -1), bytes, values);
}

}  // namespace dl4::kinds

// Resizing and CenterCrop.
#include "kinds/layers/conv/sampling.hpp"

#include <cmath>

#include "base/math.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

using Weights = std::vector<float>;  // (output positions, input positions)

double sinc_window(double x, double radius) {
  if (x > radius) return 0;
  if (x <= 1e-3) return 1;
  constexpr double pi = 3.14159265358979323846;
  return radius * math::sin(pi * x) * math::sin(pi * x / radius) / (pi * pi * x * x);
}

// The filter's value at distance x.
double share(Interpolation how, double x) {
  switch (how) {
    case Interpolation::bilinear:
      return std::max(0.0, 1 - x);
    case Interpolation::bicubic:
      if (x >= 2) return 0;
      return x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : ((1.5 * x - 2.5) * x) * x + 1;
    case Interpolation::lanczos3:
      return sinc_window(x, 3);
    case Interpolation::lanczos5:
      return sinc_window(x, 5);
    case Interpolation::nearest:
      break;
  }
  return 0;
}

void normalise(float *row, int64_t n) {
  const float sum = std::accumulate(row, row + n, 0.0f);
  for (int64_t i = 0; i < n && sum != 0; ++i) row[i] /= sum;
}

// By distance between centres, with a filter that widens when downscaling.
Weights windowed(int64_t n, int64_t m, Interpolation how, bool antialias) {
  Weights w(static_cast<size_t>(checked_mul(n, m)));
  const float inverse = static_cast<float>(n) / static_cast<float>(m),
              wide = antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float radius = how == Interpolation::lanczos5   ? 5
                       : how == Interpolation::lanczos3 ? 3
                       : how == Interpolation::bicubic  ? 2
                                                        : 1;
  for (int64_t to = 0; to < m; ++to) {
    const float at = (static_cast<float>(to) + 0.5f) * inverse;
    const auto last = static_cast<float>(n - 1);
    const auto begin = static_cast<int64_t>(std::clamp(std::ceil(at - radius * wide - 0.5f), 0.0f, last));
    const auto end = static_cast<int64_t>(std::clamp(std::floor(at + radius * wide - 0.5f), 0.0f, last));
    float *row = w.data() + to * n;
    for (int64_t from = begin; from <= end; ++from)
      row[from] = static_cast<float>(share(how, std::abs(static_cast<float>(from) + 0.5f - at) / wide));
    normalise(row, n);
  }
  return w;
}

// From the two nearest centres.
Weights linear(int64_t n, int64_t m) {
  Weights w(static_cast<size_t>(checked_mul(n, m)));
  const float inverse = static_cast<float>(n) / static_cast<float>(m);
  for (int64_t to = 0; to < m; ++to) {
    const float at = (static_cast<float>(to) + 0.5f) * inverse - 0.5f, below = std::floor(at), by = at - below;
    const auto low = static_cast<int64_t>(std::max(below, 0.0f));
    const auto high = std::min(static_cast<int64_t>(std::ceil(at)), n - 1);
    w[static_cast<size_t>(to * n + low)] += 1 - by;
    w[static_cast<size_t>(to * n + high)] += by;
  }
  return w;
}

// From the four nearest centres. TensorFlow quantizes distances to 1 / 1024.
Weights cubic(int64_t n, int64_t m) {
  Weights w(static_cast<size_t>(checked_mul(n, m)));
  const float inverse = static_cast<float>(n) / static_cast<float>(m);
  for (int64_t to = 0; to < m; ++to) {
    const float at = (static_cast<float>(to) + 0.5f) * inverse - 0.5f, below = std::floor(at);
    const double by = static_cast<double>(std::lrint((at - below) * 1024)) / 1024;
    float *row = w.data() + to * n;
    for (int64_t k = -1; k <= 2; ++k) {
      const int64_t from = static_cast<int64_t>(below) + k;
      if (from >= 0 && from < n)
        row[from] = static_cast<float>(share(Interpolation::bicubic, std::abs(static_cast<double>(k) - by)));
    }
    normalise(row, n);
  }
  return w;
}

Id along_nearest(Emit &e, Id x, int axis, int64_t n, int64_t m) {
  Tensor ids = make_tensor(DType::i32, {m});
  const float inverse = static_cast<float>(n) / static_cast<float>(m);
  for (int64_t to = 0; to < m; ++to)
    ids.as<int32_t>()[to] = static_cast<int32_t>(
        std::min(static_cast<int64_t>(std::floor((static_cast<float>(to) + 0.5f) * inverse)), n - 1));
  std::vector<int> perm{0, 1, 2, 3};
  std::swap(perm[0], perm[static_cast<size_t>(axis)]);
  return ops::transpose(e, ops::gather(e, ops::transpose(e, x, perm), e.constant(std::move(ids))), perm);
}

Id along(Emit &e, Id x, int axis, int64_t m, Interpolation how, bool antialias) {
  const Shape s = e.shape(x);
  const int64_t n = s[axis];
  if (n == m) return x;
  if (checked_mul(n, m) > 1 << 26) fail(Code::unsupported, "resizes axis ", axis, " of ", s, " to ", m, " places");
  if (how == Interpolation::nearest) return along_nearest(e, x, axis, n, m);
  const bool plain = !antialias && (how == Interpolation::bilinear || how == Interpolation::bicubic);
  const Weights w = !plain                           ? windowed(n, m, how, antialias)
                    : how == Interpolation::bilinear ? linear(n, m)
                                                     : cubic(n, m);
  Tensor t = make_tensor(DType::f32, {m, n});
  std::copy(w.begin(), w.end(), t.as<float>());
  const Id by = e.constant(std::move(t));
  if (axis == 2) return ops::matmul(e, by, x);
  const Id rows = ops::reshape(e, x, 2, {checked_mul(s[2], s[3])});
  return ops::reshape(e, ops::matmul(e, by, rows), 2, {s[2], s[3]});
}

// The centre of an image, of the requested size.
Id cropped(Emit &e, Id x, int64_t height, int64_t width) {
  const Shape s = e.shape(x);
  const auto part = [](int64_t a, int64_t b, int64_t c, int64_t most) {
    return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(checked_mul(a, b)) / static_cast<double>(c)), 1,
                               most);
  };
  const int64_t h = part(s[2], height, width, s[1]), w = part(s[1], width, height, s[2]);
  x = ops::slice(e, x, 1, (s[1] - h) / 2, h);
  return ops::slice(e, x, 2, (s[2] - w) / 2, w);
}

// Applies f to (B, H, W, C), or to a single image without batch, in channels-last order.
template <class F>
std::vector<Symbol> of_images(Call &c, const DataFormat &format, F f) {
  const bool one = c.shape().rank() == 3;
  if (!one) c.need_rank(0, 4);
  Id x = one ? ops::expand_dims(c.e, c.x(), 0) : c.x();
  x = format.to_last(c.e, x);
  need_pixels(c, c.e.shape(x));
  Id y = format.from_last(c.e, f(x));
  return {{one ? ops::squeeze(c.e, y, 0) : y}};
}

// Integers are rounded and clamped to their type's range.
Id of_type(Emit &e, Id y, DType type) {
  return type == DType::f32 || e.dtype(y) == type ? y : ops::cast(e, ops::unary(e, ops::Unary::round, y), type);
}

struct Resizing final : LayerOf<Resizing> {
  static constexpr const char *doc = "Images of another size.";
  int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::bilinear;
  bool crop_to_aspect_ratio = false, pad_to_aspect_ratio = false, antialias = false;
  std::string fill_mode = "constant";
  double fill_value = 0;
  DataFormat data_format;

  void fields(Fields &f) override {
    f("height", height, "rows of the output").required("4").within(1, max_dim);
    f("width", width, "columns of the output").required("4").within(1, max_dim);
    f("interpolation", interpolation, {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"},
      "how pixels between those of the input are made")
        .among_others();
    f("crop_to_aspect_ratio", crop_to_aspect_ratio, "takes the middle of an image of another form first");
    f("pad_to_aspect_ratio", pad_to_aspect_ratio, "not in this version").default_only();
    f("fill_mode", fill_mode, "of pad_to_aspect_ratio").default_only();
    f("fill_value", fill_value, "of pad_to_aspect_ratio");
    f("antialias", antialias, "takes in all pixels of an image that becomes smaller");
    data_format.fields(f);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, H, W, C)"}}, .outputs = {{"y", "(B, height, width, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    const DType type = c.e.dtype(c.x());
    return of_images(c, data_format, [&](Id x) {
      if (crop_to_aspect_ratio) x = cropped(c.e, x, height, width);
      return of_type(c.e, resized(c, x, height, width, interpolation, antialias), type);
    });
  }
};

struct CenterCrop final : LayerOf<CenterCrop> {
  static constexpr const char *doc =
      "The middle of images, in float32; of smaller ones as much as has the form asked for, made larger.";
  int64_t height = 0, width = 0;
  DataFormat data_format;

  void fields(Fields &f) override {
    f("height", height, "rows of the output").required("4").within(1, max_dim);
    f("width", width, "columns of the output").required("4").within(1, max_dim);
    data_format.fields(f);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, H, W, C)"}}, .outputs = {{"y", "(B, height, width, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.as_float(0);
    return of_images(c, data_format, [&](Id x) {
      const Shape s = c.e.shape(x);
      if (s[1] < height || s[2] < width)
        return resized(c, cropped(c.e, x, height, width), height, width, Interpolation::bilinear, false);
      x = ops::slice(c.e, x, 1, (s[1] - height) / 2, height);
      return ops::slice(c.e, x, 2, (s[2] - width) / 2, width);
    });
  }
};

struct UpSampling1D final : LayerOf<UpSampling1D> {
  static constexpr const char *doc = "Each step of a sequence several times.";
  int64_t size = 2;

  void fields(Fields &f) override { f("size", size, "how often each step stands").within(1, max_dim); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, T, C)"}}, .outputs = {{"y", "(B, T * size, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    return {{ops::repeat(c.e, c.x(), 1, size)}};
  }
};

struct UpSampling2D final : LayerOf<UpSampling2D> {
  static constexpr const char *doc = "Larger images: rows and columns repeated, or blended between neighbours.";
  std::array<int64_t, 2> size{2, 2};
  DataFormat data_format;
  Interpolation interpolation = Interpolation::nearest;

  void fields(Fields &f) override {
    f("size", size, "how often each row and each column stands").within(1, max_dim);
    data_format.fields(f);
    f("interpolation", interpolation, {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"},
      "\"nearest\": copies; \"bilinear\": blended by the distance to the centres of the two nearest pixels; the "
      "others: of 4, 6 and 10 pixels along each axis, whose number must be known");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, H, W, C)"}},
                                    .outputs = {{"y", "(B, H * size, W * size, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 4);
    const bool linear = interpolation == Interpolation::bilinear;
    const DType from = c.e.dtype(c.x());
    if (interpolation > Interpolation::bilinear) return kernelled(c);
    if (linear && (from == DType::boolean || from == DType::f64)) c.need_float(0);
    ops::Id y = linear ? ops::cast(c.e, c.x(), DType::f32) : c.x();
    for (int i = 0; i < 2; ++i) y = ops::repeat(c.e, y, data_format.space(i), size[static_cast<size_t>(i)], linear);
    // Integers stay integers, rounding halves to even.
    if (c.e.dtype(y) != from) y = ops::cast(c.e, unary(c.e, ops::Unary::round, y), from);
    return {{y}};
  }

 private:
  std::vector<Symbol> kernelled(Call &c) const {
    c.need_float(0);
    const ops::Id x = data_format.to_last(c.e, c.x());
    const Shape s = c.e.shape(x);
    need_pixels(c, s);
    const ops::Id y = resized(c, x, checked_mul(s[1], size[0]), checked_mul(s[2], size[1]), interpolation, false);
    return {{data_format.from_last(c.e, y)}};
  }
};

struct UpSampling3D final : LayerOf<UpSampling3D> {
  static constexpr const char *doc = "Larger volumes: planes, rows and columns repeated.";
  std::array<int64_t, 3> size{2, 2, 2};
  DataFormat data_format;

  void fields(Fields &f) override {
    f("size", size, "how often each plane, each row and each column stands").within(1, max_dim);
    data_format.fields(f);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, D, H, W, C)"}},
                                    .outputs = {{"y", "(B, D * size, H * size, W * size, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 5);
    ops::Id y = c.x();
    for (int i = 0; i < 3; ++i) y = ops::repeat(c.e, y, data_format.space(i), size[static_cast<size_t>(i)]);
    return {{y}};
  }
};

struct RepeatVector final : LayerOf<RepeatVector> {
  static constexpr const char *doc = "A vector as every step of a sequence.";
  int64_t n = 0;

  void fields(Fields &f) override { f("n", n, "steps of the sequence").required("2").within(1, max_dim); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, C)"}}, .outputs = {{"y", "(B, n, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 2);
    return {{ops::repeat(c.e, ops::expand_dims(c.e, c.x(), 1), 1, n)}};
  }
};

}  // namespace

void need_pixels(Call &c, const Shape &images) {
  for (int i : {1, 2, 3})
    if (images[i] < 1)  // includes free_dim
      fail(Code::shape_mismatch, "expected images of a known size, at least 1, got an input of shape ", c.shape());
}

Id resized(Call &c, Id x, int64_t height, int64_t width, Interpolation how, bool antialias) {
  if (how != Interpolation::nearest) x = ops::cast(c.e, x, DType::f32);
  return along(c.e, along(c.e, x, 1, height, how, antialias), 2, width, how, antialias);
}

DL4_KINDS(resize, Resizing, CenterCrop, UpSampling1D, UpSampling2D, UpSampling3D, RepeatVector)

}  // namespace dl4::kinds

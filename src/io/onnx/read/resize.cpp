// Resize and Upsample: interpolation.
#include <cmath>

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

struct Resize {
  std::string mode, where = "asymmetric", rounding = "floor";
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
  float begin = 0, end = 1;  // for tf_crop_and_resize: the range of an axis

  bool crops() const { return where == "tf_crop_and_resize"; }
};

// Source position of position i of m among n: in float32 like ONNX Runtime, since the last bit decides which is
// nearest.
float source(const Resize &how, int64_t i, float scale, int64_t n, int64_t m) {
  const auto x = static_cast<float>(i), from = static_cast<float>(n), to = static_cast<float>(m);
  if (how.where == "asymmetric") return x / scale;
  if (how.where == "tf_half_pixel_for_nn") return (x + 0.5f) / scale;
  if (how.where == "align_corners") return m == 1 ? 0 : x * (from - 1) / (to - 1);
  if (how.crops()) {
    if (m == 1) return 0.5f * (how.begin + how.end) * (from - 1);
    return how.begin * (from - 1) + x * (how.end - how.begin) * (from - 1) / (to - 1);
  }
  if (how.where == "pytorch_half_pixel" && m == 1) return 0;
  if (how.where == "half_pixel_symmetric") {
    const float offset = from / 2 * (1 - to / (scale * from));
    const double place = (static_cast<double>(x) + 0.5) / static_cast<double>(scale) - 0.5;
    return static_cast<float>(static_cast<double>(offset) + place);
  }
  return (x + 0.5f) / scale - 0.5f;
}

// A half, and what rounding in float32 may make of it.
constexpr double half = 0.5 + 1e-6;

int64_t rounded(const Resize &how, double x) {
  if (how.rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + half));
  if (how.rounding == "floor") return static_cast<int64_t>(std::floor(x));
  if (how.rounding == "ceil") return static_cast<int64_t>(std::ceil(x));
  return static_cast<int64_t>(std::ceil(x - half));
}

double weight(const Resize &how, double away) {
  const double d = std::abs(away), a = how.cubic;
  if (how.mode == "linear") return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// n x m interpolation weights.
Tensor blend(const Resize &how, double scale, int64_t n, int64_t m) {
  Tensor t = make_zeros(DType::f32, {n, m});
  const double shrink = how.antialias ? std::min(scale, 1.0) : 1.0;
  const double reach = (how.mode == "linear" ? 1 : 2) / shrink;
  for (int64_t i = 0; i < m; ++i) {
    const auto x = static_cast<double>(source(how, i, static_cast<float>(scale), n, m));
    double sum = 0;
    const auto first = static_cast<int64_t>(std::floor(x - reach)), last = static_cast<int64_t>(std::ceil(x + reach));
    std::vector<double> column(static_cast<size_t>(n), 0);
    for (int64_t k = first; k <= last; ++k) {
      const double w = weight(how, (x - static_cast<double>(k)) * shrink);
      if ((k < 0 || k >= n) && how.exclude_outside) continue;
      column[static_cast<size_t>(std::clamp<int64_t>(k, 0, n - 1))] += w;
      sum += w;
    }
    for (int64_t k = 0; k < n; ++k)
      t.as<float>()[k * m + i] = static_cast<float>(column[static_cast<size_t>(k)] / (sum == 0 ? 1 : sum));
  }
  return t;
}

// Resizes an axis of x, by its index in x.
Node resized(const Op &op, Node x, int at, const Resize &how, double scale, int64_t n, int64_t m) {
  if (m < 1 || m > 1 << 20 || n < 1) op.refuse("from ", n, " to ", m, " places is not supported");
  if (how.mode == "nearest") {
    op.take(checked_mul(m, place_bytes));
    Ints from;
    for (int64_t i = 0; i < m; ++i) {
      const float x = source(how, i, static_cast<float>(scale), n, m);
      from.push_back(std::clamp<int64_t>(rounded(how, static_cast<double>(x)), 0, n - 1));
    }
    return op.layer("Take", {{"indices", from}, {"axis", at}}, {x});
  }
  if (n > 1 << 14 || m > 1 << 14) op.refuse("between ", n, " and ", m, " interpolated elements is not supported");
  op.take(checked_mul(n, m, 4));
  Ints turn(static_cast<size_t>(op.shape(x).rank()));
  for (size_t i = 0; i < turn.size(); ++i) turn[i] = static_cast<int64_t>(i);
  std::swap(turn[static_cast<size_t>(at)], turn.back());
  const bool last = at == op.shape(x).rank() - 1;
  if (!last) x = op.layer("Transpose", {{"perm", turn}}, {x});
  x = op.layer("MatMul", {}, {x, op.constant_node(blend(how, scale, n, m))});
  return last ? x : op.layer("Transpose", {{"perm", turn}}, {x});
}

// The same with a free size: computes the source positions at run time.
Node resized(const Op &op, Node x, int at, const Resize &how, const Dim &n, const Dim &m, double scale) {
  const bool tf = how.where == "tf_half_pixel_for_nn";
  const bool halves = tf || how.where == "half_pixel" || how.where == "pytorch_half_pixel";
  if ((!halves && how.where != "asymmetric" && how.where != "align_corners") || how.antialias || how.exclude_outside ||
      how.mode == "cubic")
    op.refuse("of a free axis with \"mode\" ", how.mode, ", \"coordinate_transformation_mode\" ", how.where,
              how.antialias ? ", \"antialias\"" : "", how.exclude_outside ? ", \"exclude_outside\"" : "",
              " is not supported");
  const Dim one{1, {}}, none{0, {}};
  const auto real = [&](const Dim &d) { return op.cast(op.number(d), DType::f32); };
  const auto layer = [&](const char *kind, Node a, Node b) { return op.layer(kind, {}, {a, b}); };
  const Dim back = op.symbols().sum(n, one, -1);
  Node place = op.cast(op.places(m), DType::f32);
  if (tf && scale <= 0) {  // none if nothing is scaled
    const Node scaled = op.cast(layer("NotEqual", real(m), real(n)), DType::f32);
    place = plus(op, place, by_number(op, "BroadcastMultiply", scaled, 0.5));
  } else if (halves) {
    place = by_number(op, "BroadcastAdd", place, 0.5);
  }
  if (how.where == "align_corners")
    place =
        layer("Divide", times(op, place, real(back)), real(op.symbols().largest(op.symbols().sum(m, one, -1), one)));
  else if (scale > 0)
    place = by_number(op, "Divide", place, scale);
  else
    place = layer("Divide", place, layer("Divide", real(m), real(n)));
  if (halves && !tf) place = by_number(op, "BroadcastAdd", place, -0.5);
  if (how.where == "pytorch_half_pixel")  // 0 for a single position
    place = times(op, place, real(op.symbols().smallest(op.symbols().sum(m, one, -1), one)));
  const Node last = real(back);
  const auto taken = [&](Node at_place) {
    const Node near = layer("BroadcastMinimum", by_number(op, "BroadcastMaximum", at_place, 0), last);
    return op.layer("Take", {{"axis", at}}, {x, op.cast(near, DType::i64)});
  };
  const auto floor = [&](Node v) { return op.layer("Floor", {}, {v}); };
  if (how.mode == "nearest") {
    const bool up = how.rounding == "ceil" || how.rounding == "round_prefer_floor";
    const double by = how.rounding == "round_prefer_ceil" ? half : how.rounding == "round_prefer_floor" ? -half : 0;
    if (by != 0) place = by_number(op, "BroadcastAdd", place, by);
    return taken(up ? op.layer("Ceil", {}, {place}) : floor(place));
  }
  const Node first = floor(place);
  Node part = minus(op, place, first);
  Ints behind(static_cast<size_t>(op.shape(x).rank() - 1 - at));
  for (size_t i = 0; i < behind.size(); ++i) behind[i] = static_cast<int64_t>(i) + 1;
  if (!behind.empty()) part = op.layer("ExpandDims", {{"axis", behind}}, {part});
  const Node a = taken(first), b = taken(by_number(op, "BroadcastAdd", first, 1));
  return plus(op, a, times(op, minus(op, b, a), part));
}

// A free axis times a scale: floor(n * scale), for fractions of small numbers.
Dim scaled(const Op &op, const Dim &n, double scale) {
  for (int64_t below = 1; below <= 64; ++below) {
    const double above = scale * static_cast<double>(below);
    if (std::abs(above - std::round(above)) > 1e-6 * above || above > 1e6) continue;
    return *op.symbols().quotient(n * Dim{static_cast<int64_t>(std::round(above)), {}}, Dim{below, {}});
  }
  op.refuse("of a free axis by ", scale, " is not supported; fractions of numbers up to 64 are");
}

// The same for an axis of size n.
int64_t places_of(int64_t n, double scale) {
  return static_cast<int64_t>(static_cast<float>(n) * static_cast<float>(scale));
}

// Flags of positions inside the image; none: all are.
std::optional<Tensor> within(const Resize &how, double scale, int64_t n, int64_t m) {
  bool all = true;
  Tensor t = make_tensor(DType::boolean, {m});
  for (int64_t i = 0; i < m; ++i) {
    const float x = source(how, i, static_cast<float>(scale), n, m);
    t.as<uint8_t>()[i] = x >= 0 && x <= static_cast<float>(n - 1);
    all = all && t.as<uint8_t>()[i] != 0;
  }
  return all ? std::nullopt : std::optional(t);
}

// Resizes the whole image by UpSampling, which supports free sizes; false: no such form.
bool up_sample(const Op &op, const Resize &how, const std::vector<double> &scales) {
  Value &v = op.in(0);
  if (v.rank() < 3 || v.rank() > 5 || scales[0] != 1 || scales[1] != 1) return false;
  const bool halves = how.where == "half_pixel" || how.where == "pytorch_half_pixel";
  const bool copies = how.mode == "nearest" && ((how.where == "asymmetric" && how.rounding == "floor") ||
                                                (halves && how.rounding.starts_with("round_prefer")));
  const bool blends = how.mode == "linear" && v.rank() == 4 && how.where == "half_pixel" && !how.exclude_outside;
  Ints size;
  for (size_t i = 2; i < scales.size(); ++i) {
    if (scales[i] < 1 || scales[i] > 1024 || scales[i] != std::floor(scales[i])) return false;
    size.push_back(static_cast<int64_t>(scales[i]));
  }
  if (!copies && !blends) return false;
  const Perm perm = channels_last(v.rank());
  Json config = Json::object();
  config["size"] = size.size() == 1 ? Json(size[0]) : Json(size);
  if (blends) config["interpolation"] = "bilinear";
  std::vector<Dim> dims = v.dims;
  for (size_t i = 2; i < dims.size(); ++i) dims[i] = dims[i] * Dim{size[i - 2], {}};
  op.give(0, op.layer(text("UpSampling", size.size(), "D").c_str(), config, {op.as(v, perm)}), dims, perm);
  return true;
}

std::vector<double> reals(const Op &op, size_t i) {
  const Tensor t = op.floats(i, "list of scales");
  std::vector<double> list;
  for (int64_t k = 0; k < t.elements(); ++k) list.push_back(static_cast<double>(t.as<float>()[k]));
  return list;
}

bool is_empty(const Op &op, size_t i) { return !op.has(i) || (op.constant(i) && op.constant(i)->elements() == 0); }

using Sizes = std::vector<std::optional<int64_t>>;
using FreeSizes = std::vector<std::optional<Dim>>;  // by axis: those that are no multiple of the input's

void stretch(const Op &op, const std::vector<size_t> &axes, const std::vector<Dim> &wanted, std::vector<double> &scales,
             Sizes &sizes, FreeSizes &free) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim &from = op.in(0).dims[axes[i]], &to = wanted[i];
    const auto times = to / from;
    if (!(times && times->known()) && !(to.known() && from.known() && from.factor > 0)) {
      free[axes[i]] = to;
      continue;
    }
    scales[axes[i]] =
        times ? static_cast<double>(times->factor) : static_cast<double>(to.factor) / static_cast<double>(from.factor);
    if (to.known()) sizes[axes[i]] = to.factor;
  }
}

// Scales all axes alike, by the smallest or largest ratio.
void keep_aspect(const Op &op, bool smallest, const std::vector<size_t> &axes, const std::vector<Dim> &wanted,
                 std::vector<double> &scales, Sizes &sizes) {
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim &from = op.in(0).dims[axes[i]], &to = wanted[i];
    if (!from.known() || !to.known() || from.factor < 1)
      op.refuse("\"keep_aspect_ratio_policy\" for free axes is not supported");
    const double one = static_cast<double>(to.factor) / static_cast<double>(from.factor);
    scale = i == 0 ? one : smallest ? std::min(scale, one) : std::max(scale, one);
  }
  if (!(scale > 0 && scale < 1e6)) op.refuse("has a scale of ", scale);
  for (size_t axis : axes) {
    scales[axis] = scale;
    sizes[axis] = static_cast<int64_t>(std::floor(scale * static_cast<double>(op.in(0).dims[axis].factor) + 0.5));
  }
}

// Before opset 11 rounding is unspecified: ONNX Runtime rounds positions down, or up when the image shrinks. An image
// of unchanged size is copied.
bool is_old(const Op &op) { return op.node.op == "Upsample" || op.opset() < 11; }
bool keeps_size(const Value &v, const std::vector<double> &scales) {
  for (size_t i = 0; i < scales.size(); ++i)
    if (scales[i] != 1 && (!v.dims[i].known() || places_of(v.dims[i].factor, scales[i]) != v.dims[i].factor))
      return false;
  return true;
}

// Axis by axis.
void each_axis(const Op &op, Resize how, const std::vector<size_t> &axes, const std::vector<double> &scales,
               const Sizes &sizes, const FreeSizes &free) {
  Value &v = op.in(0);
  const bool old = is_old(op);
  std::vector<Dim> wide = v.dims;
  const std::vector<double> parts = how.crops() ? reals(op, 1) : std::vector<double>{};  // starts, then ends
  if (how.crops() && parts.size() != 2 * axes.size())
    fail(Code::corrupt_file, "has a \"roi\" of ", parts.size(), " numbers for ", axes.size(), " axes");
  for (double part : parts)
    if (!(std::abs(part) < 1e6)) op.refuse("has a \"roi\" of ", part);
  const Perm perm = v.perm();
  Node x = op.as(v, perm), inside = graph::no_node;
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t i = axes[k];
    if (how.crops()) how.begin = static_cast<float>(parts[k]), how.end = static_cast<float>(parts[k + axes.size()]);
    const bool whole = how.begin == 0 && how.end == 1;
    const bool by_scale = !free[i] && !v.dims[i].known() && scales[i] != 1;
    if (free[i] || by_scale) {
      if (!whole) op.refuse("of a part of a free axis is not supported");
      wide[i] = free[i] ? *free[i] : scaled(op, v.dims[i], scales[i]);
      if (old) how.rounding = scales[i] < 1 ? "ceil" : "floor";
      x = resized(op, x, inverse(perm)[i], how, v.dims[i], wide[i], by_scale ? scales[i] : 0);
      continue;
    }
    if (whole && scales[i] == 1 && (!sizes[i] || Dim{*sizes[i], {}} == v.dims[i])) continue;
    if (!v.dims[i].known()) op.refuse("of a part of a free axis is not supported");
    const int64_t n = v.dims[i].factor;
    const int64_t m = sizes[i] ? *sizes[i] : places_of(n, scales[i]);
    if (old) how.rounding = scales[i] < 1 ? "ceil" : "floor";
    x = resized(op, x, inverse(perm)[i], how, scales[i], n, m);
    const auto seen = how.crops() ? within(how, scales[i], n, m) : std::nullopt;
    if (!seen) continue;
    const int after = v.rank() - 1 - inverse(perm)[i];
    Ints dims(static_cast<size_t>(after) + 1, 1);
    dims[0] = m;
    const Node here = op.constant_node(reshaped(*seen, Shape(dims)));
    inside = inside == graph::no_node ? here : op.layer("LogicalAnd", {}, {inside, here});
  }
  if (inside != graph::no_node) x = op.layer("Where", {{"x2", op.real("extrapolation_value")}}, {inside, x});
  op.give(0, x, wide, perm);
}

void resize(const Op &op) {
  Value &v = op.in(0);
  const bool old = is_old(op);
  Resize how;
  how.mode = op.string("mode");
  if (how.mode == "bilinear") how.mode = "linear";
  if (!old) {
    how.where = op.string("coordinate_transformation_mode"), how.rounding = op.string("nearest_mode");
    how.cubic = op.real("cubic_coeff_a");
    how.exclude_outside = op.flag("exclude_outside"), how.antialias = op.flag("antialias");
  }
  if (v.dtype != DType::f32 && how.mode != "nearest") op.refuse("of ", v.dtype, " is not supported");
  std::vector<size_t> axes;
  if (const auto given = op.integers("axes"))
    for (int64_t a : *given) axes.push_back(static_cast<size_t>(op.axis_of(a, v.rank())));
  else
    for (size_t i = 0; i < v.dims.size(); ++i) axes.push_back(i);
  std::vector<double> scales(v.dims.size(), 1);
  Sizes sizes(v.dims.size());
  FreeSizes free(v.dims.size());
  if (!old && !is_empty(op, 3)) {
    const std::vector<Dim> wanted = op.sizes_of(3);
    if (wanted.size() != axes.size())
      fail(Code::corrupt_file, "has ", wanted.size(), " sizes for ", axes.size(), " axes");
    if (const std::string keep = op.string("keep_aspect_ratio_policy"); keep != "stretch")
      keep_aspect(op, keep == "not_larger", axes, wanted, scales, sizes);
    else
      stretch(op, axes, wanted, scales, sizes, free);
  } else {
    const Attribute *said = op.node.find("scales");
    const std::vector<double> list = said ? said->floats : reals(op, old ? 1 : 2);
    if (list.size() != axes.size()) fail(Code::corrupt_file, "has ", list.size(), " scales for ", axes.size(), " axes");
    for (size_t i = 0; i < axes.size(); ++i) scales[axes[i]] = list[i];
  }
  for (double s : scales)
    if (!(s > 0 && s < 1e6)) op.refuse("has a scale of ", s);
  const bool any_free = std::any_of(free.begin(), free.end(), [](const auto &d) { return d.has_value(); });
  if (old && keeps_size(v, scales)) return op.give_value(0, v);
  if (!any_free && up_sample(op, how, scales)) return;
  each_axis(op, how, axes, scales, sizes, free);
}

}  // namespace

constexpr Row resize_table[] = {
    {"Resize", resize,
     "X roi?@11 scales@-10 scales?@11 sizes?@11 > Y=X; antialias@18=0|1 axes@18:ints "
     "coordinate_transformation_mode@11=half_pixel|pytorch_half_pixel|align_corners|asymmetric|tf_half_pixel_for_nn@"
     "11-12|tf_crop_and_resize|half_pixel_symmetric@19 "
     "cubic_coeff_a@11=-0.75 exclude_outside@11=0|1 extrapolation_value@11=0.0 "
     "keep_aspect_ratio_policy@18=stretch|not_larger|not_smaller mode=nearest|linear|cubic@11 "
     "nearest_mode@11=round_prefer_floor|round_prefer_ceil|floor|ceil"},
    {"Upsample", resize,
     "X scales@9 > Y=X; height_scale@-6:float! mode=nearest|linear@7|bilinear@-6 scales@7-8:floats! "
     "width_scale@-6:float!"}};
const std::span<const Row> resize_rows = resize_table;

}  // namespace dl4::io::onnx

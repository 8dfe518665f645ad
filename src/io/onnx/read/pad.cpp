// Pad and Resize: places around and between those of a value.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {

Json margins_json(const Margins &margins) {
  if (margins.size() == 1) return Ints{margins[0][0], margins[0][1]};
  Json list = Json::array();
  for (const auto &m : margins) list.push_back(Ints{m[0], m[1]});
  return list;
}

Node moved_ends(const Op &op, Node x, const Margins &margins) {
  Margins add(margins.size()), cut(margins.size());
  bool adds = false, cuts = false;
  for (size_t i = 0; i < margins.size(); ++i)
    for (size_t end : {size_t{0}, size_t{1}}) {
      add[i][end] = std::max<int64_t>(margins[i][end], 0), cut[i][end] = std::max<int64_t>(-margins[i][end], 0);
      adds = adds || add[i][end] > 0, cuts = cuts || cut[i][end] > 0;
    }
  if (cuts) x = op.layer(text("Cropping", margins.size(), "D"), {{"cropping", margins_json(cut)}}, {x});
  if (adds) x = op.layer(text("ZeroPadding", margins.size(), "D"), {{"padding", margins_json(add)}}, {x});
  return x;
}

Node filled_ends(const Op &op, Node x, const Margins &margins, double number) {
  const Node y = moved_ends(op, x, margins);
  if (number == 0 || y == x) return y;
  const Node here = op.layer("Equal", Json::object(), {x, x});
  const Node ones = op.layer("Where", {{"x1", 1}, {"x2", 1}}, {here});
  const Node inside = moved_ends(op, ones, margins);
  if (std::isfinite(number)) return op.layer("Where", {{"x2", number}}, {inside, y});
  Tensor t = make_tensor(DType::f32, {});
  *t.as<float>() = static_cast<float>(number);
  return op.layer("Where", Json::object(), {inside, y, op.constant_node(std::move(t))});
}

namespace {

// Along an axis of known size, the place that each place of the result is taken from.
Ints sources(const Op &op, const std::string &mode, int64_t n, int64_t before, int64_t after) {
  Ints from;
  if (before > max_dim || after > max_dim || n + before + after > 1 << 20)
    op.refuse("adds ", before, " and ", after, " places");
  op.take(checked_mul(checked_add(n, before, after), place_bytes));
  for (int64_t i = -before; i < n + after; ++i) {
    int64_t at = i;
    if (mode == "edge") at = std::clamp<int64_t>(i, 0, n - 1);
    if (mode == "wrap") at = ((i % n) + n) % n;
    if (mode == "reflect") {
      const int64_t period = std::max<int64_t>(2 * (n - 1), 1);
      at = ((i % period) + period) % period;
      at = at < n ? at : period - at;
    }
    from.push_back(at);
  }
  return from;
}

// Zeros, or a number, along some axes: those stand where the layers of padding want them.
void pad_constant(const Op &op, const Margins &pads, double number) {
  Value &v = op.in(0);
  if (v.rank() > 5) op.refuse("over a value of ", v.rank(), " axes is not supported");
  std::vector<size_t> left;
  for (size_t i = 0; i < pads.size(); ++i)
    if (pads[i][0] != 0 || pads[i][1] != 0) left.push_back(i);
  if (left.empty()) return op.give_value(0, v);
  Perm at = v.perm();  // the order in which x lies
  Node x = op.as(v, at);
  int rank = v.rank();
  while (rank < 3) x = op.layer("ExpandDims", {{"axis", rank}}, {x}), at.push_back(rank++);
  std::vector<Dim> dims = v.dims;
  for (size_t i : left) dims[i] = Dim{1, {op.r.fresh()}};
  while (!left.empty()) {
    std::vector<int> now;  // axes to be padded in one layer, others among them as they are
    for (size_t i : left)
      if (static_cast<int>(now.size()) < rank - 2) now.push_back(static_cast<int>(i));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(now.size()));
    const auto is_in = [](const std::vector<int> &list, int i) {
      return std::find(list.begin(), list.end(), i) != list.end();
    };
    const std::vector<int> padded = now;
    for (int i = rank; i-- > 0 && static_cast<int>(now.size()) < rank - 2;)
      if (!is_in(now, i)) now.push_back(i);
    std::sort(now.begin(), now.end());
    Perm order;
    for (int i = 0; i < rank; ++i)
      if (!is_in(now, i)) order.push_back(i);
    order.insert(order.begin() + 1, now.begin(), now.end());
    const Perm back = inverse(at);
    Ints turn;
    for (int axis : order) turn.push_back(back[static_cast<size_t>(axis)]);
    if (order != at) x = op.layer("Transpose", {{"perm", turn}}, {x});
    at = order;
    Margins margins;
    for (int axis : now)
      margins.push_back(is_in(padded, axis) ? pads[static_cast<size_t>(axis)] : std::array<int64_t, 2>{});
    x = filled_ends(op, x, margins, number);
  }
  Ints extra;
  Perm perm;
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] >= v.rank())
      extra.push_back(static_cast<int64_t>(i));
    else
      perm.push_back(at[i]);
  if (!extra.empty()) x = op.layer("Squeeze", {{"axis", extra}}, {x});
  op.give(0, x, dims, perm);
}

// Where an axis or what is put around it is free: which place of x each place of the result is. dims: of x.
Node padded(const Op &op, Node x, size_t at, std::vector<Dim> dims, const Dim &before, const Dim &after,
            const std::string &mode, double number) {
  Symbols &s = op.symbols();
  const Dim one{1, {}}, none{0, {}}, n = dims[at];
  Node place = op.places(s.largest(s.sum(s.sum(n, before), after), none));
  if (before != none) place = minus(op, place, op.number(before));
  const Node last = op.number(s.sum(n, one, -1)), zero = op.number(none);
  const auto bounded = [&](Node i) {
    return op.layer("BroadcastMinimum", Json::object(),
                    {op.layer("BroadcastMaximum", Json::object(), {i, zero}), last});
  };
  const auto size = [&](Node i) {
    return op.layer("BroadcastMaximum", Json::object(), {i, op.layer("BroadcastSubtract", {{"x1", 0}}, {i})});
  };
  Node from = mode == "wrap"      ? op.layer("Mod", Json::object(), {place, op.number(n)})
              : mode == "reflect" ? minus(op, last, size(minus(op, last, size(place))))
                                  : bounded(place);
  if (mode == "constant") {  // which is place 0 of those in front of which it stands: there may be no others
    Tensor t = make_tensor(op.r.graph().dtype(x), {});
    std::fill_n(t.data.get(), t.bytes(), std::byte{0});
    if (t.dtype == DType::f32) *t.as<float>() = static_cast<float>(number);
    dims[at] = one;
    x = op.layer("Concatenate", {{"axis", at}}, {op.spread(op.constant_node(std::move(t)), dims), x});
    from = op.layer("Where", {{"x2", 0}},
                    {op.layer("Equal", Json::object(), {place, from}), by_number(op, "BroadcastAdd", from, 1)});
  }
  return op.layer("Take", {{"axis", at}}, {x, from});
}

// True if it was done here.
bool pad_free(const Op &op, const std::string &mode) {
  Value &v = op.in(0);
  const auto list = op.node.find("pads") || !op.has(1) ? std::nullopt : op.sizes(1);
  if (!list || v.filled) return false;
  Ints axes;
  if (const auto given = op.opset() >= 18 ? op.integers("axes", 3) : std::nullopt)
    for (int64_t a : *given) axes.push_back(op.axis_of(a, v.rank()));
  else
    for (int i = 0; i < v.rank(); ++i) axes.push_back(i);
  if (list->size() != 2 * axes.size()) return false;
  const Dim none{0, {}};
  bool free = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim &before = (*list)[i], &after = (*list)[i + axes.size()];
    const bool known_axis = v.dims[static_cast<size_t>(axes[i])].known();
    free |=
        !before.known() || !after.known() || (mode != "constant" && !known_axis && (before != none || after != none));
  }
  if (!free) return false;
  const double number = mode == "constant" ? op.number(2, 0) : 0;
  if (v.dtype != DType::f32 && number != 0) op.refuse("of ", v.dtype, " with ", number, " is not supported");
  const Perm perm = v.perm();
  Node x = op.as(v, perm);
  std::vector<Dim> dims = v.dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim &before = (*list)[i], &after = (*list)[i + axes.size()];
    const auto axis = static_cast<size_t>(axes[i]);
    if (before == none && after == none) continue;
    std::vector<Dim> lie;  // in the order of x
    for (int i : perm) lie.push_back(dims[static_cast<size_t>(i)]);
    x = padded(op, x, static_cast<size_t>(inverse(perm)[axis]), std::move(lie), before, after, mode, number);
    dims[axis] = op.symbols().sum(op.symbols().sum(dims[axis], before), after);
  }
  op.give(0, x, dims, perm);
  return true;
}

void pad(const Op &op) {
  Value &v = op.in(0);
  if (pad_free(op, op.string("mode", "constant"))) return;
  const auto list = op.integers("pads", 1);
  Ints axes;
  if (const auto given = op.opset() >= 18 ? op.integers("axes", 3) : std::nullopt)
    for (int64_t a : *given) axes.push_back(op.axis_of(a, v.rank()));
  else
    for (int i = 0; i < v.rank(); ++i) axes.push_back(i);
  if (!list || list->size() != 2 * axes.size()) fail(Code::corrupt_file, "has no pads before and after each axis");
  Margins pads(static_cast<size_t>(v.rank()), {0, 0});
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = (*list)[i], after = (*list)[i + axes.size()];
    if (std::min(before, after) < -max_dim || std::max(before, after) > max_dim)
      op.refuse("has pads of ", before, " and ", after);
    pads[static_cast<size_t>(axes[i])] = {before, after};
  }
  const std::string mode = op.string("mode", "constant");
  if (mode == "constant") {
    const double number = op.opset() < 11 ? op.real("value", 0) : op.number(2, 0);
    if (v.dtype != DType::f32 && number != 0) op.refuse("of ", v.dtype, " with ", number, " is not supported");
    return pad_constant(op, pads, number);
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap") fail(Code::corrupt_file, "has \"mode\" ", mode);
  const Perm perm = v.perm();
  Node x = op.as(v, perm);
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i][0] == 0 && pads[i][1] == 0) continue;
    if (!v.dims[i].known()) op.refuse("\"mode\" ", mode, " along a free axis is not supported");
    if (v.dims[i].factor < 1) op.refuse("has an empty axis");
    const Ints from = sources(op, mode, v.dims[i].factor, pads[i][0], pads[i][1]);
    x = op.layer("Take", {{"indices", from}, {"axis", inverse(perm)[i]}}, {x});
  }
  op.give(0, x, v.dims, perm);
}

// The middle of each axis, or zeros around it.
void center_crop_pad(const Op &op) {
  const Value &v = op.in(0);
  const auto wanted = op.integers("shape", 1);
  Ints axes;
  if (const auto given = op.integers("axes"))
    for (int64_t a : *given) axes.push_back(op.axis_of(a, v.rank()));
  else
    for (int i = 0; i < v.rank(); ++i) axes.push_back(i);
  if (!wanted || wanted->size() != axes.size()) fail(Code::corrupt_file, "has no size for each axis");
  Margins pads(static_cast<size_t>(v.rank()), {0, 0});
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t n = known(op, v.dims[static_cast<size_t>(axes[i])], "an axis"), to = (*wanted)[i];
    if (to < 0 || to > max_dim) fail(Code::corrupt_file, "has a size of ", to);
    const int64_t before = to > n ? (to - n) / 2 : -((n - to) / 2);
    pads[static_cast<size_t>(axes[i])] = {before, to - n - before};
  }
  pad_constant(op, pads, 0);
}

// ---- Resize --------------------------------------------------------------------------------------------------------

struct Resize {
  std::string mode, where, rounding;
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
  double begin = 0, end = 1;  // of tf_crop_and_resize: the part of an axis that is taken

  bool crops() const { return where == "tf_crop_and_resize"; }
};

// Where place i of m lies among n places.
double source(const Resize &how, int64_t i, double scale, int64_t n, int64_t m) {
  const auto x = static_cast<double>(i);
  if (how.where == "asymmetric") return x / scale;
  if (how.where == "align_corners") return m == 1 ? 0 : x * static_cast<double>(n - 1) / static_cast<double>(m - 1);
  if (how.crops()) {
    const auto last = static_cast<double>(n - 1);
    const double x0 = how.begin * last, reach = (how.end - how.begin) * last;
    return m == 1 ? x0 + reach / 2 : x0 + x * reach / static_cast<double>(m - 1);
  }
  if (how.where == "pytorch_half_pixel" && m == 1) return 0;
  if (how.where == "half_pixel_symmetric") {
    const double centre = static_cast<double>(n) / 2,
                 adjust = static_cast<double>(m) / (scale * static_cast<double>(n));
    return centre * (1 - adjust) + (x + 0.5) / scale - 0.5;
  }
  return (x + 0.5) / scale - 0.5;
}

int64_t rounded(const Resize &how, double x) {
  if (how.rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  if (how.rounding == "floor") return static_cast<int64_t>(std::floor(x));
  if (how.rounding == "ceil") return static_cast<int64_t>(std::ceil(x));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

double weight(const Resize &how, double away) {
  const double d = std::abs(away), a = how.cubic;
  if (how.mode == "linear") return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// n x m: what each place of the result takes from those there are.
Tensor blend(const Resize &how, double scale, int64_t n, int64_t m) {
  Tensor t = make_zeros(DType::f32, {n, m});
  const double shrink = how.antialias ? std::min(scale, 1.0) : 1.0;
  const double reach = (how.mode == "linear" ? 1 : 2) / shrink;
  for (int64_t i = 0; i < m; ++i) {
    const double x = source(how, i, scale, n, m);
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

// An axis of x, by its place in x.
Node resized(const Op &op, Node x, int at, const Resize &how, double scale, int64_t n, int64_t m) {
  if (m < 1 || m > 1 << 20 || n < 1) op.refuse("from ", n, " to ", m, " places is not supported");
  if (how.mode == "nearest") {
    op.take(checked_mul(m, place_bytes));
    Ints from;
    for (int64_t i = 0; i < m; ++i)
      from.push_back(std::clamp<int64_t>(rounded(how, source(how, i, scale, n, m)), 0, n - 1));
    return op.layer("Take", {{"indices", from}, {"axis", at}}, {x});
  }
  if (n > 1 << 14 || m > 1 << 14) op.refuse("between ", n, " and ", m, " interpolated elements is not supported");
  op.take(checked_mul(n, m, 4));
  Ints turn(static_cast<size_t>(op.shape(x).rank()));
  for (size_t i = 0; i < turn.size(); ++i) turn[i] = static_cast<int64_t>(i);
  std::swap(turn[static_cast<size_t>(at)], turn.back());
  const bool last = at == op.shape(x).rank() - 1;
  if (!last) x = op.layer("Transpose", {{"perm", turn}}, {x});
  x = op.layer("MatMul", Json::object(), {x, op.constant_node(blend(how, scale, n, m))});
  return last ? x : op.layer("Transpose", {{"perm", turn}}, {x});
}

// Which places of an axis are taken from within the image; none: all.
std::optional<Tensor> within(const Resize &how, double scale, int64_t n, int64_t m) {
  const double slack = 1e-5 * static_cast<double>(n);  // of parts given as float32
  bool all = true;
  Tensor t = make_tensor(DType::boolean, {m});
  for (int64_t i = 0; i < m; ++i) {
    const double x = source(how, i, scale, n, m);
    t.as<uint8_t>()[i] = x >= -slack && x <= static_cast<double>(n - 1) + slack;
    all = all && t.as<uint8_t>()[i] != 0;
  }
  return all ? std::nullopt : std::optional(t);
}

// The whole image by UpSampling, whose places may be free; false: it is none of its forms.
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
  op.give(0, op.layer(text("UpSampling", size.size(), "D"), config, {op.as(v, perm)}), dims, perm);
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

// To sizes of which some may be free, if they are multiples of what is there.
void stretch(const Op &op, const std::vector<size_t> &axes, const std::vector<Dim> &wanted, std::vector<double> &scales,
             Sizes &sizes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim &from = op.in(0).dims[axes[i]], &to = wanted[i];
    const auto times = to / from;
    if (!(times && times->known()) && !(to.known() && from.known() && from.factor > 0))
      op.refuse("between free sizes is not supported");
    scales[axes[i]] =
        times ? static_cast<double>(times->factor) : static_cast<double>(to.factor) / static_cast<double>(from.factor);
    if (to.known()) sizes[axes[i]] = to.factor;
  }
}

// All axes by one scale, the smallest or the largest.
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

// Axis by axis.
void each_axis(const Op &op, Resize how, const std::vector<size_t> &axes, const std::vector<double> &scales,
               const Sizes &sizes) {
  Value &v = op.in(0);
  const std::vector<double> parts = how.crops() ? reals(op, 1) : std::vector<double>{};  // begins, then ends
  if (how.crops() && parts.size() != 2 * axes.size())
    fail(Code::corrupt_file, "has a \"roi\" of ", parts.size(), " numbers for ", axes.size(), " axes");
  for (double part : parts)
    if (!(std::abs(part) < 1e6)) op.refuse("has a \"roi\" of ", part);
  const Perm perm = v.perm();
  Node x = op.as(v, perm), inside = graph::no_node;
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t i = axes[k];
    if (how.crops()) how.begin = parts[k], how.end = parts[k + axes.size()];
    const bool whole = how.begin == 0 && how.end == 1;
    if (whole && scales[i] == 1 && (!sizes[i] || Dim{*sizes[i], {}} == v.dims[i])) continue;
    if (!v.dims[i].known()) op.refuse("of a free axis by ", scales[i], " is not supported; whole numbers are");
    const int64_t n = v.dims[i].factor;
    const int64_t m = sizes[i] ? *sizes[i] : static_cast<int64_t>(std::floor(static_cast<double>(n) * scales[i]));
    x = resized(op, x, inverse(perm)[i], how, scales[i], n, m);
    const auto seen = how.crops() ? within(how, scales[i], n, m) : std::nullopt;
    if (!seen) continue;
    const int after = v.rank() - 1 - inverse(perm)[i];
    Ints dims(static_cast<size_t>(after) + 1, 1);
    dims[0] = m;
    const Node here = op.constant_node(reshaped(*seen, Shape(dims)));
    inside = inside == graph::no_node ? here : op.layer("LogicalAnd", Json::object(), {inside, here});
  }
  if (inside != graph::no_node) x = op.layer("Where", {{"x2", op.real("extrapolation_value", 0)}}, {inside, x});
  op.give(0, x, v.dims, perm);
}

void resize(const Op &op) {
  Value &v = op.in(0);
  const bool old = op.node.op == "Upsample" || op.opset() < 11;
  Resize how{op.string("mode", "nearest"),
             old ? "asymmetric" : op.string("coordinate_transformation_mode", "half_pixel"),
             old ? "floor" : op.string("nearest_mode", "round_prefer_floor"),
             op.real("cubic_coeff_a", -0.75),
             op.integer("exclude_outside", 0) != 0,
             op.integer("antialias", 0) != 0};
  if (how.mode == "bilinear") how.mode = "linear";
  if (v.dtype != DType::f32 && how.mode != "nearest") op.refuse("of ", v.dtype, " is not supported");
  std::vector<size_t> axes;
  if (const auto given = op.integers("axes"))
    for (int64_t a : *given) axes.push_back(static_cast<size_t>(op.axis_of(a, v.rank())));
  else
    for (size_t i = 0; i < v.dims.size(); ++i) axes.push_back(i);
  std::vector<double> scales(v.dims.size(), 1);
  Sizes sizes(v.dims.size());
  if (!old && !is_empty(op, 3)) {
    const auto wanted = op.sizes(3);
    if (!wanted || wanted->size() != axes.size()) op.refuse("to sizes that the model computes is not supported");
    if (const std::string keep = op.string("keep_aspect_ratio_policy", "stretch"); keep != "stretch")
      keep_aspect(op, keep == "not_larger", axes, *wanted, scales, sizes);
    else
      stretch(op, axes, *wanted, scales, sizes);
  } else {
    const Attribute *said = op.node.find("scales");
    const std::vector<double> list = said ? said->floats : reals(op, old ? 1 : 2);
    if (list.size() != axes.size()) fail(Code::corrupt_file, "has ", list.size(), " scales for ", axes.size(), " axes");
    for (size_t i = 0; i < axes.size(); ++i) scales[axes[i]] = list[i];
  }
  for (double s : scales)
    if (!(s > 0 && s < 1e6)) op.refuse("has a scale of ", s);
  if (up_sample(op, how, scales)) return;
  each_axis(op, how, axes, scales, sizes);
}

}  // namespace

std::span<const Row> pad_rows() {
  static constexpr Row rows[] = {
      {"Pad", pad}, {"CenterCropPad", center_crop_pad}, {"Resize", resize}, {"Upsample", resize}};
  return rows;
}

}  // namespace dl4::io::onnx

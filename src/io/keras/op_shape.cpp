// Keras's shape and indexing operations, as layers.

#include "io/keras/operation.hpp"

namespace dl4::io::keras {

using Nodes = std::vector<Node>;

Nodes Operation::add_transpose() {
  const Node x = only();
  const Json given_axes = given("axes");
  std::vector<int64_t> perm = in_order(x);
  if (given_axes.is_null())
    std::reverse(perm.begin(), perm.end());
  else
    perm = axes(given_axes, x);
  return finish("Transpose", {{"perm", perm}}, {x});
}

Nodes Operation::add_swapped() {
  const Node x = only();
  std::vector<int64_t> perm = in_order(x);
  const auto place = [&](const char *key) { return static_cast<size_t>(axis(given(key), x)); };
  std::swap(perm[place("axis1")], perm[place("axis2")]);
  return finish("Transpose", {{"perm", perm}}, {x});
}

Nodes Operation::add_moved() {
  const Node x = only();
  std::map<int64_t, int64_t> moved;  // by target axis
  std::vector<int64_t> perm = in_order(x);
  const std::vector<int64_t> from = axes(given("source"), x), to = axes(given("destination"), x);
  if (from.size() != to.size()) refuse("moves ", from.size(), " axes to ", to.size(), " places");
  for (size_t i = 0; i < from.size(); ++i)
    if (!moved.emplace(to[i], from[i]).second || std::erase(perm, from[i]) == 0) refuse("names an axis twice");
  for (const auto &[place, axis] : moved) perm.insert(perm.begin() + place, axis);
  return finish("Transpose", {{"perm", perm}}, {x});
}

// This library's Reshape keeps the batch axis.
Nodes Operation::add_reshape() {
  const Node x = only();
  Json target = given("newshape");
  if (target.is_null()) target = given("new_shape");
  if (target.is_int64()) target = Json::array({target});
  if (!target.is_array() || target.empty()) refuse("has no shape");
  const Shape s = shape(x);
  int64_t before = 1, after = 1;
  bool rest = false;  // is there a -1 after the batch?
  for (int i = 1; i < s.rank(); ++i) before = s[i] == free_dim || before < 0 ? -1 : checked_mul(before, s[i]);
  Json tail = Json::array();
  for (size_t i = 1; i < target.size(); ++i) {
    const Json &dim = target[i];
    if (!dim.is_null() && !dim.is_int64()) refuse("has a shape of something else than numbers: ", target.shown());
    const int64_t n = dim.is_null() ? -1 : dim.get<int64_t>();
    if (n < 0)
      rest = true;
    else
      after = checked_mul(after, n);
    tail.push_back(n < 0 ? -1 : n);
  }
  const Json &batch = target[0];
  const bool kept = batch.is_null() || batch == -1 || (s.rank() > 0 && s[0] != free_dim && batch == s[0]);
  // With a -1 after it, the batch size must be unchanged; otherwise it follows from the other sizes.
  const bool fits = s.rank() > 0 && kept && (rest ? !(batch == -1) || batch.is_null() : before == after);
  for (size_t i = 0; i < target.size(); ++i)
    if (target[i].is_null()) target[i] = -1;
  if (!fits) return finish("ReshapeBatch", {{"shape", target}}, {x});
  return finish("Reshape", {{"target_shape", std::move(tail)}}, {x});
}

Nodes Operation::add_slice() {
  if (args_.size() != 2 || !args_[1].is_array()) refuse("has no list of numbers to begin at");
  return finish("Slice", {{"start_indices", args_[1]}, {"shape", given("shape")}}, {at(0)});
}

Nodes Operation::add_take() {
  const Node x = at(0);
  if (args_.size() != 2) refuse("has ", args_.size(), " arguments, expected two");
  Json config{{"axis", given("axis")}};
  if (is_tensor_at(args_[1])) return finish("Take", std::move(config), {x, at(1)});
  config["indices"] = args_[1];
  return finish("Take", std::move(config), {x});
}

// Moves the last positions of an axis to the front.
Nodes Operation::add_roll() {
  Node x = only();
  const std::vector<int64_t> shifts = integers(given("shift"), "a shift");
  std::vector<int64_t> along;
  if (const Json a = given("axis"); !a.is_null())
    along = axes(a, x);
  else
    refuse("has no axis");
  if (along.size() != shifts.size() && along.size() != 1 && shifts.size() != 1)
    refuse("has ", shifts.size(), " shifts for ", along.size(), " axes");
  for (size_t i = 0; i < std::max(along.size(), shifts.size()); ++i) {
    const auto a = static_cast<size_t>(along[along.size() == 1 ? 0 : i]);
    const int64_t dim = shape(x)[static_cast<int>(a)], by = shifts[shifts.size() == 1 ? 0 : i];
    if (dim == free_dim) refuse("is along an axis of unknown size");
    const int64_t n = dim == 0 ? 0 : (by % dim + dim) % dim;
    if (n == 0) continue;
    x = layer("Concatenate", {{"axis", a}}, {part(x, a, dim - n, n), part(x, a, 0, dim - n)});
  }
  return finish_as(x);
}

Json Operation::block(Node x, size_t axis, int64_t from, int64_t size) const {
  std::vector<int64_t> begin(static_cast<size_t>(rank(x)), 0), sizes(static_cast<size_t>(rank(x)), -1);
  begin[axis] = from, sizes[axis] = size;
  return {{"start_indices", begin}, {"shape", sizes}};
}

Nodes Operation::add_split() {
  const Node x = only();
  const int64_t along = axis(config_.value("axis", 0), x), dim = shape(x)[static_cast<int>(along)];
  const Json how = given("indices_or_sections");
  std::vector<int64_t> bounds{0};
  if (dim == free_dim) refuse("is along an axis of unknown size");
  if (how.is_int64()) {
    const int64_t n = how.get<int64_t>();
    if (n > 10000) refuse("makes more than 10000 parts");
    if (n < 1 || dim % n != 0) refuse("can't cut an axis of ", dim, " into ", n, " equal parts");
    for (int64_t i = 1; i <= n; ++i) bounds.push_back(i * (dim / n));
  } else {
    for (int64_t i : integers(how, "a bound")) bounds.push_back(std::clamp<int64_t>(i < 0 ? i + dim : i, 0, dim));
    bounds.push_back(dim);
  }
  if (!std::is_sorted(bounds.begin(), bounds.end())) refuse("has bounds that do not ascend: ", how.shown());
  Nodes parts;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    Json config = block(x, static_cast<size_t>(along), bounds[i], bounds[i + 1] - bounds[i]);
    parts.push_back(i == 0 ? finish("Slice", std::move(config), {x})[0] : layer("Slice", std::move(config), {x}));
  }
  return parts;
}

Nodes Operation::add_unstack() {
  const Node x = only();
  const int64_t along = axis(config_.value("axis", 0), x), dim = shape(x)[static_cast<int>(along)];
  if (dim == free_dim) refuse("is along an axis of unknown size");
  if (dim > 10000) refuse("makes more than 10000 parts");
  Nodes parts;
  for (int64_t i = 0; i < dim; ++i) {
    Json config{{"indices", i}, {"axis", along}};
    parts.push_back(i == 0 ? finish("Take", std::move(config), {x})[0] : layer("Take", std::move(config), {x}));
  }
  return parts;
}

Operation::Taken Operation::taken(const Json &item, int64_t dim) const {
  if (item.is_int64()) {
    const int64_t n = item.get<int64_t>();
    if (dim != free_dim && (n >= dim || n < -dim)) refuse("has the index ", n, " for an axis of ", dim);
    return {n, 1, 1, true};
  }
  if (!is_named(item, "__slice__")) refuse("has an index that is neither a number nor a slice: ", item.shown());
  const auto bound = [&](const char *key) -> std::optional<int64_t> {
    const Json given = item["config"].value(key, nullptr);
    if (given.is_null()) return {};
    if (!given.is_int64()) refuse("has a \"", key, "\" that is not a number");
    return given.get<int64_t>();
  };
  const auto low = bound("start"), high = bound("stop");
  const int64_t step = bound("step").value_or(1);
  if (step == 0) refuse("has a step of 0");
  if (!low && !high && (step == 1 || step == -1)) return {0, -1, step};
  if (dim == free_dim) {
    // Ends before the end, or starts counted from it.
    const int64_t from = low.value_or(0), to = high.value_or(INT64_MAX);
    const bool known = !high || (from < 0) == (to < 0) || from == 0 || to < 0;
    if (step != 1 || !known || (from < 0 && to < 0 && high && from >= to))
      refuse("takes places of an axis of unknown size that no layer takes");
    if (!high) return {from, -1};
    if (to < 0 && from >= 0) return {from, -1 + to};
    return {from, std::max<int64_t>(to - from, 0)};
  }
  const auto within = [&](int64_t n) { return n < 0 ? n + dim : n; };
  if (step < 0) {
    const int64_t first = low ? std::clamp<int64_t>(within(*low), -1, dim - 1) : dim - 1,
                  last = high ? std::clamp<int64_t>(within(*high), -1, dim - 1) : -1;
    return {first, std::max<int64_t>(first - last, 0), step};
  }
  const int64_t first = low ? std::clamp<int64_t>(within(*low), 0, dim) : 0,
                last = high ? std::clamp<int64_t>(within(*high), 0, dim) : dim;
  return {first, std::max<int64_t>(last - first, 0), step};
}

// x[...]: slices, then strides, then new and dropped axes.
Nodes Operation::add_item() {
  if (args_.size() != 2) refuse("has ", args_.size(), " arguments, expected two");
  const Node x = at(0);
  const Json items = args_[1].is_array() ? args_[1] : Json::array({args_[1]});
  const auto is_axis = [](const Json &j) { return !j.is_null() && !is_named(j, "__ellipsis__"); };
  const auto given = std::count_if(items.begin(), items.end(), is_axis);
  if (given > rank(x)) refuse("has ", given, " indices for rank ", rank(x));
  std::vector<int64_t> begin, size, added, dropped;
  std::vector<Taken> all;
  int64_t place = 0;  // among the output's axes before any is dropped
  const auto take = [&](const Taken &t) {
    all.push_back(t);
    begin.push_back(t.step < 0 ? 0 : t.begin), size.push_back(t.step < 0 ? -1 : t.size);
    if (t.dropped) dropped.push_back(place);
    ++place;
  };
  for (const Json &item : items) {
    if (is_named(item, "__ellipsis__"))
      for (auto i = rank(x) - given; i > 0; --i) take({});
    else if (item.is_null())
      added.push_back(place++);
    else
      take(taken(item, shape(x)[static_cast<int>(begin.size())]));
  }
  while (begin.size() < static_cast<size_t>(rank(x))) take({});
  Steps steps;
  const bool whole = std::all_of(begin.begin(), begin.end(), [](int64_t n) { return n == 0; }) &&
                     std::all_of(size.begin(), size.end(), [](int64_t n) { return n == -1; });
  if (!whole) steps.emplace_back("Slice", Json{{"start_indices", begin}, {"shape", size}});
  for (size_t axis = 0; axis < all.size(); ++axis) {
    const auto [from, count, step, gone] = all[axis];
    if (step == 1) continue;
    if (step == -1 && count == -1) {
      steps.emplace_back("Flip", Json{{"axis", Json::array({axis})}});
      continue;
    }
    if (count / std::abs(step) > 1 << 22) refuse("takes more than ", 1 << 22, " elements with a step");
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < count; i += std::abs(step)) indices.push_back(step < 0 ? from - i : i);
    if (indices.empty()) refuse("takes nothing");
    steps.emplace_back("Take", Json{{"indices", indices}, {"axis", axis}});
  }
  if (!added.empty()) steps.emplace_back("ExpandDims", Json{{"axis", added}});
  if (!dropped.empty()) steps.emplace_back("Squeeze", Json{{"axis", dropped}});
  return finish(std::move(steps), x);
}

Nodes Operation::add_pad() {
  const Node x = at(0);
  Json width = given("pad_width"), fill = given("constant_values");
  if (args_.size() > 1) fill = args_[1];
  // A number or a pair applies to every axis.
  if (width.is_int64()) width = Json::array({width, width});
  if (width.is_array() && !width.empty() && width[0].is_int64() && width.size() == 2) width = Json::array({width});
  if (width.is_array() && width.size() == 1 && width[0].is_array() && rank(x) != 1) {
    const Json one = width[0];
    width = Json::array();
    for (int i = 0; i < rank(x); ++i) width.push_back(one);
  }
  if (!fill.is_null() && !fill.is_number()) refuse("has a \"constant_values\" that is not a number");
  return finish("Pad", {{"pad_width", width}, {"mode", config_.value("mode", "constant")}, {"constant_values", fill}},
                {x});
}

// Windows along the axes between batch and channels.
Nodes Operation::add_pool() {
  const Node x = only();
  const int n = rank(x) - 2;
  if (n < 1 || n > 3) refuse("is of rank ", rank(x));
  const Json format = given("data_format"), size = given("pool_size");
  Json config{{"pool_size", size}, {"strides", given("strides")}, {"padding", config_.value("padding", "valid")}};
  if (format.is_string()) config["data_format"] = format;
  return finish(text(class_ == "MaxPool" ? "MaxPooling" : "AveragePooling", n, 'D'), std::move(config), {x});
}

// Blocks of pixels to channels, and back.
Nodes Operation::add_blocks() {
  const Node x = only();
  const Json size = given("block_size"), format = given("data_format");
  if (!size.is_int64() || size.get<int64_t>() < 1) refuse("has no size of blocks");
  if (format.is_string() && !(format == "channels_last")) refuse("has \"data_format\": ", format.shown());
  const Shape s = shape(x);
  const int64_t b = size.get<int64_t>();
  if (s.rank() != 4 || s[1] == free_dim || s[2] == free_dim || s[3] == free_dim)
    refuse("expects images of a known size, got ", s);
  const auto reshaped = [&](Node v, std::vector<int64_t> dims) {
    return layer("Reshape", {{"target_shape", dims}}, {v});
  };
  if (class_ == "DepthToSpace") {
    const int64_t c = s[3] / checked_mul(b, b);
    if (c * b * b != s[3]) refuse("can't make blocks of ", b, " x ", b, " of ", s[3], " channels");
    const Node blocks = transposed(reshaped(x, {s[1], s[2], b, b, c}), {0, 1, 3, 2, 4, 5});
    return finish("Reshape", {{"target_shape", Json::array({s[1] * b, s[2] * b, c})}}, {blocks});
  }
  if (s[1] % b != 0 || s[2] % b != 0) refuse("can't cut ", s, " into blocks of ", b, " x ", b);
  const Node blocks = transposed(reshaped(x, {s[1] / b, b, s[2] / b, b, s[3]}), {0, 1, 3, 2, 4, 5});
  return finish("Reshape", {{"target_shape", Json::array({s[1] / b, s[2] / b, b * b * s[3]})}}, {blocks});
}

Nodes Operation::add_resize() {
  const Json size = given("size"), format = given("data_format");
  if (!size.is_array() || size.size() != 2) refuse("has no size");
  for (const char *key : {"pad_to_aspect_ratio", "preserve_aspect_ratio"})
    if (flag(key, false)) refuse("has \"", key, "\": true");
  Json config{{"height", Json(size[0])},
              {"width", Json(size[1])},
              {"interpolation", config_.value("interpolation", "bilinear")},
              {"antialias", flag("antialias", false)},
              {"crop_to_aspect_ratio", flag("crop_to_aspect_ratio", false)}};
  if (format.is_string()) config["data_format"] = format;
  return finish("Resizing", std::move(config), {at(0)});
}

Nodes Operation::add_flip_width() { return finish("Flip", {{"axis", Json::array({-2})}}, {only()}); }

Nodes Operation::add_matrix_transpose() {
  const Node x = only();
  std::vector<int64_t> perm = in_order(x);
  if (perm.size() < 2) refuse("is of rank ", perm.size());
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return finish("Transpose", {{"perm", perm}}, {x});
}

}  // namespace dl4::io::keras

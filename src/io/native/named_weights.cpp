// Applies a naming table: foreign tensors are sliced, joined, transposed and reordered.

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "io/formats.hpp"
#include "io/tensors.hpp"
#include "kinds/field.hpp"

namespace dl4::io {
namespace {

using Named = std::map<std::string, Tensor>;

std::string layer_of(const graph::Weight &w) { return w.name.substr(0, w.name.size() - w.spec.name.size() - 1); }

// How a weight is made, in the order of these fields.
struct Recipe {
  enum class Join { none, add, stack, concatenate } join = Join::none;
  std::vector<std::string> tensors;
  std::vector<int64_t> rows, transpose, gates, reshape;

  void fields(kinds::Fields &f) {
    f("tensors", tensors, "names in the file").required();
    f("rows", rows, "[begin, end) of the first axis of each");
    f("join", join, {"none", "add", "stack", "concatenate"}, "of several").null_means(Join::none);
    f("transpose", transpose, "order of the axes");
    f("gates", gates, "permutation of the equal parts of the last axis");
    f("reshape", reshape, "the weight's shape");
  }
};

template <class... A>
[[noreturn]] void refuse(const A &...a) {
  throw Error(Code::invalid_argument, text(a...)).with("attribute", "names");
}

Recipe recipe_of(const Json &j) {
  Recipe r;
  if (j.is_string())
    r.tensors = {j.get<std::string>()};
  else if (j.is_object())
    kinds::read_fields(r, j);
  else
    refuse("expected a tensor's name or an object, got ", j.shown());
  if (r.tensors.empty()) refuse("\"tensors\" is empty");
  if ((r.tensors.size() > 1) == (r.join == Recipe::Join::none) && r.join != Recipe::Join::stack)
    refuse("\"join\": ", r.tensors.size(), " tensors", r.tensors.size() > 1 ? " and no way to join them" : "");
  return r;
}

std::vector<std::string> names_of(const Named &file) {
  std::vector<std::string> names;
  for (const auto &[name, t] : file) names.push_back(name);
  return names;
}

// A copy as float32.
Tensor floats(const std::string &name, const Tensor &t) try {
  return t.dtype == DType::f32 ? clone(t) : to_float32(t);
} catch (Error &e) {
  e.in(text("tensor \"", name, '"')).with("tensor", name);
  throw;
}

int64_t row_elements(const Tensor &t) { return t.shape[0] == 0 ? 0 : t.elements() / t.shape[0]; }

Tensor cut(const Tensor &t, const std::vector<int64_t> &rows) {
  if (rows.size() != 2 || t.shape.rank() == 0 || rows[0] < 0 || rows[1] < rows[0] || rows[1] > t.shape[0])
    refuse("\"rows\": expected [begin, end) of ", t.shape, ", got ", Json(rows).dump());
  Tensor to = make_tensor(DType::f32, t.shape.with(0, rows[1] - rows[0]));
  std::copy_n(t.as<float>() + rows[0] * row_elements(t), to.elements(), to.as<float>());
  return to;
}

Tensor joined(const std::vector<Tensor> &parts, Recipe::Join how) {
  const Shape &first = parts[0].shape;
  std::vector<int64_t> dims(first.begin(), first.end());
  if (how == Recipe::Join::stack) dims.insert(dims.begin(), static_cast<int64_t>(parts.size()));
  if (how == Recipe::Join::concatenate) {
    if (dims.empty()) refuse("\"join\": numbers have no axis to be concatenated along");
    dims[0] = 0;
  }
  for (const Tensor &t : parts) {
    const bool concatenate = how == Recipe::Join::concatenate;
    const bool fits =
        concatenate ? t.shape.rank() == first.rank() && t.shape.with(0, 0) == first.with(0, 0) : t.shape == first;
    if (!fits) refuse("\"join\": ", first, " and ", t.shape, " do not fit");
    if (concatenate) dims[0] += t.shape[0];
  }
  Tensor to = make_zeros(DType::f32, Shape(dims));
  int64_t at = 0;
  for (const Tensor &t : parts) {
    for (int64_t i = 0; i < t.elements(); ++i) to.as<float>()[at + i] += t.as<float>()[i];
    if (how != Recipe::Join::add) at += t.elements();
  }
  return to;
}

// Whether it is an order of as many things.
bool is_order(const std::vector<int64_t> &list) {
  std::vector<int64_t> all(list.size());
  std::iota(all.begin(), all.end(), 0);
  return std::is_permutation(list.begin(), list.end(), all.begin());
}

// The order of t's axes given by "transpose".
std::vector<int> axes_of(const Tensor &t, const std::vector<int64_t> &perm) {
  if (std::ssize(perm) != t.shape.rank() || !is_order(perm))
    refuse("\"transpose\": expected an order of the axes of ", t.shape, ", got ", Json(perm).dump());
  return {perm.begin(), perm.end()};
}

Tensor reordered(const Tensor &t, const std::vector<int64_t> &gates) {
  const auto n = static_cast<int64_t>(gates.size());
  if (t.shape.rank() == 0 || t.shape.last() % n != 0 || !is_order(gates))
    refuse("\"gates\": expected an order of parts of the last axis of ", t.shape, ", got ", Json(gates).dump());
  Tensor to = make_tensor(DType::f32, t.shape);
  const int64_t last = t.shape.last(), part = last / n;
  for (int64_t row = 0; last > 0 && row < t.elements() / last; ++row)
    for (int64_t g = 0; g < n; ++g)
      std::copy_n(t.as<float>() + row * last + gates[static_cast<size_t>(g)] * part, part,
                  to.as<float>() + row * last + g * part);
  return to;
}

Tensor made(const Recipe &r, const Named &file) {
  std::vector<Tensor> parts;
  for (const std::string &name : r.tensors) {
    const auto it = file.find(name);
    if (it == file.end())
      throw Error(Code::not_found, text("the file has no tensor \"", name, '"'))
          .with("tensor", name)
          .suggest(name, names_of(file));
    parts.push_back(floats(name, it->second));
    if (!r.rows.empty()) parts.back() = cut(parts.back(), r.rows);
  }
  Tensor t = r.join == Recipe::Join::none ? parts[0] : joined(parts, r.join);
  if (!r.transpose.empty()) t = transposed(t, axes_of(t, r.transpose));
  if (!r.gates.empty()) t = reordered(t, r.gates);
  if (r.reshape.empty()) return t;
  const Shape shape(r.reshape);
  if (!shape.known() || shape.elements() != t.elements()) refuse("\"reshape\": ", t.shape, " is not ", shape);
  return reshaped(t, shape);
}

}  // namespace

std::vector<Tensor> named_weights(const graph::Model &m, const Named &file, const Naming &naming) {
  if (!naming.names.is_object()) refuse("\"names\": expected an object, got ", naming.names.shown());
  for (const auto &[name, how] : naming.names.items()) m.weight(std::string(name));
  std::vector<Tensor> values;
  std::set<std::string> used;
  for (const auto &w : m.weights()) {
    const Json *how = naming.names.find(w->name);
    if (!how && !file.count(w->name)) {
      if (!naming.partial)
        throw Error(Code::not_found, text("the file has no tensor \"", w->name, '"'))
            .with("tensor", w->name)
            .with("layer", layer_of(*w))
            .suggest(w->name, names_of(file));
      values.emplace_back();
      continue;
    }
    Tensor t;
    try {
      const Recipe r = recipe_of(how ? *how : Json(w->name));
      used.insert(r.tensors.begin(), r.tensors.end());
      t = w->spec.dtype == DType::f32 ? made(r, file) : file.at(w->name);
    } catch (Error &error) {
      throw error.in("weight \"" + w->name + "\"").with("weight", w->name);
    }
    if (t.dtype != w->spec.dtype || t.shape != w->spec.shape)
      throw Error(Code::shape_mismatch, text("weight \"", w->name, "\": expected ", w->spec.dtype, ' ', w->spec.shape,
                                             ", got ", t.dtype, ' ', t.shape))
          .with("weight", w->name)
          .with("layer", layer_of(*w));
    values.push_back(std::move(t));
  }
  // A table says which tensors are used; without one, an unused tensor belongs to another model.
  if (!naming.partial && naming.names.empty())
    for (const auto &[name, t] : file)
      if (!used.count(name))
        throw Error(Code::not_found, text("the model has no weight for the file's tensor \"", name, '"'))
            .with("tensor", name)
            .with("layer", std::string_view(name).substr(0, name.rfind('/')));
  return values;
}

}  // namespace dl4::io

#include "arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace dl4::tool {
namespace {

// f(elements of their own type) of a dense tensor.
template <class F>
auto visit_elements(const Tensor &t, F f) {
  switch (dl4_tensor_dtype(t)) {
    case DL4_FLOAT64:
      return f(t.data<double>());
    case DL4_INT32:
      return f(t.data<int32_t>());
    case DL4_INT64:
      return f(t.data<int64_t>());
    case DL4_UINT8:
      return f(t.data<uint8_t>());
    case DL4_BOOL:
      return f(std::span(static_cast<uint8_t *>(dl4_tensor_data(t)), static_cast<size_t>(dl4_tensor_bytes(t))));
    default:
      return f(t.data<float>());
  }
}

// All elements of tensors of strings, one after the other.
Tensor strings_of(const Tensors &parts, const Dims &dims) {
  std::vector<std::string> all;
  for (const Tensor &t : parts)
    for (int64_t i = 0; i < elements(t.dims()); ++i) all.emplace_back(t.string(i));
  return Tensor::of_strings(all, dims);
}

// The same elements in another shape.
Tensor reshaped(const Tensor &t, const Dims &dims) {
  if (dl4_tensor_dtype(t) == DL4_STRING) return strings_of({t}, dims);
  Tensor to = zeros(dl4_tensor_dtype(t), dims);
  dl4::check(dl4_tensor_copy_in(to, dl4_tensor_data(t), dl4_tensor_bytes(t)));
  return to;
}

template <class To, class From>
To as(From v, double scale, const std::string &path) {
  const double scaled = static_cast<double>(v) * scale;
  if constexpr (std::is_floating_point_v<To>) {
    const To to = static_cast<To>(scaled);
    if (std::isfinite(scaled) && !std::isfinite(to))
      throw Refusal(refused, '"' + path + "\": the model takes floats of " + std::to_string(8 * sizeof(To)) +
                                 " bits, the file has " + number(scaled));
    return to;
  } else {
    constexpr auto least = static_cast<double>(std::numeric_limits<To>::min()),
                   past = static_cast<double>(std::numeric_limits<To>::max()) + 1;
    if (!(scaled >= least && scaled < past) || scaled != std::trunc(scaled))
      throw Refusal(refused, '"' + path + "\": the model takes integers of " + std::to_string(8 * sizeof(To)) +
                                 " bits, the file has " + number(scaled));
    // Not every integer of 64 bits is a double.
    if constexpr (std::is_integral_v<From>)
      if (scale == 1) return static_cast<To>(v);
    return static_cast<To>(scaled);
  }
}

}  // namespace

Tensor converted(const Tensor &t, int32_t dtype, double scale, const std::string &path) {
  const int32_t given = dl4_tensor_dtype(t);
  if (given == dtype && scale == 1) return t;
  if (given == DL4_STRING && dtype == DL4_STRING) throw Refusal(refused, '"' + path + "\": strings have no scale");
  if (given == DL4_STRING || dtype == DL4_STRING)
    throw Refusal(refused, '"' + path + "\": the model takes " + (given == DL4_STRING ? "numbers" : "strings") +
                               ", the file has " + (given == DL4_STRING ? "strings" : "numbers"));
  const Tensor to = zeros(dtype, t.dims());
  visit_elements(t, [&](auto from) {
    visit_elements(to, [&](auto into) {
      using To = typename decltype(into)::value_type;
      for (size_t i = 0; i < from.size(); ++i)
        into[i] = dtype == DL4_BOOL ? static_cast<To>(from[i] != 0) : as<To>(from[i], scale, path);
    });
  });
  return to;
}

Tensor joined(const Tensors &parts) {
  if (parts.size() == 1) return parts[0];
  Dims dims = parts.at(0).dims();
  if (dims.empty()) throw Refusal(refused, "a number without axes has no batch to be joined");
  dims[0] = 0;
  for (const Tensor &t : parts) {
    const Dims one = t.dims();
    if (one.size() != dims.size() || !std::equal(one.begin() + 1, one.end(), dims.begin() + 1))
      throw Refusal(refused, "files of one input differ in shape: " + shape(parts[0].dims()) + " and " + shape(one));
    dims[0] += one[0];
  }
  if (dl4_tensor_dtype(parts[0]) == DL4_STRING) return strings_of(parts, dims);
  Tensor to = zeros(dl4_tensor_dtype(parts[0]), dims);
  auto *at = static_cast<std::byte *>(dl4_tensor_data(to));
  for (const Tensor &t : parts) {
    std::memcpy(at, dl4_tensor_data(t), static_cast<size_t>(dl4_tensor_bytes(t)));
    at += dl4_tensor_bytes(t);
  }
  return to;
}

Tensor columns_of(const Csv &csv, int64_t first, int64_t n, const Dims &dims, const std::string &path) {
  Dims known = dims;
  known[0] = csv.rows;
  const auto is_free = [](int64_t d) { return d < 0; };
  if (const auto free = std::find_if(known.begin(), known.end(), is_free); free != known.end()) {
    *free = 1;
    if (const int64_t others = elements(known, 1); others > 0) *free = n / others;
  }
  if (std::any_of(known.begin(), known.end(), is_free) || elements(known, 1) != n)
    throw Refusal(refused,
                  "\"" + path + "\": rows of " + std::to_string(n) + " numbers do not fit the shape " + shape(dims));
  const Tensor t = Tensor::zeros<double>(known);
  for (int64_t row = 0; row < csv.rows; ++row)
    std::copy_n(csv.values.begin() + row * csv.columns + first, n, t.data<double>().begin() + row * n);
  return t;
}

Tensor read_input(const std::string &path, const Slot &slot, double scale) {
  if (slot.dtype == DL4_STRING && !ends_with(path, ".npy"))
    throw Refusal(
        refused, "input \"" + slot.name + "\" takes strings: a .npy file has them, or a table of named columns, --csv");
  if (ends_with(path, ".csv")) {
    const Csv csv = read_csv(path);
    return converted(columns_of(csv, 0, csv.columns, slot.dims.empty() ? Dims{-1} : slot.dims, path), slot.dtype, scale,
                     path);
  }
  if (ends_with(path, ".png")) {
    const bool flat = slot.dims.size() == 3;  // [B, H, W]
    if (!flat && slot.dims.size() != 4)
      throw Refusal(refused, "\"" + path + "\": input \"" + slot.name + "\" takes " + shape(slot.dims) +
                                 ", which is no picture [B, H, W, C]");
    const Tensor t = read_png(path, flat ? 1 : slot.dims[3]);
    const Dims dims = t.dims();
    return converted(flat ? reshaped(t, {1, dims[1], dims[2]}) : t, slot.dtype, scale, path);
  }
  if (!ends_with(path, ".npy")) throw Refusal(usage, "\"" + path + "\": an input is a .npy, .csv or .png file");
  Tensor t = converted(Tensor::load(path), slot.dtype, scale, path);
  Dims dims = t.dims();
  if (dims.size() + 1 != slot.dims.size()) return t;
  dims.insert(dims.begin(), 1);
  return reshaped(t, dims);
}

Place place_of(const std::vector<Slot> &slots, const std::string &told, size_t otherwise, const std::string &what) {
  const size_t equals = told.find('=');
  if (equals == told.npos) return {otherwise, told};
  const std::string name = told.substr(0, equals);
  std::string names;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].name == name) return {i, told.substr(equals + 1)};
    names += (i ? ", \"" : "\"") + slots[i].name + '"';
  }
  if (what == "input" && exists(told)) return {otherwise, told};
  throw Refusal(usage, '"' + told + "\": the model has no " + what + " \"" + name + "\", it has " + names);
}

Tensors read_inputs(const std::vector<Slot> &slots, const std::vector<std::string> &told, double scale) {
  std::vector<Tensors> parts(slots.size());
  for (size_t i = 0; i < told.size(); ++i) {
    const auto [at, file] = place_of(slots, told[i], slots.size() == 1 ? 0 : i, "input");
    if (at >= slots.size())
      throw Refusal(usage, "the model has " + std::to_string(slots.size()) + " inputs, got " +
                               std::to_string(told.size()) + " files; say which is whose by --input NAME=FILE");
    parts[at].push_back(read_input(file, slots[at], scale));
  }
  Tensors all;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (parts[i].empty()) throw Refusal(usage, "input \"" + slots[i].name + "\" is missing: --input FILE");
    all.push_back(joined(parts[i]));
  }
  return all;
}

}  // namespace dl4::tool

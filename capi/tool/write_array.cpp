// Arrays as files and as text.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "arrays.hpp"

namespace dl4::tool {
namespace {

// The shortest text that is read as the same number.
template <class T>
std::string exact(T v) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, v).ptr};
}

std::string element(const Tensor &t, int64_t i) {
  const void *data = dl4_tensor_data(t);
  switch (dl4_tensor_dtype(t)) {
    case DL4_STRING:
      return std::string(t.string(i));
    case DL4_FLOAT64:
      return exact(static_cast<const double *>(data)[i]);
    case DL4_INT32:
      return exact(static_cast<const int32_t *>(data)[i]);
    case DL4_INT64:
      return exact(static_cast<const int64_t *>(data)[i]);
    case DL4_UINT8:
    case DL4_BOOL:
      return exact(static_cast<int>(static_cast<const uint8_t *>(data)[i]));
    default:
      return exact(static_cast<const float *>(data)[i]);
  }
}

// A cell of a table.
std::string cell(std::string_view s) {
  if (s.find_first_of(",\"\n") == s.npos) return std::string(s);
  std::string quoted = "\"";
  for (char c : s) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

struct Rows {
  int64_t rows, columns;
};

// [B] is a column.
Rows rows_of(const Dims &dims) { return {dims.empty() ? 1 : dims[0], elements(dims, 1)}; }

std::string csv_of(const Tensor &t, const std::string &path) {
  const Dims dims = t.dims();
  if (dims.size() > 2)
    throw Refusal(refused, '"' + path + "\": a .csv file takes two axes, the output has the shape " + shape(dims) +
                               "; write it as .npy");
  const Rows r = rows_of(dims);
  std::string text;
  for (int64_t i = 0; i < r.rows * r.columns; ++i)
    text += cell(element(t, i)) + ((i + 1) % r.columns == 0 ? '\n' : ',');
  return text;
}

// Axis `axis` from element `at` on, which goes on behind it.
Json nested(const Tensor &t, const Dims &dims, size_t axis, int64_t &at) {
  if (axis == dims.size()) {
    const std::string text = element(t, at++);
    if (dl4_tensor_dtype(t) == DL4_STRING) return text;
    Json j = Json::parse(text, nullptr, false);
    return j.is_discarded() ? Json(text) : j;  // JSON has no nan and inf
  }
  Json list = Json::array();
  for (int64_t i = 0; i < dims[axis]; ++i) list.push_back(nested(t, dims, axis + 1, at));
  return list;
}

}  // namespace

std::string table_of(const std::vector<Slot> &slots, const Tensors &values) {
  std::string text;
  int64_t rows = 0;
  std::vector<Rows> all;
  for (size_t i = 0; i < values.size(); ++i) {
    const Dims dims = values[i].dims();
    if (dims.empty() || dims.size() > 2 || (i && dims[0] != rows))
      throw Refusal(refused, "output \"" + slots[i].name + "\" has the shape " + shape(dims) +
                                 ", a table takes rows of values; use --output");
    rows = dims[0];
    all.push_back(rows_of(dims));
    for (int64_t c = 0; c < all[i].columns; ++c)
      text += (text.empty() ? "" : ",") + cell(slots[i].name + (all[i].columns > 1 ? "_" + std::to_string(c) : ""));
  }
  text += '\n';
  for (int64_t r = 0; r < rows; ++r)
    for (size_t i = 0; i < values.size(); ++i)
      for (int64_t c = 0; c < all[i].columns; ++c)
        text += cell(element(values[i], r * all[i].columns + c)) +
                (i + 1 == values.size() && c + 1 == all[i].columns ? '\n' : ',');
  return text;
}

Json json_of(const Tensor &t) {
  int64_t at = 0;
  return nested(t, t.dims(), 0, at);
}

void write_array(const std::string &path, const Tensor &t) {
  if (ends_with(path, ".npy"))
    t.save(path);
  else if (ends_with(path, ".csv"))
    write_text(path, csv_of(t, path));
  else
    write_text(path, json_of(t).dump() + '\n');
}

std::string preview(const Tensor &t) {
  constexpr int64_t most_rows = 10, most_columns = 10;
  const Rows r = rows_of(t.dims());
  std::string text;
  for (int64_t row = 0; row < std::min(r.rows, most_rows); ++row) {
    for (int64_t i = 0; i < std::min(r.columns, most_columns); ++i)
      text += (i ? "  " : "  ") + element(t, row * r.columns + i);
    text += r.columns > most_columns ? "  ...\n" : "\n";
  }
  return text + (r.rows > most_rows ? "  ...\n" : "");
}

}  // namespace dl4::tool

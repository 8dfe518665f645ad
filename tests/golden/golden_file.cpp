// Reading safetensors, and comparing.
#include "golden_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace golden {
namespace {

[[noreturn]] void stop(const std::string &why) {
  std::fprintf(stderr, "goldens: %s\n", why.c_str());
  std::exit(2);
}

int32_t dtype_of(const std::string &name) {
  static const std::map<std::string, int32_t> names = {{"F32", DL4_FLOAT32}, {"F64", DL4_FLOAT64}, {"I32", DL4_INT32},
                                                       {"I64", DL4_INT64},   {"U8", DL4_UINT8},    {"BOOL", DL4_BOOL}};
  auto it = names.find(name);
  if (it == names.end()) stop("unknown type of data " + name);
  return it->second;
}

int64_t size_of(int32_t dtype) {
  switch (dtype) {
    case DL4_FLOAT64:
    case DL4_INT64:
      return 8;
    case DL4_UINT8:
    case DL4_BOOL:
      return 1;
    default:
      return 4;
  }
}

template <class T>
double number(const char *p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return static_cast<double>(v);
}

void read(const std::filesystem::path &path, std::vector<Case> &cases) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  uint64_t header_size = 0;
  if (bytes.size() > 8) std::memcpy(&header_size, bytes.data(), 8);
  if (header_size == 0 || header_size + 8 > bytes.size()) stop(path.string() + " is no safetensors file");
  Json header = Json::parse(bytes.substr(8, header_size));
  size_t first = cases.size();
  std::map<std::string, size_t> by_name;
  for (Json &fields : Json::parse(header["__metadata__"]["cases"].get<std::string>())) {
    by_name[fields["name"]] = cases.size();
    cases.push_back({path.stem().string(), fields["name"], fields, {}});
  }
  for (auto &[key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    auto slash = key.find('/');
    auto it = by_name.find(key.substr(0, slash));
    if (it == by_name.end()) stop(path.string() + ": " + key + " belongs to no case");
    uint64_t from = entry["data_offsets"][0], to = entry["data_offsets"][1];
    if (from > to || 8 + header_size + to > bytes.size()) stop(path.string() + ": " + key + " lies outside the file");
    Array a{dtype_of(entry["dtype"]), entry["shape"].get<std::vector<int64_t>>(), {}};
    const char *data = bytes.data() + 8 + header_size;
    a.bytes.assign(data + from, data + to);
    if (static_cast<int64_t>(a.bytes.size()) != a.elements() * size_of(a.dtype))
      stop(path.string() + ": size of " + key);
    cases[it->second].tensors[key.substr(slash + 1)] = std::move(a);
  }
  if (cases.size() == first) stop(path.string() + " has no case");
}

std::string shape_text(const std::vector<int64_t> &shape) { return Json(shape).dump(); }

std::string index_text(const std::vector<int64_t> &shape, int64_t i) {
  std::vector<int64_t> index(shape.size());
  for (size_t k = shape.size(); k-- > 0; i /= shape[k]) index[k] = i % shape[k];
  return shape_text(index);
}

}  // namespace

int64_t Array::elements() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

double Array::at(int64_t i) const {
  const char *p = bytes.data() + i * size_of(dtype);
  switch (dtype) {
    case DL4_FLOAT32:
      return number<float>(p);
    case DL4_FLOAT64:
      return number<double>(p);
    case DL4_INT32:
      return number<int32_t>(p);
    case DL4_INT64:
      return number<int64_t>(p);
    default:
      return number<uint8_t>(p);
  }
}

std::vector<double> Array::values() const {
  std::vector<double> v;
  for (int64_t i = 0; i < elements(); ++i) v.push_back(at(i));
  return v;
}

Array Array::rows(int64_t from, int64_t to) const {
  Array a{dtype, shape, {}};
  a.shape[0] = to - from;
  auto row = static_cast<std::ptrdiff_t>(bytes.size()) / shape[0];
  a.bytes.assign(bytes.begin() + from * row, bytes.begin() + to * row);
  return a;
}

Array floats(std::vector<int64_t> shape, const std::vector<float> &values) {
  const char *p = reinterpret_cast<const char *>(values.data());
  return {DL4_FLOAT32, std::move(shape), {p, p + values.size() * sizeof(float)}};
}

Array ids(int64_t n) {
  Array a{DL4_INT32, {n}, std::vector<char>(static_cast<size_t>(n) * 4)};
  for (int32_t i = 0; i < n; ++i) std::memcpy(a.bytes.data() + 4 * i, &i, 4);
  return a;
}

Arrays Case::role(const std::string &role) const {
  Arrays found;
  for (auto it = tensors.lower_bound(role + "/"); it != tensors.end() && it->first.starts_with(role + "/"); ++it)
    found[it->first.substr(role.size() + 1)] = it->second;
  return found;
}

const std::vector<Case> &all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<std::filesystem::path> paths;
    for (const auto &entry : std::filesystem::directory_iterator(DL4_SOURCE_DIR "/tests/golden"))
      if (entry.path().extension() == ".safetensors") paths.push_back(entry.path());
    if (paths.empty()) stop("no files in " DL4_SOURCE_DIR "/tests/golden");
    std::sort(paths.begin(), paths.end());
    std::vector<Case> list;
    for (const auto &path : paths) read(path, list);
    return list;
  }();
  return cases;
}

std::string difference(const Array &expected, const Array &got, double rtol, double atol) {
  std::ostringstream s;
  if (expected.dtype != got.dtype)
    s << "type of data " << expected.dtype << ", got " << got.dtype;
  else if (expected.shape != got.shape)
    s << "shape " << shape_text(expected.shape) << ", got " << shape_text(got.shape);
  if (!s.str().empty()) return "expected " + s.str();
  bool real = expected.dtype == DL4_FLOAT32 || expected.dtype == DL4_FLOAT64;
  double largest = 0;
  for (double b : expected.values())
    if (std::isfinite(b)) largest = std::max(largest, std::fabs(b));
  int64_t wrong = 0, worst = -1;
  double worst_excess = 0, worst_error = 0, worst_limit = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double b = expected.at(i), a = got.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    double limit = real && std::isfinite(b) ? atol + rtol * std::max(std::fabs(b), largest / 10) : 0;
    double error = std::fabs(a - b);
    if (error <= limit) continue;
    ++wrong;
    double excess = std::isfinite(error) && limit > 0 ? error / limit : HUGE_VAL;
    if (worst < 0 || excess > worst_excess) worst = i, worst_excess = excess, worst_error = error, worst_limit = limit;
  }
  if (wrong == 0) return "";
  s.precision(9);
  s << "shape " << shape_text(expected.shape) << ": " << wrong << " of " << expected.elements() << " differ, most at "
    << index_text(expected.shape, worst) << ": expected " << expected.at(worst) << ", got " << got.at(worst)
    << ", error " << worst_error << ", allowed " << worst_limit;
  return s.str();
}

}  // namespace golden

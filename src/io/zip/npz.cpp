// The header of a .npy file is a Python dict with "descr", "fortran_order" and "shape".
#include "io/zip/npz.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked.hpp"
#include "base/json.hpp"
#include "io/bytes.hpp"
#include "io/tensors.hpp"
#include "io/zip/zip.hpp"

namespace dl4::io {
namespace {

constexpr std::string_view magic("\x93NUMPY"), ending(".npy");
constexpr int64_t max_array_header = 65536;

template <class... A>
[[noreturn]] void corrupt_array(const A &...a) {
  fail(Code::corrupt_file, ".npy: ", a...);
}

// Converts {'descr': '<f4', 'shape': (3,), } to JSON.
Json literal(std::string_view header) {
  std::string json;
  bool inside = false;
  for (const char c : header) {
    if (c == '"' || c == '\\') corrupt_array("a header with ", c);
    if (c == '\'') inside = !inside;
    if (!inside && (c == ' ' || c == '\n')) continue;
    if (!inside && !json.empty() && json.back() == ',' && (c == ')' || c == '}' || c == ']')) json.pop_back();
    json += c == '\'' ? '"' : !inside && c == '(' ? '[' : !inside && c == ')' ? ']' : c;
  }
  for (const auto &[python, word] : {std::pair("True", "true"), std::pair("False", "false")})
    for (size_t at = 0; (at = json.find(python, at)) != json.npos;) json.replace(at, std::strlen(python), word);
  try {
    Json j = Json::parse(json);
    if (!j.is_object()) corrupt_array("a header that is not a dict");
    return j;
  } catch (Error &error) {
    error.code = Code::corrupt_file;
    throw error.in(".npy: the header");
  }
}

struct Type {
  char kind = 0;  // f, i, u, b
  int64_t size = 0;
  bool turned = false;  // big-endian
  DType dtype = DType::f32;
};

Type type_of(const Json &descr) {
  const std::string s = descr.is_string() ? descr.get<std::string>() : descr.shown();
  const auto is = [&](std::string_view word) { return s.size() == 3 && std::string_view(s).substr(1) == word; };
  constexpr std::pair<std::string_view, DType> known[] = {{"f2", DType::f32}, {"f4", DType::f32},    {"f8", DType::f64},
                                                          {"i1", DType::i32}, {"i2", DType::i32},    {"u2", DType::i32},
                                                          {"i4", DType::i32}, {"u4", DType::i64},    {"i8", DType::i64},
                                                          {"u1", DType::u8},  {"b1", DType::boolean}};
  for (const auto &[word, dtype] : known)
    if (is(word) && (s[0] == '<' || s[0] == '>' || (s[0] == '|' && word[1] == '1')))
      return {s[1], s[2] - '0', s[0] == '>', dtype};
  throw Error(Code::unsupported, text(".npy: elements of ", Json(s).shown(), "; expected floats, integers or bools"))
      .with("got", s);
}

// The number at p as 8 little-endian bytes.
uint64_t bits_at(const std::byte *p, const Type &t) {
  uint64_t n = 0;
  for (int64_t i = 0; i < t.size; ++i) n |= static_cast<uint64_t>(p[t.turned ? t.size - 1 - i : i]) << (8 * i);
  const auto spare = static_cast<int>(64 - 8 * t.size);
  return t.kind == 'i' ? static_cast<uint64_t>(static_cast<int64_t>(n << spare) >> spare) : n;
}

// The elements from `at` to the end of the source.
Tensor elements_at(const Source &source, int64_t at, const Type &t, const Shape &shape) {
  Tensor to = make_tensor(t.dtype, shape);
  if (t.size == size_of(t.dtype) && !t.turned) {
    source.read(at, to.memory());
  } else {
    std::vector<std::byte> bytes(static_cast<size_t>(source.size() - at));
    source.read(at, bytes);
    const std::byte *from = bytes.data();
    for (int64_t i = 0; i < to.elements(); ++i) {
      uint64_t n = bits_at(from + i * t.size, t);
      if (t.kind == 'f' && t.size == 2) n = std::bit_cast<uint32_t>(from_half(static_cast<uint16_t>(n)));
      std::memcpy(to.data.get() + i * size_of(t.dtype), &n, static_cast<size_t>(size_of(t.dtype)));
    }
  }
  if (t.dtype == DType::boolean)
    for (int64_t i = 0; i < to.elements(); ++i)
      if (to.as<uint8_t>()[i] > 1) corrupt_array("a bool that is ", static_cast<int>(to.as<uint8_t>()[i]));
  return to;
}

std::vector<int64_t> dims_of(const Json &shape) {
  if (!shape.is_array() || shape.size() > max_rank) corrupt_array("a shape of ", shape.shown());
  std::vector<int64_t> dims;
  for (const Json &d : shape) {
    if (!d.is_int64() || d.get<int64_t>() < 0) corrupt_array("a shape of ", shape.shown());
    dims.push_back(d.get<int64_t>());
  }
  return dims;
}

Tensor read_npy(const Source &source, Budget &budget) {
  const auto bytes_at = [&](int64_t at, int64_t size) {
    if (size > source.size() - at) corrupt_array("it ends after ", source.size(), " bytes");
    std::string bytes(static_cast<size_t>(size), '\0');
    source.read(at, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  };
  const std::string first = bytes_at(0, std::min<int64_t>(12, source.size()));
  Cursor c(first, ".npy: the file");
  c.expect(magic);
  const int64_t version = c.small(1);
  c.take(1);
  if (version < 1 || version > 3) fail(Code::unsupported, ".npy: a file of version ", version);
  const int64_t header = c.small(version == 1 ? 2 : 4), begin = (version == 1 ? 10 : 12) + header;
  if (header > max_array_header) corrupt_array("a header of ", header, " bytes");
  const Json j = literal(bytes_at(begin - header, header));
  const Json *descr = j.find("descr"), *fortran = j.find("fortran_order"), *shape = j.find("shape");
  if (!descr || !shape || !fortran || !fortran->is_boolean())
    corrupt_array("a header without descr, fortran_order or shape");
  std::vector<int64_t> dims = dims_of(*shape);
  const bool turned = fortran->get<bool>();
  if (turned) std::reverse(dims.begin(), dims.end());
  const Type type = type_of(*descr);
  const int64_t bytes = checked_mul(Shape(dims).elements(), type.size);
  if (bytes != source.size() - begin)
    corrupt_array("its shape takes ", bytes, " bytes, the file has ", source.size() - begin);
  const int64_t made = checked_mul(Shape(dims).elements(), size_of(type.dtype));
  const bool as_it_is = type.size == size_of(type.dtype) && !type.turned;
  budget.take(checked_add(checked_mul(made, turned ? 2 : 1), as_it_is ? 0 : bytes), ".npy: the array");
  Tensor t = elements_at(source, begin, type, Shape(dims));
  if (!turned) return t;
  std::vector<int> perm(dims.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  return transposed(t, perm);
}

}  // namespace

std::string npy_header(const Tensor &t) {
  const char *descr = t.dtype == DType::f32   ? "<f4"
                      : t.dtype == DType::f64 ? "<f8"
                      : t.dtype == DType::i32 ? "<i4"
                      : t.dtype == DType::i64 ? "<i8"
                      : t.dtype == DType::u8  ? "|u1"
                                              : "|b1";
  std::string shape;
  for (int64_t d : t.shape.dims()) shape += std::to_string(d) + ", ";
  std::string dict = text("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t before = 10, align = 64;
  dict.append(align - (before + dict.size() + 1) % align, ' ');
  dict += '\n';
  std::string header(magic);
  put(header, 1, 2);
  put(header, dict.size(), 2);
  return header + dict;
}

bool is_npz(const Source &source, Budget &budget) {
  if (!is_zip(source)) return false;
  const auto names = Zip(source, budget).names();
  return std::any_of(names.begin(), names.end(), [](const std::string &n) { return n.ends_with(ending); });
}

std::map<std::string, Tensor> read_npz(const Zip &zip, Budget &budget, bool verified) {
  std::map<std::string, Tensor> all;
  for (const std::string &name : zip.names()) {
    if (!name.ends_with(ending)) continue;
    try {
      const Tensor t = as_file_error([&] { return read_npy(*zip.open(name, verified), budget); });
      all.emplace(name.substr(0, name.size() - ending.size()), t);
    } catch (Error &error) {
      throw error.in('"' + name + '"').with("tensor", name);
    }
  }
  return all;
}

Tensor read_numpy(const Source &source, const std::string *name, Budget &budget) {
  if (!is_zip(source)) {
    if (name)
      throw Error(Code::not_found, text("a .npy file has one tensor without a name, asked for \"", *name, '"'))
          .with("tensor", *name);
    return as_file_error([&] { return read_npy(source, budget); });
  }
  return as_file_error([&] {
    const Zip zip(source, budget);
    std::string known;
    for (const std::string &member : zip.names()) {
      if (!member.ends_with(ending)) continue;
      const std::string its = member.substr(0, member.size() - ending.size());
      if (name && its == *name) return read_npy(*zip.open(member, true), budget);
      known += (known.empty() ? "" : ", ") + Json(its).shown();
    }
    Error error(Code::not_found,
                name ? text("the file has no tensor \"", *name, "\", it has ", known)
                     : text("loading from a .npz file requires the name of one of its tensors: ", known));
    if (name) error.with("tensor", *name);
    throw error;
  });
}

std::vector<std::string_view> NpzFile::parts() {
  headers.clear();
  headers.reserve(tensors.size());  // keeps views valid
  std::vector<std::pair<std::string, std::vector<std::string_view>>> members;
  for (const auto &[name, t] : tensors) {
    headers.push_back(npy_header(t));
    members.push_back({name + std::string(ending), {headers.back(), t.chars()}});
  }
  return zip_parts(members, heads);
}

}  // namespace dl4::io

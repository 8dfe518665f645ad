// The header of a .npy file is a Python dict with "descr", "fortran_order" and "shape".
#include "io/zip/npz.hpp"

#include <charconv>
#include <numeric>

#include "base/json.hpp"
#include "base/strings.hpp"
#include "base/utf8.hpp"
#include "io/bytes.hpp"
#include "io/tensors.hpp"

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
  char kind = 0;  // f, i, u, b; of strings U, S
  int64_t size = 0;
  bool turned = false;  // big-endian
  DType dtype = DType::f32;
};

// The length of the elements of "<U12" or "|S5".
std::optional<int64_t> fixed_width(std::string_view descr) {
  if (descr.size() < 3 || (descr[1] != 'U' && descr[1] != 'S') || !std::strchr("<>|", descr[0])) return std::nullopt;
  int32_t n = 0;
  const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), n);
  if (error != std::errc() || end != descr.data() + descr.size() || n < 0) return std::nullopt;
  return n;
}

Type type_of(const Json &descr) {
  const std::string s = descr.is_string() ? descr.get<std::string>() : descr.shown();
  const auto is = [&](std::string_view word) { return s.size() == 3 && std::string_view(s).substr(1) == word; };
  constexpr std::pair<std::string_view, DType> known[] = {{"f2", DType::f32}, {"f4", DType::f32},    {"f8", DType::f64},
                                                          {"i1", DType::i32}, {"i2", DType::i32},    {"u2", DType::i32},
                                                          {"i4", DType::i32}, {"u4", DType::i64},    {"i8", DType::i64},
                                                          {"u1", DType::u8},  {"b1", DType::boolean}};
  if (const auto n = fixed_width(s)) return {s[1], s[1] == 'U' ? checked_mul(*n, 4) : *n, s[0] == '>', DType::string};
  for (const auto &[word, dtype] : known)
    if (is(word) && (s[0] == '<' || s[0] == '>' || (s[0] == '|' && word[1] == '1')))
      return {s[1], s[2] - '0', s[0] == '>', dtype};
  throw Error(Code::unsupported,
              text(".npy: elements of ", Json(s).shown(), "; expected floats, integers, bools or strings"))
      .with("got", s);
}

// The number at p as 8 little-endian bytes.
uint64_t bits_at(const std::byte *p, const Type &t) {
  const uint64_t n = number_at(p, t.size, t.turned);
  const auto spare = static_cast<int>(64 - 8 * t.size);
  return t.kind == 'i' ? static_cast<uint64_t>(static_cast<int64_t>(n << spare) >> spare) : n;
}

// Appends the characters of an element without the NULs that fill it up.
void append_element(const std::byte *p, const Type &t, std::string &to) {
  if (t.kind == 'S') {
    const std::string_view all(reinterpret_cast<const char *>(p), static_cast<size_t>(t.size));
    to += all.substr(0, all.find_last_not_of('\0') + 1);
    return;
  }
  const Type unit{'u', 4, t.turned, DType::i64};
  int64_t n = t.size / 4;
  while (n && bits_at(p + (n - 1) * 4, unit) == 0) --n;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t c = bits_at(p + i * 4, unit);
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) corrupt_array("a character ", c, " that Unicode has not");
    append_utf8(static_cast<char32_t>(c), to);
  }
}

Tensor strings_at(const Source &source, int64_t at, const Type &t, const Shape &shape) {
  std::vector<std::byte> bytes(static_cast<size_t>(source.size() - at));
  source.read(at, bytes);
  std::string all;
  std::vector<size_t> ends{0};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    append_element(bytes.data() + i * t.size, t, all);
    ends.push_back(all.size());
  }
  std::vector<std::string_view> views;
  for (size_t i = 1; i < ends.size(); ++i)
    views.push_back(std::string_view(all).substr(ends[i - 1], ends[i] - ends[i - 1]));
  return copy_of(shape, views, INT64_MAX);
}

// The elements from `at` to the end of the source.
Tensor elements_at(const Source &source, int64_t at, const Type &t, const Shape &shape) {
  if (t.dtype == DType::string) return strings_at(source, at, t, shape);
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
  // Of strings there are the bytes of the file, those of UTF-8 and a copy, with three places each.
  const int64_t needed = type.dtype == DType::string
                             ? checked_add(checked_mul(made, 3), checked_mul(bytes, 3))
                             : checked_add(checked_mul(made, turned ? 2 : 1), as_it_is ? 0 : bytes);
  budget.take(needed, ".npy: the array");
  Tensor t = elements_at(source, begin, type, Shape(dims));
  if (!turned) return t;
  std::vector<int> perm(dims.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  const Tensor y = transposed(t, perm);
  return y.dtype == DType::string ? copy_of(y, INT64_MAX) : y;
}

// The dict and what is before it, in a multiple of 64 bytes.
std::string header_of(const std::string &descr, const Shape &shape) {
  std::string dims;
  for (int64_t d : shape.dims()) dims += std::to_string(d) + ", ";
  std::string dict = text("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", dims, "), }");
  constexpr size_t before = 10, align = 64;
  dict.append(align - (before + dict.size() + 1) % align, ' ');
  dict += '\n';
  std::string header(magic);
  put(header, {{1, 2}, {dict.size(), 2}});
  return header + dict;
}

// The characters of an element; NumPy fills up with NUL, so that one at the end would be lost.
std::u32string characters_of(std::string_view s, int64_t at) {
  std::u32string all;
  for (size_t i = 0, n = 0; i < s.size(); i += n) {
    n = utf8_length(s.substr(i));
    if (n == 0)
      fail(Code::unsupported, "element ", at, ": expected UTF-8, which NumPy's strings are, got \"",
           excerpt(printable(s)), '"');
    all += utf8_character(s.substr(i, n));
  }
  if (!all.empty() && all.back() == 0)
    fail(Code::unsupported, "element ", at, ": a NUL at the end of a string, which NumPy's strings cannot have");
  return all;
}

}  // namespace

NpyArray npy_array(const Tensor &t) {
  if (t.dtype != DType::string) {
    const char *descr = t.dtype == DType::f32   ? "<f4"
                        : t.dtype == DType::f64 ? "<f8"
                        : t.dtype == DType::i32 ? "<i4"
                        : t.dtype == DType::i64 ? "<i8"
                        : t.dtype == DType::u8  ? "|u1"
                                                : "|b1";
    return {header_of(descr, t.shape), t};
  }
  size_t longest = 1;  // NumPy has no shorter ones
  for (int64_t i = 0; i < t.elements(); ++i)
    longest = std::max(longest, characters_of(t.as<String>()[i].view(), i).size());
  const auto width = static_cast<int64_t>(longest);
  if (width > INT32_MAX / 4)
    fail(Code::unsupported, "a string of ", width, " characters, of NumPy's have at most ", INT32_MAX / 4);
  const Tensor all = make_zeros(DType::i32, {checked_mul(t.elements(), width)});
  for (int64_t i = 0; i < t.elements(); ++i) {
    const std::u32string s = characters_of(t.as<String>()[i].view(), i);
    std::copy(s.begin(), s.end(), all.as<int32_t>() + i * width);
  }
  return {header_of(text("<U", width), t.shape), all};
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
  arrays.clear();
  arrays.reserve(tensors.size());  // keeps views valid
  std::vector<std::pair<std::string, std::vector<std::string_view>>> members;
  for (const auto &[name, t] : tensors) {
    arrays.push_back(npy_array(t));
    members.push_back({name + std::string(ending), {arrays.back().header, arrays.back().elements.chars()}});
  }
  return zip_parts(members, heads);
}

}  // namespace dl4::io

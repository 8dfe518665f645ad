// Converts ONNX's tensors of any type.
#include "io/onnx/types.hpp"

#include <cmath>
#include <limits>

#include "base/json.hpp"
#include "base/strings.hpp"
#include "base/utf8.hpp"
#include "io/bytes.hpp"

namespace dl4::io::onnx {
namespace {

constexpr SmallFloat small_floats[] = {
    {Type::float16, 5, 10, 15, 65504, true, true},   {Type::bfloat16, 8, 7, 127, 0x1.fep127f, true, true},
    {Type::float8e4m3fn, 4, 3, 7, 448, false, true}, {Type::float8e4m3fnuz, 4, 3, 8, 240, false, true, true},
    {Type::float8e5m2, 5, 2, 15, 57344, true, true}, {Type::float8e5m2fnuz, 5, 2, 16, 57344, false, true, true},
    {Type::float4e2m1, 2, 1, 1, 6, false, false},
};

enum class Sign { none, natural, integer };  // of integers alone

struct TypeRow {
  const char *name;
  int bits;
  Sign sign;
  std::optional<DType> dtype;
};
// By the type's number.
constexpr TypeRow types[] = {
    {"none", 32, Sign::none, {}},
    {"float", 32, Sign::none, DType::f32},
    {"uint8", 8, Sign::natural, DType::u8},
    {"int8", 8, Sign::integer, DType::i32},
    {"uint16", 16, Sign::natural, DType::i32},
    {"int16", 16, Sign::integer, DType::i32},
    {"int32", 32, Sign::integer, DType::i32},
    {"int64", 64, Sign::integer, DType::i64},
    {"string", 32, Sign::none, DType::string},
    {"bool", 8, Sign::none, DType::boolean},
    {"float16", 16, Sign::none, DType::f32},
    {"double", 64, Sign::none, DType::f32},
    {"uint32", 32, Sign::natural, DType::i64},
    {"uint64", 64, Sign::natural, DType::i64},
    {"complex64", 64, Sign::none, {}},
    {"complex128", 128, Sign::none, {}},
    {"bfloat16", 16, Sign::none, DType::f32},
    {"float8e4m3fn", 8, Sign::none, DType::f32},
    {"float8e4m3fnuz", 8, Sign::none, DType::f32},
    {"float8e5m2", 8, Sign::none, DType::f32},
    {"float8e5m2fnuz", 8, Sign::none, DType::f32},
    {"uint4", 4, Sign::natural, DType::i32},
    {"int4", 4, Sign::integer, DType::i32},
    {"float4e2m1", 4, Sign::none, DType::f32},
    {"float8e8m0", 8, Sign::none, {}},
    {"uint2", 2, Sign::natural, DType::i32},
    {"int2", 2, Sign::integer, DType::i32},
};
bool is_known(Type t) { return t >= Type::none && static_cast<int64_t>(t) < std::ssize(types); }
const TypeRow &row_of(Type t) { return types[is_known(t) ? static_cast<int64_t>(t) : 0]; }

}  // namespace

std::string to_string(Type t) { return is_known(t) ? row_of(t).name : text("type ", static_cast<int64_t>(t)); }

DType stands_for(Type t) {
  if (const auto dtype = row_of(t).dtype) return *dtype;
  throw Error(Code::unsupported, text("data of type ", t, " is not supported")).with("got", to_string(t));
}

int bits_of(Type t) { return row_of(t).bits; }
bool is_signed(Type t) { return row_of(t).sign == Sign::integer; }
bool is_integer(Type t) { return row_of(t).sign != Sign::none; }

const SmallFloat *small_float(Type type) {
  const auto it = std::ranges::find(small_floats, type, &SmallFloat::type);
  return it == std::end(small_floats) ? nullptr : &*it;
}

float decoded(const SmallFloat &f, uint64_t code) {
  const uint64_t sign = code >> (f.exponent_bits + f.mantissa_bits) & 1;
  const uint64_t exponent = code >> f.mantissa_bits & ((uint64_t{1} << f.exponent_bits) - 1);
  const uint64_t mantissa = code & ((uint64_t{1} << f.mantissa_bits) - 1);
  const bool top = exponent + 1 == uint64_t{1} << f.exponent_bits;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  if (f.one_zero && sign && exponent == 0 && mantissa == 0) return nan;
  if (f.has_infinity && top) return mantissa ? nan : sign ? -infinity : infinity;
  const double whole = static_cast<double>(mantissa) + (exponent ? std::ldexp(1.0, f.mantissa_bits) : 0);
  const int power = static_cast<int>(std::max<uint64_t>(exponent, 1)) - f.bias - f.mantissa_bits;
  const auto v = static_cast<float>(std::ldexp(whole, power));
  if (v > f.largest) return nan;  // e4m3fn, whose top exponent has numbers too
  return sign ? -v : v;
}

float nearest(const SmallFloat &f, float x, bool saturate) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (std::isnan(x)) return f.has_nan ? x : 0;
  float near = x;
  if (std::isfinite(x)) {
    int exponent = 0;
    std::frexp(x, &exponent);
    const int power = std::max(exponent - 1, 1 - f.bias) - f.mantissa_bits;
    near = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(x), -power)), power));
  }
  if (std::abs(near) > f.largest) {
    if (saturate || !f.has_nan) return std::copysign(f.largest, x);
    return f.has_infinity ? std::copysign(std::numeric_limits<float>::infinity(), x) : nan;
  }
  return f.one_zero && near == 0 ? 0 : near;
}

int64_t wrapped(Type type, int64_t n) {
  const int gone = 64 - bits_of(type);
  const uint64_t top = static_cast<uint64_t>(n) << gone;
  return is_signed(type) ? static_cast<int64_t>(top) >> gone : static_cast<int64_t>(top >> gone);
}

namespace {

int64_t bytes_of(int64_t numbers, Type t) { return (checked_mul(numbers, bits_of(t)) + 7) / 8; }

// Stores one number from its bits in raw data.
void store(uint64_t bits, Type type, void *to) {
  const auto put = [&](auto v) { std::memcpy(to, &v, sizeof v); };
  switch (type) {
    case Type::float32:
      return put(static_cast<uint32_t>(bits));
    case Type::float16:
      return put(from_half(static_cast<uint16_t>(bits)));
    case Type::bfloat16:
      return put(static_cast<uint32_t>(bits << 16));
    case Type::float8e4m3fn:
    case Type::float8e4m3fnuz:
    case Type::float8e5m2:
    case Type::float8e5m2fnuz:
    case Type::float4e2m1:
      return put(decoded(*small_float(type), bits));
    case Type::uint4:
    case Type::int4:
    case Type::uint2:
    case Type::int2:
      return put(static_cast<int32_t>(wrapped(type, static_cast<int64_t>(bits))));
    case Type::float64:
      return put(static_cast<float>(std::bit_cast<double>(bits)));
    case Type::uint8:
      return put(static_cast<uint8_t>(bits));
    case Type::boolean:
      return put(static_cast<uint8_t>(bits != 0));
    case Type::int8:
      return put(static_cast<int32_t>(static_cast<int8_t>(bits)));
    case Type::int16:
      return put(static_cast<int32_t>(static_cast<int16_t>(bits)));
    case Type::uint16:
      return put(static_cast<int32_t>(static_cast<uint16_t>(bits)));
    case Type::int32:
      return put(static_cast<uint32_t>(bits));
    case Type::uint32:
      return put(static_cast<int64_t>(static_cast<uint32_t>(bits)));
    default:  // int64, and uint64 below 2^63
      if (type == Type::uint64 && bits >> 63) fail(Code::unsupported, "a uint64 past 2^63");
      return put(static_cast<int64_t>(bits));
  }
}

// An external tensor's bytes; the file must be in the model's directory.
Tensor outside_bytes(const Numbers &t, int64_t wanted, Outside &outside) {
  const std::string who = text("tensor \"", std::string(t.name), "\"");
  if (outside.folder.empty())
    throw Error(Code::unsupported, text(who, " lies in another file, \"", t.location,
                                        "\"; that is read for a model that is loaded by its path, with the option "
                                        "\"external_data\" true"))
        .with("tensor", std::string(t.name));
  namespace fs = std::filesystem;
  std::error_code error;
  const bool has_nul = t.location.find('\0') != t.location.npos;
  const fs::path location = has_nul ? fs::path() : os::path(t.location);
  const fs::path folder = fs::weakly_canonical(os::path(outside.folder), error),
                 path = fs::weakly_canonical(folder / location, error);
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (error || has_nul || t.location.empty() || location.is_absolute() || end != folder.end() || rest == path.end())
    throw Error(Code::corrupt_file, text(who, " lies in ", Json(t.location).shown(), ", outside of the model's folder"))
        .with("tensor", std::string(t.name));
  const io::File file(os::utf8(path), INT64_MAX);
  if (t.length >= 0 && t.length != wanted)
    fail(Code::corrupt_file, who, ": expected ", wanted, " bytes, \"", t.location, "\" has the length ", t.length);
  if (t.offset > file.size() || file.size() - t.offset < wanted)
    fail(Code::corrupt_file, who, ": expected ", wanted, " bytes from ", t.offset, " on, \"", t.location, "\" has ",
         file.size());
  if (outside.files.insert(os::utf8(path)).second) outside.budget.add_file(file.size());
  outside.budget.take(wanted, who);
  const Tensor bytes = make_tensor(DType::u8, {wanted});
  file.read(t.offset, bytes.memory());
  return bytes;
}

// Whether its bytes in a file have this library's layout.
bool lies_as_ours(Type type) {
  const bool same = type == Type::float32 || type == Type::uint8 || type == Type::int32 || type == Type::int64;
  return same && std::endian::native == std::endian::little;
}

// Unpacks several numbers per byte, lowest bits first, starting at number `from`.
int64_t unpack(std::string_view raw, Type type, Tensor &to, int64_t from) {
  const int bits = bits_of(type);
  const int64_t size = size_of(to.dtype), end = to.elements();
  for (char c : raw)
    for (int at = 0; at < 8 && from < end; at += bits, ++from)
      store(static_cast<uint8_t>(c) >> at & ((1 << bits) - 1), type, to.data.get() + from * size);
  return from;
}

void read_raw(std::string_view raw, Type type, Tensor &to) {
  const auto size = static_cast<size_t>(size_of(to.dtype));
  if (lies_as_ours(type) && !raw.empty()) {
    std::memcpy(to.data.get(), raw.data(), raw.size());
    return;
  }
  std::byte *at = to.data.get();
  if (bits_of(type) < 8) {
    unpack(raw, type, to, 0);
    return;
  }
  const auto each = static_cast<size_t>(bits_of(type) / 8);
  for (std::string_view left = raw; !left.empty(); at += size) store(take_fixed(left, each, "a tensor"), type, at);
}

// Numbers in their type's field: floats and doubles by size, all others as varints.
void read_fields(const Numbers &t, Tensor &to) {
  const size_t size = static_cast<size_t>(size_of(to.dtype));
  const size_t fixed = t.type == Type::float32 ? 4 : t.type == Type::float64 ? 8 : 0;
  const int64_t wanted = to.elements();
  int64_t n = 0;
  const auto add = [&](uint64_t bits) {
    if (bits_of(t.type) < 8 && n < wanted) {
      const char byte = static_cast<char>(bits);
      n = unpack({&byte, 1}, t.type, to, n);
      return;
    }
    if (n == wanted) fail(Code::corrupt_file, "has more than the ", wanted, " numbers of its shape");
    store(bits, t.type, to.data.get() + static_cast<size_t>(n++) * size);
  };
  for (std::string_view left : t.packed)
    while (!left.empty()) add(fixed ? take_fixed(left, fixed, "a tensor") : take_varint(left, "a tensor"));
  for (uint64_t bits : t.single) add(bits);
  if (n != wanted) fail(Code::corrupt_file, "has ", n, " numbers, its shape ", to.shape, " requires ", wanted);
}

Tensor read_texts(const Numbers &t, const Shape &shape, Outside &outside) {
  if (t.external || !t.raw.empty()) fail(Code::corrupt_file, "has strings outside of their field");
  if (static_cast<int64_t>(t.packed.size()) != shape.elements())
    fail(Code::corrupt_file, "has ", t.packed.size(), " strings, its shape ", shape, " requires ", shape.elements());
  int64_t bytes = 0;
  for (std::string_view s : t.packed) {
    bytes = checked_add(bytes, static_cast<int64_t>(s.size() + sizeof(String)));
    if (const std::string valid = valid_utf8(s); valid != s)
      fail(Code::corrupt_file, "has a string that is no UTF-8: \"", excerpt(valid), '"');
  }
  outside.budget.take(bytes, "it");
  return copy_of(shape, t.packed, INT64_MAX);
}

}  // namespace

Tensor read(const Numbers &t, Outside &outside) {
  try {
    const DType type = stands_for(t.type);
    if (t.dims.size() > max_rank) fail(Code::unsupported, "has ", t.dims.size(), " axes; at most ", max_rank);
    for (int64_t d : t.dims)
      if (d < 0) fail(Code::corrupt_file, "has an axis of ", d);
    const Shape shape(t.dims);
    if (type == DType::string) return read_texts(t, shape, outside);
    const int64_t wanted = bytes_of(shape.elements(), t.type);
    Tensor other;
    if (t.external) other = outside_bytes(t, wanted, outside);
    if (t.external && lies_as_ours(t.type)) return {type, shape, other.data};
    const std::string_view raw = t.external ? other.chars() : t.raw;
    size_t there = raw.size() + 8 * t.single.size();
    for (std::string_view p : t.packed) there += p.size();
    if (static_cast<size_t>(std::min(shape.elements(), wanted)) > there)  // before anything is allocated
      fail(Code::corrupt_file, "has ", there, " bytes, its shape ", shape, " requires ", wanted);
    if (!raw.empty() && static_cast<int64_t>(raw.size()) != wanted)
      fail(Code::corrupt_file, "has ", raw.size(), " bytes, its shape ", shape, " requires ", wanted);
    outside.budget.take(checked_mul(shape.elements(), size_of(type)), "it");
    Tensor tensor = make_tensor(type, shape);
    if (raw.empty() && !t.external)
      read_fields(t, tensor);
    else
      read_raw(raw, t.type, tensor);
    return tensor;
  } catch (Error &error) {
    if (error.code == Code::invalid_argument) error.code = Code::corrupt_file;  // of its shape
    if (error.message.find('"') == std::string::npos) error.in(text("tensor \"", std::string(t.name), '"'));
    throw error.with("tensor", std::string(t.name));
  }
}

}  // namespace dl4::io::onnx

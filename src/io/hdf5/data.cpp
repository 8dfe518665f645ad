// Data of an HDF5 file: types, shapes, chunks, filters.
#include <cstring>

#include "base/inflate.hpp"
#include "io/hdf5/objects.hpp"

namespace dl4::io {

using namespace hdf5;

namespace {

constexpr int64_t gzip = 1, shuffle = 2;
constexpr int64_t max_ratio = 1032;  // of deflate

// Copies the part of a chunk that is within the shape, row by row.
void place_chunk(const std::byte *from, const Dataset &d, const std::vector<int64_t> &place, std::byte *to) {
  const size_t rank = d.dims.size();
  const size_t last = rank - 1;
  std::vector<int64_t> index(rank, 0);
  const int64_t run = std::min(d.chunk[last], d.dims[last] - place[last]) * d.type.size;
  for (;;) {
    int64_t source = 0, target = 0;
    bool inside = true;
    for (size_t i = 0; i < rank; ++i) {
      inside = inside && place[i] + index[i] < d.dims[i];
      source = source * d.chunk[i] + index[i];
      target = target * d.dims[i] + place[i] + index[i];
    }
    if (inside) std::memcpy(to + target * d.type.size, from + source * d.type.size, static_cast<size_t>(run));
    size_t i = last;
    while (i > 0 && ++index[i - 1] == d.chunk[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace

namespace hdf5 {

namespace {

// A type without a base type.
Type simple_type(Cursor &c, int64_t &kind) {
  Type t;
  kind = c.small(1) & 15;
  const int64_t bits = c.small(3);
  t.size = c.small(4);
  t.turned = bits & 1;
  if (kind == 0 && (t.size == 1 || t.size == 2 || t.size == 4 || t.size == 8))
    t.kind = bits & 8 ? Type::Kind::integer : Type::Kind::natural;
  if (kind == 1 && c.left() >= 12) {
    const int64_t from = c.small(2), precision = c.small(2), exponent_at = c.small(1), exponent = c.small(1);
    const int64_t fraction = (c.take(1), c.small(1));
    const bool is_half = t.size == 2 && exponent == 5 && fraction == 10,
               is_single = t.size == 4 && exponent == 8 && fraction == 23,
               is_double = t.size == 8 && exponent == 11 && fraction == 52;
    if ((is_half || is_single || is_double) && from == 0 && precision == 8 * t.size && exponent_at == fraction &&
        !(bits & 64))
      t.kind = Type::Kind::real;
  }
  if (kind == 3) t.kind = Type::Kind::text;
  if (kind == 5) t.kind = Type::Kind::opaque;
  if (kind == 9 && (bits & 15) == 1) t.kind = Type::Kind::texts_elsewhere;
  return t;
}

}  // namespace

Type read_type(Cursor &c) {
  int64_t kind = 0;
  Type t = simple_type(c, kind);
  constexpr int64_t enumeration = 8;  // h5py's bool
  if (kind != enumeration) return t;
  const Type base = simple_type(c, kind);
  return base.size == t.size ? base : t;
}

std::vector<int64_t> read_dims(Cursor &c) {
  const int64_t version = c.small(1), rank = c.small(1);
  if (version != 1 && version != 2) corrupt("a shape of version ", version);
  c.take(1);
  const int64_t type = version == 1 ? (c.take(5), rank > 0) : c.small(1);
  if (rank > 32) corrupt("a shape of rank ", rank);
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  for (int64_t &d : dims) d = length(c);
  if (type == 2) dims.assign(1, 0);  // null dataspace: empty
  return dims;
}

int64_t bytes_of(const std::vector<int64_t> &dims, int64_t each) {
  int64_t n = each;
  for (int64_t d : dims) n = checked_mul(n, d);
  return n;
}

}  // namespace hdf5

void Hdf5::read_chunks(const Dataset &d, std::byte *to) const {
  const size_t rank = d.dims.size();
  int64_t expected = 1;
  if (rank == 0 || d.chunk.size() != rank) corrupt("chunks of rank ", d.chunk.size(), " for a shape of rank ", rank);
  for (size_t i = 0; i < rank; ++i) {
    if (d.chunk[i] < 1) corrupt("a chunk of no elements");
    expected = checked_mul(expected, (d.dims[i] + d.chunk[i] - 1) / d.chunk[i]);
  }
  for (int64_t id : d.filters)
    if (id != gzip && id != shuffle) unsupported("data behind filter ", id, "; gzip and shuffle are supported");
  const int64_t bytes = bytes_of(d.chunk, d.type.size);
  std::set<std::vector<int64_t>> seen;
  each_chunk(blocks_, d.at, rank, [&](std::string stored, int64_t mask, const std::vector<int64_t> &place) {
    for (size_t i = 0; i < rank; ++i)
      if (place[i] >= d.dims[i] || place[i] % d.chunk[i] != 0) corrupt("a chunk lies outside of its dataset");
    if (!seen.insert(place).second) corrupt("a chunk is there twice");
    for (size_t i = d.filters.size(); i-- > 0;) {
      if (mask >> i & 1) continue;
      if (d.filters[i] == shuffle) {
        budget_.take(static_cast<int64_t>(stored.size()), "HDF5: a chunk");
        stored = unshuffled(stored, static_cast<size_t>(d.type.size));
        continue;
      }
      if (bytes / max_ratio > static_cast<int64_t>(stored.size())) corrupt("a chunk claims ", bytes, " bytes");
      budget_.take(bytes, "HDF5: a chunk");
      std::string inflated(static_cast<size_t>(bytes), '\0');
      if (!inflate(stored, std::as_writable_bytes(std::span(inflated)), false))
        corrupt("a chunk is not the ", bytes, " bytes that it should be");
      stored = std::move(inflated);
    }
    if (static_cast<int64_t>(stored.size()) != bytes) corrupt("a chunk has ", stored.size(), " bytes, not ", bytes);
    place_chunk(reinterpret_cast<const std::byte *>(stored.data()), d, place, to);
  });
  if (static_cast<int64_t>(seen.size()) != expected) corrupt("it has ", seen.size(), " chunks of ", expected);
}

Tensor Hdf5::read(const std::string &path) const try {
  const auto it = datasets_.find(path);
  if (it == datasets_.end()) fail(Code::corrupt_file, "HDF5: there is no such dataset");
  Dataset d = it->second;
  // h5py has no type for these; Keras records it in an attribute.
  if (d.type.kind == Type::Kind::opaque && d.type.size == 2 &&
      texts(path, "dtype") == std::vector<std::string>{"bfloat16"})
    d.type.kind = Type::Kind::brain_float;
  const bool real = d.type.kind == Type::Kind::real || d.type.kind == Type::Kind::brain_float;
  if (!real && d.type.kind != Type::Kind::integer && d.type.kind != Type::Kind::natural)
    unsupported("data that are neither floats nor integers of up to 64 bits");
  if (d.dims.size() > max_rank) unsupported("a shape of rank ", d.dims.size(), "; at most ", max_rank);
  const Tensor t{real ? DType::f32 : DType::i64, Shape(d.dims), nullptr};
  const int64_t bytes = bytes_of(d.dims, d.type.size);
  // Refused before allocation if the file can't contain that much.
  const int64_t held = d.layout == Dataset::Layout::compact      ? static_cast<int64_t>(d.compact.size())
                       : d.layout == Dataset::Layout::contiguous ? std::min(d.size, blocks_.size())
                       : d.layout == Dataset::Layout::chunked    ? checked_mul(blocks_.size(), max_ratio)
                                                                 : 0;
  if (bytes > held) corrupt("it claims ", bytes, " bytes, the file has ", held);
  const bool as_it_is = real && d.type.size == 4 && !d.type.turned;
  budget_.take(checked_add(t.bytes(), as_it_is ? 0 : bytes), "HDF5: the dataset");
  Tensor out{t.dtype, t.shape, allocate(t.bytes())};
  const Bytes place = as_it_is ? out.data : allocate(bytes);
  if (bytes == 0) return out;
  if (d.layout == Dataset::Layout::compact)
    std::memcpy(place.get(), d.compact.data(), static_cast<size_t>(bytes));
  else if (d.layout == Dataset::Layout::contiguous)
    blocks_.read(d.at, {place.get(), static_cast<size_t>(bytes)}, "the data");
  else
    read_chunks(d, place.get());
  if (!as_it_is) read_elements(place.get(), d.type, out);
  return out;
} catch (Error &error) {
  if (error.code == Code::invalid_argument) error.code = Code::corrupt_file;
  throw error.in('"' + path + '"').with("tensor", path);
}

}  // namespace dl4::io

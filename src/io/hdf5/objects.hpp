// The structures of an HDF5 file below its objects, for hdf5*.cpp.
#pragma once

#include <functional>
#include <map>

#include "io/bytes.hpp"
#include "io/hdf5/hdf5.hpp"

namespace dl4::io::hdf5 {

constexpr uint64_t nowhere = ~uint64_t{0};  // the address of what is not there

template <class... A>
[[noreturn]] void corrupt(const A &...a) {
  fail(Code::corrupt_file, "HDF5: ", a...);
}
template <class... A>
[[noreturn]] void unsupported(const A &...a) {
  fail(Code::unsupported, "HDF5: ", a...);
}

constexpr size_t max_name = 1024;  // of a member of a group

// An address or a size.
inline int64_t length(Cursor &c) {
  const uint64_t n = c.number(8);
  if (n > static_cast<uint64_t>(INT64_MAX)) corrupt("an address or size of ", n);
  return static_cast<int64_t>(n);
}

// Of a message of an object.
enum Message : int64_t {
  dataspace = 1,
  link_info = 2,
  datatype = 3,
  link = 6,
  layout = 8,
  filters = 11,
  attribute = 12,
  continuation = 16,
  symbol_table = 17,
  attribute_info = 21
};

Type read_type(Cursor &c);
std::vector<int64_t> read_dims(Cursor &c);
// Their product times the size of one, as bytes; refuses dims that no tensor has.
int64_t bytes_of(const std::vector<int64_t> &dims, int64_t each);

// f(name, address) for each member of a group in a symbol table.
void each_symbol(Blocks &b, int64_t tree, int64_t heap, const std::function<void(std::string, int64_t)> &f);
// f(object) for each that a B-tree of version 2 names in a fractal heap; `prefix`: of a record, bytes before its name
// in the heap.
void each_in_heap(Blocks &b, int64_t tree, int64_t heap, size_t prefix, const std::function<void(std::string)> &f);
// Those of a global heap, by their index.
std::map<int64_t, std::string> global_objects(Blocks &b, int64_t heap);
// f(stored bytes, mask of filters left out, place of the first element) for each chunk.
void each_chunk(Blocks &b, int64_t tree, size_t rank,
                const std::function<void(std::string, int64_t, const std::vector<int64_t> &)> &f);

}  // namespace dl4::io::hdf5

// Low-level structures of HDF5, for hdf5*.cpp.
#pragma once

#include "io/bytes.hpp"
#include "io/hdf5/hdf5.hpp"

namespace dl4::io::hdf5 {

constexpr uint64_t nowhere = ~uint64_t{0};  // the undefined address

template <class... A>
[[noreturn]] void corrupt(const A &...a) {
  fail(Code::corrupt_file, "HDF5: ", a...);
}
template <class... A>
[[noreturn]] void unsupported(const A &...a) {
  fail(Code::unsupported, "HDF5: ", a...);
}

constexpr size_t max_name = 1024;  // of a group's member

// An address or a size.
inline int64_t length(Cursor &c) {
  const uint64_t n = c.number(8);
  if (n > static_cast<uint64_t>(INT64_MAX)) corrupt("an address or size of ", n);
  return static_cast<int64_t>(n);
}

// Message types of object headers.
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
// Product of dims times the element size; refuses dims that no tensor can have.
int64_t bytes_of(const std::vector<int64_t> &dims, int64_t each);

// Converts numbers of that type to the tensor's: float32 or int64.
void read_elements(const std::byte *from, const Type &type, Tensor &to);
// Undoes HDF5's shuffle filter, which stores the elements' first bytes, then their second ones, and so on.
std::string unshuffled(const std::string &from, size_t each);

// Calls f(name, address) for each member of a symbol-table group.
void each_symbol(Blocks &b, int64_t tree, int64_t heap, const std::function<void(std::string, int64_t)> &f);
// Calls f(object) for each object that a version 2 B-tree lists in a fractal heap. `prefix`: bytes of a record before
// the heap id.
void each_in_heap(Blocks &b, int64_t tree, int64_t heap, size_t prefix, const std::function<void(std::string)> &f);
// Objects of a global heap, by index.
std::map<int64_t, std::string> global_objects(Blocks &b, int64_t heap);
// Calls f(stored bytes, mask of skipped filters, offset of the first element) for each chunk.
void each_chunk(Blocks &b, int64_t tree, size_t rank,
                const std::function<void(std::string, int64_t, const std::vector<int64_t> &)> &f);

}  // namespace dl4::io::hdf5

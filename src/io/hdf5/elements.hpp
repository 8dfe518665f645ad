// Conversion of a dataset's elements.
#pragma once

#include <cstddef>
#include <string>

#include "base/tensor.hpp"
#include "io/hdf5/objects.hpp"

namespace dl4::io::hdf5 {

// Converts numbers of that type to the tensor's: float32 or int64.
void read_elements(const std::byte *from, const Type &type, Tensor &to);
// Undoes HDF5's shuffle filter, which stores the elements' first bytes, then their second ones, and so on.
std::string unshuffled(const std::string &from, size_t each);

}  // namespace dl4::io::hdf5

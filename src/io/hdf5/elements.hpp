// Loops over the numbers of a dataset.
#pragma once

#include <cstddef>
#include <string>

#include "base/tensor.hpp"
#include "io/hdf5/objects.hpp"

namespace dl4::io::hdf5 {

// Numbers of that type, as the tensor's: float32 or int64.
void read_elements(const std::byte *from, const Type &type, Tensor &to);
// Each byte of all elements, behind each other, back into elements.
std::string unshuffled(const std::string &from, size_t each);

}  // namespace dl4::io::hdf5

// NumPy's .npz: a zip archive with a .npy file per tensor.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.hpp"
#include "io/zip/zip.hpp"

namespace dl4::io {

bool is_npz(const Source &source, Budget &budget);
// All tensors by name, without ".npy": 2-byte floats as float32, integers below 4 bytes as int32. Refuses with
// CORRUPT_FILE what is invalid, with UNSUPPORTED, by its descr, what is neither numbers nor bool, and with
// OUT_OF_MEMORY what exceeds the budget.
std::map<std::string, Tensor> read_npz(const Zip &zip, Budget &budget, bool verified);

// The tensor of this name in a .npz file, or with `name` null the one in a .npy file.
Tensor read_numpy(const Source &source, const std::string *name, Budget &budget);
// The header of a .npy file, which the tensor's bytes follow.
std::string npy_header(const Tensor &t);

// The bytes of an archive of named tensors, as parts in its own memory and in the tensors.
struct NpzFile {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::string> headers, heads;

  std::vector<std::string_view> parts();
};

}  // namespace dl4::io

// NumPy's .npz: a zip archive of .npy members, one a tensor.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.hpp"
#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

class Zip;

bool is_npz(const Zip &zip);
// All tensors by their names, without ".npy": floats of 2 bytes as float32, what is smaller than an int32 as that.
// Refuses with CORRUPT_FILE what is not sound, with UNSUPPORTED, by its descr, what is neither numbers nor bools, and
// with OUT_OF_MEMORY what is past the budget.
std::map<std::string, Tensor> read_npz(const Zip &zip, Budget &budget, bool verified);

// Out of a .npz file the tensor of a name; out of a .npy file, where `name` is null, its own.
Tensor read_numpy(const Source &source, const std::string *name, Budget &budget);
// The header of a .npy file, behind which the tensor's bytes stand.
std::string npy_header(const Tensor &t);

// The bytes of an archive of tensors by their names, in parts that lie in it and in the tensors.
struct NpzFile {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::string> headers, heads;

  std::vector<std::string_view> parts();
};

}  // namespace dl4::io

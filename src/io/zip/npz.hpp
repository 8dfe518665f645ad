// NumPy's .npz: a zip archive with a .npy file per tensor.
#pragma once

#include "io/zip/zip.hpp"

namespace dl4::io {

bool is_npz(const Source &source, Budget &budget);
// All tensors by name, without ".npy": 2-byte floats as float32, integers below 4 bytes as int32, strings of fixed width
// without the NULs that fill them up. Refuses with CORRUPT_FILE what is invalid, with UNSUPPORTED, by its descr, what is
// neither numbers, bool nor strings, and with OUT_OF_MEMORY what exceeds the budget.
std::map<std::string, Tensor> read_npz(const Zip &zip, Budget &budget, bool verified);

// The tensor of this name in a .npz file, or with `name` null the one in a .npy file.
Tensor read_numpy(const Source &source, const std::string *name, Budget &budget);
// A .npy file: a header, then the bytes of the elements, of strings those of NumPy's fixed width. Refuses a string that
// NumPy's cannot be with UNSUPPORTED.
struct NpyArray {
  std::string header;
  Tensor elements;
};
NpyArray npy_array(const Tensor &t);

// The bytes of an archive of named tensors, as parts in its own memory and in the tensors.
struct NpzFile {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<NpyArray> arrays;
  std::vector<std::string> heads;

  std::vector<std::string_view> parts();
};

}  // namespace dl4::io

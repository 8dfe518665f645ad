// The images of Fashion-MNIST, from its files.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace dl4_test {

constexpr int64_t side = 28, pixels = side * side;

inline std::vector<uint8_t> read_idx(const std::string &path, size_t header, size_t bytes) {
  std::vector<uint8_t> data(header + bytes);
  gzFile file = gzopen(path.c_str(), "rb");
  const int read = file ? gzread(file, data.data(), static_cast<unsigned>(data.size())) : -1;
  if (file) gzclose(file);
  if (read != static_cast<int>(data.size())) throw std::runtime_error("cannot read " + path);
  data.erase(data.begin(), data.begin() + static_cast<int64_t>(header));
  return data;
}

// part: "train" or "t10k", of which the first n are read.
struct Samples {
  std::vector<uint8_t> images, labels;
  Samples(const std::string &folder, const std::string &part, size_t n)
      : images(read_idx(folder + "/" + part + "-images-idx3-ubyte.gz", 16, n * pixels)),
        labels(read_idx(folder + "/" + part + "-labels-idx1-ubyte.gz", 8, n)) {}
};

}  // namespace dl4_test

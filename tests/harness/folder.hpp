// Files whole, and a folder that is there as long as the test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace dl4_test {

inline std::string bytes_of(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Folder : public ::testing::Test {
 public:
  Folder() {
    std::random_device random;
    do folder_ = std::filesystem::temp_directory_path() / ("dl4-test-" + std::to_string(random()));
    while (!std::filesystem::create_directory(folder_));
  }
  ~Folder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string &name) const { return (folder_ / name).string(); }
  std::string put(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string get(const std::string &name) const { return bytes_of(path(name)); }
  size_t count() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }

 protected:
  std::filesystem::path folder_;
};

}  // namespace dl4_test

// The safetensors format: named tensors and a string-to-string metadata map, and nothing that can run.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/tensor.hpp"

namespace dl4::io {

struct Archive {
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<std::string, Tensor>> tensors;

  std::map<std::string, Tensor> by_name() const;
};

// With a checksum per tensor in the metadata ("checksums"). Refuses with INVALID_ARGUMENT what could not be read.
std::string write_archive(const Archive &a);
// Refuses with CORRUPT_FILE anything that is not whole and sound: header, dtypes, shapes, offsets; and, with `verify`,
// checksums that do not fit. Nothing is allocated before the file itself has shown that it holds that many bytes; JSON
// that would take more than the limit is refused with OUT_OF_MEMORY.
Archive read_archive(std::span<const std::byte> bytes, bool verify, int64_t memory_limit = INT64_MAX);

// Json::parse of a text whose value must be an object; what is wrong with it is told with `code`.
Json parse_object(std::string_view text, Code code, const char *what, int64_t memory_limit = INT64_MAX);

}  // namespace dl4::io

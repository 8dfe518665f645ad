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

// With checksums in the metadata: of each tensor ("checksums") and of the header ("header_checksum", over the eight
// bytes of its length and itself, taken with 16 zeros in that place). Refuses with INVALID_ARGUMENT what could not be
// read.
std::string write_archive(const Archive &a);
// Refuses with CORRUPT_FILE anything that is not whole and sound: header, dtypes, shapes, offsets, names twice. Nothing
// is allocated before the file itself has shown that it holds that many bytes; JSON that would take more than the limit
// is refused with OUT_OF_MEMORY.
Archive read_archive(std::span<const std::byte> bytes, int64_t memory_limit = INT64_MAX);
// Refuses with CORRUPT_FILE checksums that are missing or do not fit. `a` was read from `bytes`.
void verify_archive(const Archive &a, std::span<const std::byte> bytes, int64_t memory_limit = INT64_MAX);

// Json::parse of a text whose value must be an object; what is wrong with it is told with `code`.
Json parse_object(std::string_view text, Code code, const char *what, int64_t memory_limit = INT64_MAX);

}  // namespace dl4::io

// The safetensors format: named tensors and a string-to-string metadata map, and nothing that can run.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/tensor.hpp"
#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

struct Archive {
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::string head;  // of the file that it was read from

  std::map<std::string, Tensor> by_name() const;
};

// A file is its head, then the tensors' bytes. With CRC-32s in the metadata, eight hexadecimal digits: of each tensor
// ("crc32", an object as JSON) and of the head ("header_crc32", taken with zeros in that place). Refuses with
// INVALID_ARGUMENT what could not be read.
std::string head_of(const Archive &a);
// The parts of the file, in memory that `head` and `a` keep.
std::vector<std::string_view> parts(const std::string &head, const Archive &a);
std::string to_bytes(const Archive &a);

// Does it begin as such a file does?
bool is_safetensors(const Source &source);
// Floats of 2 bytes come as float32. Refuses with CORRUPT_FILE anything that is not whole and sound: header, dtypes,
// shapes, offsets, names twice. Nothing is allocated before the file itself has shown that it holds that many bytes;
// what is past the budget is refused with OUT_OF_MEMORY. wanted: by name; other tensors have no data.
Archive read_archive(const Source &source, Budget &budget, const std::function<bool(const std::string &)> &wanted = {});
// Refuses with CORRUPT_FILE an archive that was read if its checksums are missing or do not fit what was read of it.
void verify(const Archive &a, Budget &budget);

// Json::parse of a text whose value must be an object; what is wrong with it is told with `code`. Of a load, by its
// budget.
Json parse_object(std::string_view text, Code code, const char *what, Budget &budget);
Json parse_object(std::string_view text, Code code, const char *what);

}  // namespace dl4::io

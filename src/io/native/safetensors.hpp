// The safetensors format: named tensors and string metadata, no code.
#pragma once

#include <map>

#include "base/json.hpp"
#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

struct Archive {
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::string head;  // header of the file it was read from

  std::map<std::string, Tensor> by_name() const;
};

// The head of the file, then the tensors' bytes. The metadata has CRC-32s of eight hexadecimal digits, of each tensor
// ("crc32", a JSON object) and of the head ("header_crc32", computed with zeros in its place). Refuses with
// INVALID_ARGUMENT what could not be read.
void write_archive(const Archive &a, const Write &write);
std::string to_bytes(const Archive &a);

// Whether it starts like such a file.
bool is_safetensors(const Source &source);
// 2-byte floats become float32. Refuses with CORRUPT_FILE whatever is incomplete or invalid: header, dtypes, shapes,
// offsets, duplicate names. Allocates only after the file was found to contain that many bytes; exceeding the budget is
// refused with OUT_OF_MEMORY. wanted: by name; other tensors have no data.
Archive read_archive(const Source &source, Budget &budget, const std::function<bool(const std::string &)> &wanted = {});
// Refuses with CORRUPT_FILE an archive whose checksums are missing or don't match what was read.
void verify(const Archive &a, Budget &budget);

// Json::parse of an object; errors have the code `code`. Accounts in the load's budget.
Json parse_object(std::string_view text, Code code, const char *what, Budget &budget);
Json parse_object(std::string_view text, Code code, const char *what);
// The text of a file's object; UNSUPPORTED where parse_object() would refuse it.
std::string file_text(const Json &object, const char *what);

}  // namespace dl4::io

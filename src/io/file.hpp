// Whole files: read with a limit, written all or nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dl4::io {

// Refuses with NOT_FOUND or IO (naming path and reason) or, past `limit` bytes, with INVALID_ARGUMENT.
std::string read_file(const std::string &path, int64_t limit);

// When this returns, the bytes are on the disk under `path`; at any instant before, the old file is there whole. A
// symbolic link is followed, and mode and owner of the old file are kept. A failure leaves the old file and no other.
void write_file(const std::string &path, std::string_view bytes);

}  // namespace dl4::io

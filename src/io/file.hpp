// Whole files: read with a limit, written all or nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dl4::io {

// Refuses with NOT_FOUND or IO (naming path and reason) or, past `limit` bytes, with INVALID_ARGUMENT. Only a regular
// file is read: nothing here waits for another process.
std::string read_file(const std::string &path, int64_t limit);

// When this returns, the bytes are on the disk under `path`; at any instant before, the old file is there whole. A
// symbolic link is followed, and mode and owner of the old file are kept. A failure leaves the old file and no other,
// unless it says that the new one is in place: then it is not known to be on the disk.
void write_file(const std::string &path, std::string_view bytes);

}  // namespace dl4::io

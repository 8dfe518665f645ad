#include "base/inflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <climits>

#include "base/error.hpp"

namespace dl4 {

bool inflate(std::string_view from, std::span<std::byte> to, bool raw) {
  z_stream z{};
  if (inflateInit2(&z, raw ? -MAX_WBITS : MAX_WBITS) != Z_OK) fail(Code::out_of_memory, "no memory to inflate");
  struct End {
    z_stream &z;
    ~End() { inflateEnd(&z); }
  } end{z};
  size_t read = 0, written = 0;
  int status = Z_OK;
  std::byte none{};  // a byte to be left free, where nothing is expected
  while (status == Z_OK) {
    z.next_in = const_cast<Bytef *>(reinterpret_cast<const Bytef *>(from.data() + read));
    z.avail_in = static_cast<uInt>(std::min<size_t>(from.size() - read, INT_MAX));
    z.next_out = reinterpret_cast<Bytef *>(to.empty() ? &none : to.data() + written);
    const uInt in = z.avail_in, out = z.avail_out = static_cast<uInt>(std::min<size_t>(to.size() - written, INT_MAX));
    status = ::inflate(&z, Z_NO_FLUSH);
    read += in - z.avail_in;
    written += out - z.avail_out;
    if (status == Z_OK && in == z.avail_in && out == z.avail_out) break;
  }
  return status == Z_STREAM_END && written == to.size() && read == from.size();
}

std::string inflated(std::string_view from, int64_t size) {
  std::string text(static_cast<size_t>(size), '\0');
  if (!inflate(from, std::as_writable_bytes(std::span(text)), true))
    fail(Code::internal, "a text of the library is not whole");
  return text;
}

}  // namespace dl4

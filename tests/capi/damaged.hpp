// What becomes of files on the way.
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>

namespace dl4_test {

// A file with some of its bytes changed, taken out, put in or moved.
inline std::string damaged(std::string file, std::mt19937_64 &random) {
  const auto below = [&](size_t n) { return n ? static_cast<size_t>(random() % n) : 0; };
  for (size_t n = 1 + below(3); n; --n) {
    const size_t at = below(file.size());
    switch (below(6)) {
      case 0:
        file[at] = static_cast<char>(file[at] ^ (1 << below(8)));
        break;
      case 1:
        file[at] = static_cast<char>(random());
        break;
      case 2: {  // a number of eight bytes: an address, a size
        const uint64_t values[] = {
            0, 1, file.size(), file.size() - 1, UINT64_MAX, uint64_t{1} << 40, below(file.size())};
        const uint64_t v = values[below(std::size(values))];
        std::memcpy(&file[below(file.size() - 8)], &v, 1 + below(8));
        break;
      }
      case 3: {  // one structure in the place of another
        const size_t size = 8 * (1 + below(16)), to = below(file.size() - size) / 8 * 8;
        std::memmove(&file[to], &file[below(file.size() - size) / 8 * 8], size);
        break;
      }
      case 4:
        file.resize(file.size() - below(64));
        break;
      default:
        file.insert(at, 1 + below(8), static_cast<char>(random()));
    }
  }
  return file;
}

}  // namespace dl4_test

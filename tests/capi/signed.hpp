// Files whose header was changed, with checksums that fit again.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace dl4_test {

inline std::string checksum(std::string_view bytes) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08lx",
                crc32(0, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(bytes.size())));
  return digits;
}

// Header and data as a file. The sums of tensors are made anew for those that lie inside the data, as far as the header
// says where, unless `keep`; that of the header if it has a place.
inline std::string with_sums(nlohmann::json header, const std::string &data, bool keep = false) {
  using nlohmann::json;
  json sums = json::object();
  for (const auto &[name, t] : header.items()) {
    if (name == "__metadata__" || !t.is_object() || !t.contains("data_offsets")) continue;
    const json &at = t["data_offsets"];
    if (!at.is_array() || at.size() != 2 || !at[0].is_number_unsigned() || !at[1].is_number_unsigned()) continue;
    const auto from = at[0].get<uint64_t>(), to = at[1].get<uint64_t>();
    if (from <= to && to <= data.size()) sums[name] = checksum(std::string_view(data).substr(from, to - from));
  }
  const std::string sum = "header_crc32", zeros(8, '0');
  if (header.is_object() && header.contains("__metadata__") && header["__metadata__"].is_object()) {
    json &metadata = header["__metadata__"];
    if (!keep) metadata["crc32"] = sums.dump();
    metadata[sum] = zeros;
  }
  std::string text = header.dump(), file(8, '\0');
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t n = text.size();
  std::memcpy(file.data(), &n, 8);
  file += text;
  const std::string key = '"' + sum + "\":\"";
  if (size_t place = file.find(key); place != std::string::npos)
    file.replace(place + key.size(), zeros.size(), checksum(file));
  return file + data;
}

}  // namespace dl4_test

// Zip archives: members stored or deflated, with random access; written stored.
#pragma once

#include <map>

#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

inline bool is_zip(const Source &source) { return begins(source, "PK\x03\x04"); }

class Zip {
 public:
  // Reads the directory; the source and the budget must outlive it. Refuses with CORRUPT_FILE invalid archives: members
  // that overlap or are out of range, and duplicate, absolute or ".." names.
  Zip(const Source &source, Budget &budget);
  bool contains(const std::string &name) const { return members_.count(name) != 0; }
  std::vector<std::string> names() const;
  // A member's bytes: in place if stored, else inflated. verified: compares the checksum. Refuses missing or encrypted
  // members, and what exceeds the budget.
  std::unique_ptr<Source> open(const std::string &name, bool verified) const;
  std::string text(const std::string &name) const;

 private:
  struct Member {
    int64_t header, stored, size;  // offset of its local header; bytes in the file, and inflated
    uint32_t sum;
    int64_t method, flags;
  };
  int64_t begin_of(const std::string &name, const Member &m) const;

  const Source &source_;
  Budget &budget_;
  int64_t directory_ = 0;  // offset, after all members
  std::map<std::string, Member> members_;
};

// An archive of stored members; `heads` owns the bytes between them. Refuses 4 GiB or more.
std::vector<std::string_view> zip_parts(
    const std::vector<std::pair<std::string, std::vector<std::string_view>>> &members, std::vector<std::string> &heads);

}  // namespace dl4::io

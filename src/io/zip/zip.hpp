// Zip archives: members stored or deflated, read by parts; written stored.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

class Zip {
 public:
  // Reads the directory of a source that outlives this, as does the budget. Refuses with CORRUPT_FILE what is not
  // whole: members that lie over each other or outside, names twice, absolute or with "..".
  Zip(const Source &source, Budget &budget);
  bool contains(const std::string &name) const { return members_.count(name) != 0; }
  std::vector<std::string> names() const;
  // The bytes of a member: where they lie if they are stored, else inflated. verified: their sum is compared. Refuses
  // one that is not there or encrypted, and what is past the budget.
  std::unique_ptr<Source> open(const std::string &name, bool verified) const;
  std::string text(const std::string &name) const;

 private:
  struct Member {
    int64_t header, stored, size;  // of its local header: where it begins; bytes in the file, and inflated
    uint32_t sum;
    int64_t method, flags;
  };
  int64_t begin_of(const std::string &name, const Member &m) const;

  const Source &source_;
  Budget &budget_;
  int64_t directory_ = 0;  // where it begins: all members lie before
  std::map<std::string, Member> members_;
};

// An archive of stored members; `heads` keeps the bytes between them. Refuses what takes 4 GiB or more.
std::vector<std::string_view> zip_parts(
    const std::vector<std::pair<std::string, std::vector<std::string_view>>> &members, std::vector<std::string> &heads);

}  // namespace dl4::io

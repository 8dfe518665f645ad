// All memory is one array there: nothing behind the end is forbidden.
#include <cstdlib>
#include <cstring>
#include <new>

#include "harness/pages.hpp"

namespace dl4_test {

Pages::Pages(size_t least) {
  constexpr size_t page = 4096;
  bytes_ = (least + page - 1) / page * page;
  base_ = static_cast<char *>(std::aligned_alloc(page, bytes_));
  if (!base_) throw std::bad_alloc();
  std::memset(base_, 0, bytes_);
  end_ = base_ + bytes_;
}

Pages::~Pages() { std::free(base_); }

}  // namespace dl4_test

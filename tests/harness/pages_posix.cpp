#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "harness/pages.hpp"

namespace dl4_test {

Pages::Pages(size_t least) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (least + page - 1) / page * page + page;
  void *made = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<char *>(made);
  end_ = base_ + bytes_ - page;
  mprotect(end_, page, PROT_NONE);
}

Pages::~Pages() { munmap(base_, bytes_); }

}  // namespace dl4_test

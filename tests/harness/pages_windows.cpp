#include <windows.h>

#include <new>

#include "harness/pages.hpp"

namespace dl4_test {

Pages::Pages(size_t least) {
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  const size_t page = system.dwPageSize;
  bytes_ = (least + page - 1) / page * page + page;
  void *made = VirtualAlloc(nullptr, bytes_, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (!made) throw std::bad_alloc();
  base_ = static_cast<char *>(made);
  end_ = base_ + bytes_ - page;
  DWORD before;
  VirtualProtect(end_, page, PAGE_NOACCESS, &before);
}

Pages::~Pages() { VirtualFree(base_, 0, MEM_RELEASE); }

}  // namespace dl4_test

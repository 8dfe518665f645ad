// Blocks from the user's allocator, returned to the functions they came from.
#include "base/memory.hpp"

#include <new>

#include "base/host.hpp"

namespace dl4 {

Bytes Memory::allocate(int64_t bytes, bool working) const {
  if (!custom_.load(std::memory_order_acquire)) return dl4::allocate(bytes, working);
  std::shared_ptr<const Source> source;
  {
    std::lock_guard lock(mutex_);
    source = source_;
  }
  if (!source) return dl4::allocate(bytes, working);
  struct Block {
    std::shared_ptr<const Source> source;
    void *p = nullptr;
    int64_t size = 0;
    ~Block() {
      if (p) give_back([&] { source->give(source->user, p, size); });
    }
  };
  auto block = std::make_shared<Block>();  // first: nothing may fail once there is memory to release
  int64_t size = round_up(bytes > 0 ? bytes : 1, 64);
  void *p = call_host("alloc function", [&] { return source->take(source->user, size, 64); });
  if (!p) throw std::bad_alloc();
  block->p = p;
  block->size = size;
  block->source = std::move(source);
  return Bytes(std::move(block), static_cast<std::byte *>(p));
}

Tensor Memory::tensor(DType dtype, const Shape &shape) const {
  Tensor t{dtype, shape, nullptr};
  t.data = allocate(t.bytes());
  return t;
}

void Memory::set(Take take, Give give, void *user) {
  std::shared_ptr<const Source> source;
  if (take) source = std::make_shared<const Source>(Source{take, give, user});
  std::lock_guard lock(mutex_);
  source_ = std::move(source);
  custom_.store(source_ != nullptr, std::memory_order_release);
}

}  // namespace dl4

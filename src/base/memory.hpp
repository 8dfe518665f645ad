// The allocator of a context's tensors and arenas: the system's or the user's functions.
#pragma once

#include <atomic>

#include "base/fork.hpp"
#include "base/tensor.hpp"

namespace dl4 {

// Thread-safe.
class Memory {
 public:
  using Take = void *(*)(void *user, int64_t bytes, int64_t align);
  using Give = void (*)(void *user, void *p, int64_t bytes);

  Bytes allocate(int64_t bytes, bool working = false) const;
  Tensor tensor(DType dtype, const Shape &shape) const;  // uninitialized
  // For later allocations. Both null: the system's.
  void set(Take take, Give give, void *user);

 private:
  struct Source {
    Take take;
    Give give;
    void *user;
  };
  mutable Mutex mutex_;
  std::shared_ptr<const Source> source_;  // null: the system's
  std::atomic<bool> custom_{false};       // avoids the lock without a custom source
};

}  // namespace dl4

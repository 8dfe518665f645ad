// Aligned allocation.
#include "base/tensor.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/os/memory.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define DL4_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DL4_ADDRESS_SANITIZER
#endif
#endif

namespace dl4 {
namespace {

constexpr int64_t large_page = 1 << 21;

// Keeps large released blocks for programs that allocate results of one size repeatedly: the system clears new pages,
// which may take longer than computing their contents.
class Idle {
 public:
  static bool keep(void *p, int64_t bytes) noexcept {
    if (all_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= most) {
      auto *block = new (p) Idle(bytes);
      for (auto &place : places_) {
        Idle *none = nullptr;
        if (place.compare_exchange_strong(none, block, std::memory_order_acq_rel)) return true;
      }
    }
    all_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }

  // Takes an idle block of `bytes` or slightly more and updates `bytes`; null if there is none.
  static void *take(int64_t &bytes) noexcept {
    for (auto &place : places_) {
      Idle *block = taken(place);
      if (!block) continue;
      const int64_t has = block->bytes_;
      if (has >= bytes && has - bytes <= bytes / 8) {
        bytes = has;
        return block;
      }
      if (!keep(block, has)) os::release(block);
    }
    return nullptr;
  }

  static void release_all() noexcept {
    for (auto &place : places_)
      if (Idle *block = taken(place)) os::release(block);
  }

 private:
#if defined(DL4_ADDRESS_SANITIZER)
  static constexpr int64_t most = 0;  // must see every release
#else
  static constexpr int64_t most = 64 << 20;
#endif
  static inline std::atomic<Idle *> places_[8];
  static inline std::atomic<int64_t> all_{0};
  int64_t bytes_;

  explicit Idle(int64_t bytes) : bytes_(bytes) {}
  static Idle *taken(std::atomic<Idle *> &place) noexcept {
    if (!place.load(std::memory_order_relaxed)) return nullptr;
    Idle *block = place.exchange(nullptr, std::memory_order_acq_rel);
    if (block) all_.fetch_sub(block->bytes_, std::memory_order_relaxed);
    return block;
  }
};

}  // namespace

void release_idle() noexcept { Idle::release_all(); }

Bytes allocate(int64_t bytes, bool working) {
  // A small page costs more than the copy that fills it, a large one as much as 30 to 60 small ones.
  constexpr int64_t several_pages = 1 << 15;
  const int64_t used = working ? large_page / 4 : large_page / 2;
  const bool large = bytes >= used, idles = large && !working;
  const int64_t alignment = large ? large_page : 64;
  int64_t size = round_up(std::max<int64_t>(bytes, 1), alignment);
  void *p = idles ? Idle::take(size) : nullptr;
  const bool fresh = !p;
  if (fresh) p = os::allocate(alignment, size);
  if (!p) {
    release_idle();
    p = os::allocate(alignment, size);
  }
  if (!p) throw std::bad_alloc();
  // The remainder may be large too.
  if (fresh && large) os::use_large_pages(p, (bytes + large_page - used) / large_page * large_page);
  if (!large && bytes >= several_pages) os::populate(p, bytes);
  return Bytes(static_cast<std::byte *>(p), [size, idles](std::byte *q) {
    if (!idles || !Idle::keep(q, size)) os::release(q);
  });
}

Tensor make_tensor(DType dtype, const Shape &shape) {
  Tensor t{dtype, shape, nullptr};
  t.data = allocate(t.bytes());
  return t;
}

Tensor make_zeros(DType dtype, const Shape &shape) {
  Tensor t = make_tensor(dtype, shape);
  std::memset(t.data.get(), 0, static_cast<size_t>(t.bytes()));
  return t;
}

Tensor clone(const Tensor &t) {
  Tensor c = make_tensor(t.dtype, t.shape);
  if (int64_t n = t.bytes()) std::memcpy(c.data.get(), t.data.get(), static_cast<size_t>(n));
  return c;
}

}  // namespace dl4

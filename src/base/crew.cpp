// Slices are claimed by a compare-and-swap of one word that holds both how many there are and which is next. Only a
// successful claim allows a helper to read the slot, and the owner cannot leave before every claimed slice is done: so
// a slot may be used again at once, without generations.
#include "base/crew.hpp"

#include <atomic>
#include <bit>
#include <chrono>
#include <vector>

#include "base/float_mode.hpp"
#include "base/fork.hpp"
#include "base/os/thread.hpp"

namespace dl4 {
namespace {

constexpr auto spin_time = std::chrono::microseconds(50);
constexpr uint32_t asleep = uint32_t{1} << 31;  // in Slot::done: the owner waits in the kernel

// Waits actively until ready() or until spin_time is over; says which.
template <class Ready>
bool spin(Ready ready) {
  for (auto end = std::chrono::steady_clock::time_point::max();;) {
    for (int i = 0; i < 32; i++) {
      if (ready()) return true;
      os::relax();
    }
    auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point::max()) end = now + spin_time;
    if (now >= end) return ready();
  }
}

struct alignas(64) Slot {
  std::atomic<uint64_t> ticket{0};  // number of slices << 32 | next one
  std::atomic<uint32_t> done{0};
  Crew::Slice slice = nullptr;
  void *user = nullptr;
  int64_t first = 0;  // of the phase

  bool claimable(std::memory_order order = std::memory_order_relaxed) const {
    uint64_t t = ticket.load(order);
    return (t >> 32) > (t & UINT32_MAX);
  }
  // Claims slices and runs them until none is left; adds their number to `ran`, and says how many there are in all.
  uint32_t work(uint32_t &ran) {
    uint64_t t = ticket.load(std::memory_order_relaxed);
    uint32_t count = 0;
    while ((t >> 32) > (t & UINT32_MAX)) {
      if (!ticket.compare_exchange_weak(t, t + 1, std::memory_order_acquire, std::memory_order_relaxed)) continue;
      count = static_cast<uint32_t>(t >> 32);
      slice(user, first + static_cast<int64_t>(t & UINT32_MAX));
      ran++;
      if (count == (t & UINT32_MAX) + 1) break;
      t++;
    }
    return count;
  }
};

}  // namespace

struct Crew::Shared {
  Slot slots[64];
  alignas(64) std::atomic<uint64_t> used{0};  // a bit per slot that has an owner
  alignas(64) std::atomic<int32_t> sleepers{0};
  std::atomic<uint32_t> bell{0};
  std::atomic<bool> stop{false};
  uint32_t born = 0;
  void (*on_start)() noexcept = nullptr;
  std::vector<os::Thread> helpers;

  bool forked() const { return forks() != born; }

  // Index of an unused slot, now the caller's; -1 when all have owners.
  int take() {
    uint64_t u = used.load(std::memory_order_relaxed);
    while (~u) {
      int i = std::countr_one(u);
      uint64_t taken = u | uint64_t{1} << i;
      if (used.compare_exchange_weak(u, taken, std::memory_order_seq_cst, std::memory_order_relaxed)) return i;
    }
    return -1;
  }
  void give_back(int i) { used.fetch_and(~(uint64_t{1} << i), std::memory_order_release); }

  bool anything(std::memory_order order) const {
    for (uint64_t u = used.load(order); u; u &= u - 1)
      if (slots[std::countr_zero(u)].claimable(order)) return true;
    return false;
  }

  void ring(uint32_t most) {
    bell.fetch_add(1, std::memory_order_release);
    auto n = static_cast<uint32_t>(sleepers.load(std::memory_order_relaxed));
    for (uint32_t i = 0; i < n && i < most; i++) bell.notify_one();
  }

  // Joins every run that has slices left.
  void help_all() {
    for (uint64_t u = used.load(std::memory_order_relaxed); u; u &= u - 1) {
      Slot &s = slots[std::countr_zero(u)];
      if (!s.claimable()) continue;
      uint32_t ran = 0, count = s.work(ran);
      if (!ran) continue;
      // The last touch: the owner may leave, and another may take the slot, as soon as this is seen.
      uint32_t before = s.done.fetch_add(ran, std::memory_order_acq_rel);
      if ((before & asleep) && (before & ~asleep) + ran == count) s.done.notify_all();
    }
  }

  void help() {
    FlushToZero::set();
    if (on_start) on_start();
    auto busy = [this] { return stop.load(std::memory_order_relaxed) || anything(std::memory_order_relaxed); };
    while (!stop.load(std::memory_order_relaxed)) {
      if (spin(busy)) {
        help_all();
        continue;
      }
      // Either this sees the ticket of a caller, or the caller sees this sleeper: both are sequentially consistent.
      uint32_t heard = bell.load(std::memory_order_acquire);
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      if (!anything(std::memory_order_seq_cst) && !stop.load(std::memory_order_seq_cst)) bell.wait(heard);
      sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
  }
};

Crew::Crew(int threads, void (*on_start)() noexcept) : shared_(std::make_unique<Shared>()) {
  shared_->born = forks();
  shared_->on_start = on_start;
  if (threads < 2) return;
  shared_->helpers.reserve(static_cast<size_t>(threads - 1));
  for (os::Thread thread; helpers_ < threads - 1; helpers_++) {
    if (!thread.start([](void *shared) { static_cast<Shared *>(shared)->help(); }, shared_.get())) break;
    shared_->helpers.push_back(thread);
  }
}

Crew::~Crew() {
  if (shared_->forked()) {  // the helpers are not in this process: there is no one to join
    shared_.release();
    return;
  }
  shared_->stop.store(true, std::memory_order_seq_cst);
  shared_->bell.fetch_add(1, std::memory_order_release);
  shared_->bell.notify_all();
  for (os::Thread &thread : shared_->helpers) thread.join();
}

void Crew::run(int64_t slices, Slice slice, void *user, int64_t phases) noexcept {
  int at = -1;
  if (slices > 1 && slices <= INT32_MAX && helpers_ && !shared_->forked()) at = shared_->take();
  if (at < 0) {
    for (int64_t i = 0; i < slices * phases; i++) slice(user, i);
    return;
  }
  Slot &s = shared_->slots[at];
  auto count = static_cast<uint32_t>(slices);
  s.slice = slice;
  s.user = user;
  for (int64_t phase = 0; phase < phases; ++phase) {
    s.first = phase * slices;
    s.done.store(0, std::memory_order_relaxed);
    s.ticket.store(uint64_t{count} << 32, std::memory_order_seq_cst);
    // Who has not woken for the first phase will find a later one.
    if (phase == 0 && shared_->sleepers.load(std::memory_order_seq_cst)) shared_->ring(count - 1);
    uint32_t ran = 0;
    s.work(ran);
    uint32_t done = s.done.fetch_add(ran, std::memory_order_acq_rel) + ran;
    if (done != count && !spin([&] { return s.done.load(std::memory_order_acquire) == count; })) {
      done = s.done.fetch_or(asleep, std::memory_order_acq_rel) | asleep;
      while ((done & ~asleep) != count) {
        s.done.wait(done, std::memory_order_acquire);
        done = s.done.load(std::memory_order_acquire);
      }
    }
  }
  shared_->give_back(at);
}

}  // namespace dl4

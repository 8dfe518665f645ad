// Slices are claimed by a compare-and-swap of one word that holds both their number and the next index. Only a
// successful claim allows a helper to read the slot, and the owner cannot leave before every claimed slice is done. A
// slot can therefore be reused at once, without generation counters.
#include "base/crew.hpp"

#include <bit>
#include <chrono>

#include "base/float_mode.hpp"
#include "base/fork.hpp"
#include "base/os/processor.hpp"
#include "base/os/thread.hpp"

namespace dl4 {
namespace {

constexpr std::chrono::steady_clock::duration spin_time = std::chrono::microseconds(50);
constexpr uint32_t asleep = uint32_t{1} << 31;  // in Slot::done: the owner sleeps in the kernel

// Spins until ready() or the timeout; returns whether it became ready.
template <class Ready>
bool spin(Ready ready, std::chrono::steady_clock::duration time = spin_time) {
  for (auto end = std::chrono::steady_clock::time_point::max();;) {
    for (int i = 0; i < 32; i++) {
      if (ready()) return true;
      os::relax();
    }
    auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point::max()) end = now + time;
    if (now >= end) return ready();
  }
}

struct alignas(64) Slot {
  std::atomic<uint64_t> ticket{0};  // number of slices << 32 | next index
  std::atomic<uint32_t> done{0};
  Crew::Slice slice = nullptr;
  void *user = nullptr;
  int64_t first = 0;  // first slice of the phase

  bool claimable(std::memory_order order = std::memory_order_relaxed) const {
    uint64_t t = ticket.load(order);
    return (t >> 32) > (t & UINT32_MAX);
  }
  // Claims and runs slices until none is left. Adds their number to `ran` and returns the total number of slices.
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
  struct alignas(64) Helper {
    enum State : uint32_t { awake, asleep, called };
    Shared *crew = nullptr;
    os::Thread thread;
    std::atomic<uint32_t> state{awake};
    int64_t number = 0;
    size_t core = 0;           // the core it went to sleep on
    bool kept_off = false;     // by the last waker
    os::Affinity before = {};  // its affinity, restored after waking

    // Wakes a sleeping helper; `here` is the caller's processor. False if it is awake or already being woken.
    bool wake(size_t here, bool pulled) {
      uint32_t was = asleep;
      if (!state.compare_exchange_strong(was, called, std::memory_order_acq_rel, std::memory_order_relaxed))
        return false;
      kept_off = (pulled || core == here) && os::keep_off(number, here, before);
      state.store(awake, std::memory_order_release);
      os::wake(state);
      return true;
    }
  };

  Slot slots[64];
  alignas(64) std::atomic<uint64_t> used{0};  // one bit per owned slot
  alignas(64) std::atomic<int32_t> sleepers{0};
  // In a virtual machine the kernel may treat a halted processor as unavailable. It then wakes a thread on the waker's
  // processor, and both share it until the next tick, milliseconds later. Once a helper has seen that, helpers are kept
  // off the processor of the thread that wakes them.
  std::atomic<bool> pulled{false};
  std::atomic<size_t> waker{SIZE_MAX};  // the last waker's processor
  std::atomic<bool> stop{false};
  uint32_t born = 0;
  void (*on_start)() noexcept = nullptr;
  std::unique_ptr<Helper[]> helpers;
  uint32_t count = 0;

  bool forked() const { return forks() != born; }

  // Takes an unused slot and returns its index; -1 if all are taken.
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

  void wake(uint32_t most) {
    const size_t here = os::current_processor();
    waker.store(here, std::memory_order_relaxed);
    const bool off = pulled.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < count && most; i++) most -= helpers[i].wake(here, off);
  }

  // Helps every run that has slices left.
  void help_all() {
    for (uint64_t u = used.load(std::memory_order_relaxed); u; u &= u - 1) {
      Slot &s = slots[std::countr_zero(u)];
      if (!s.claimable()) continue;
      uint32_t ran = 0, count = s.work(ran);
      if (!ran) continue;
      // The last access: once this is visible, the owner may leave and another caller may take the slot.
      uint32_t before = s.done.fetch_add(ran, std::memory_order_acq_rel);
      if ((before & asleep) && (before & ~asleep) + ran == count) os::wake(s.done);
    }
  }

  void help(Helper &self) {
    FlushToZero::set();
    if (on_start) on_start();
    self.number = os::thread_number();
    auto busy = [this] { return stop.load(std::memory_order_relaxed) || anything(std::memory_order_relaxed); };
    // Helpers wait longer for a caller that returns soon: waking up costs as much as several slices.
    auto wait = spin_time;
    while (!stop.load(std::memory_order_relaxed)) {
      if (spin(busy, wait)) {
        help_all();
        continue;
      }
      const auto since = std::chrono::steady_clock::now();
      sleep(self);
      wait = std::chrono::steady_clock::now() - since < 4 * spin_time ? 4 * spin_time : spin_time;
    }
  }

  void sleep(Helper &self) {
    self.core = os::current_processor();
    self.kept_off = false;
    self.state.store(Helper::asleep, std::memory_order_seq_cst);
    // Either this sees the ticket of a caller or the caller sees this sleeper: both accesses are sequentially
    // consistent.
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    uint32_t now = Helper::asleep;
    const bool awake = (anything(std::memory_order_seq_cst) || stop.load(std::memory_order_seq_cst)) &&
                       self.state.compare_exchange_strong(now, Helper::awake, std::memory_order_acquire);
    while ((now = self.state.load(std::memory_order_acquire)) != Helper::awake) os::wait(self.state, now);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
    if (awake) return;
    const size_t here = os::current_processor();
    if (!self.kept_off && here == waker.load(std::memory_order_relaxed)) {
      pulled.store(true, std::memory_order_relaxed);
      self.kept_off = os::keep_off(self.number, here, self.before);
    }
    if (self.kept_off) os::set_affinity(self.before);
  }
};

Crew::Crew(int threads, void (*on_start)() noexcept) : shared_(std::make_unique<Shared>()) {
  shared_->born = forks();
  shared_->on_start = on_start;
  if (threads < 2) return;
  shared_->helpers = std::make_unique<Shared::Helper[]>(static_cast<size_t>(threads - 1));
  for (; helpers_ < threads - 1; helpers_++) {
    Shared::Helper &helper = shared_->helpers[static_cast<size_t>(helpers_)];
    helper.crew = shared_.get();
    const auto help = [](void *user) {
      auto &self = *static_cast<Shared::Helper *>(user);
      self.crew->help(self);
    };
    if (!helper.thread.start(help, &helper)) break;
  }
  shared_->count = static_cast<uint32_t>(helpers_);
}

Crew::~Crew() {
  if (shared_->forked()) {  // the helpers do not exist in a forked child
    shared_.release();
    return;
  }
  shared_->stop.store(true, std::memory_order_seq_cst);
  shared_->wake(UINT32_MAX);
  for (uint32_t i = 0; i < shared_->count; i++) shared_->helpers[i].thread.join();
}

void Crew::run(int64_t slices, Slice slice, void *user, int64_t phases, Ends ends) noexcept {
  int at = -1;
  if (slices > 1 && slices <= INT32_MAX && helpers_ && !shared_->forked()) at = shared_->take();
  if (at < 0) {
    for (int64_t phase = 0; phase < phases && !(ends && ends(user)); ++phase)
      for (int64_t i = 0; i < slices; i++) slice(user, phase * slices + i);
    return;
  }
  Slot &s = shared_->slots[at];
  auto count = static_cast<uint32_t>(slices);
  s.slice = slice;
  s.user = user;
  for (int64_t phase = 0; phase < phases && !(ends && ends(user)); ++phase) {
    s.first = phase * slices;
    s.done.store(0, std::memory_order_relaxed);
    s.ticket.store(uint64_t{count} << 32, std::memory_order_seq_cst);
    // A helper that did not wake for the first phase will join a later one.
    if (phase == 0 && shared_->sleepers.load(std::memory_order_seq_cst)) shared_->wake(count - 1);
    uint32_t ran = 0;
    s.work(ran);
    uint32_t done = s.done.fetch_add(ran, std::memory_order_acq_rel) + ran;
    if (done != count && !spin([&] { return s.done.load(std::memory_order_acquire) == count; })) {
      done = s.done.fetch_or(asleep, std::memory_order_acq_rel) | asleep;
      while ((done & ~asleep) != count) {
        os::wait(s.done, done);
        done = s.done.load(std::memory_order_acquire);
      }
    }
  }
  shared_->give_back(at);
}

}  // namespace dl4

// What waits to be given back, of all threads in one list. No memory of each thread's own: see fork.cpp.
#include "base/host.hpp"

#include "base/fork.hpp"

namespace dl4 {
namespace {

// Set for a thread whose host has switched cancellation off. A host that has used up all keys leaves none: then no
// function of its can be cancelled.
const os::Key &deaf() {
  static const os::Key d;
  return d;
}

}  // namespace

void Uncancelled::remember() noexcept {
  if (!deaf().get()) remembered_ = deaf().set(1);
}

void Uncancelled::forget() noexcept { deaf().set(0); }

bool Cancellable::wanted() noexcept { return deaf().known() && !deaf().get(); }

std::atomic<int64_t> GiveBack::waiting_{0};

// Never destroyed: objects of the host's may go after static destruction.
struct PutOff {
  Mutex mutex;
  std::unique_ptr<GiveBack> first, *last = &first;
  static PutOff &list() {
    static PutOff *const all = new PutOff;
    return *all;
  }

  void add(std::unique_ptr<GiveBack> what) {
    std::lock_guard lock(mutex);
    std::unique_ptr<GiveBack> *next = &what->next_;
    *last = std::move(what);
    last = next;
    GiveBack::waiting_.fetch_add(1, std::memory_order_relaxed);
  }
  // The calling thread's next one, or one that nobody has; null if there is none.
  std::unique_ptr<GiveBack> take() {
    std::lock_guard lock(mutex);
    const auto me = std::this_thread::get_id();
    for (std::unique_ptr<GiveBack> *at = &first; *at; at = &(*at)->next_) {
      if ((*at)->thread_ != me && (*at)->thread_ != std::thread::id()) continue;
      std::unique_ptr<GiveBack> found = std::move(*at);
      if (last == &found->next_) last = at;
      *at = std::move(found->next_);
      GiveBack::waiting_.fetch_sub(1, std::memory_order_relaxed);
      return found;
    }
    return nullptr;
  }
  void leave_behind() {
    std::lock_guard lock(mutex);
    const auto me = std::this_thread::get_id();
    for (GiveBack *at = first.get(); at; at = at->next_.get())
      if (at->thread_ == me) at->thread_ = {};
  }
};

GiveBack::GiveBack() { PutOff::list(); }  // made now: later() may not fail

void GiveBack::later(std::unique_ptr<GiveBack> what) noexcept {
  what->thread_ = std::this_thread::get_id();
  PutOff::list().add(std::move(what));
}

void GiveBack::leave_behind() noexcept {
  if (waiting_.load(std::memory_order_relaxed)) PutOff::list().leave_behind();
}

void GiveBack::all() {
  while (const auto one = PutOff::list().take()) {
    OwnFloats floats;
    Cancellable as_the_host;
    try {
      one->call();
    } catch (os::ForcedUnwind &) {
      throw;
    } catch (...) {
    }
  }
}

}  // namespace dl4

// Base of all objects: reference count, type tag, and gate.
#pragma once

#include <dl4/dl4.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <memory_resource>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fork.hpp"

namespace dl4::capi {

enum class Tag : uint64_t {
  freed = 0,
  // Values that other memory is unlikely to contain.
  error = 0x646c345f00000001,
  blob,
  context,
  refs,
  tensor,
  graph,
  model,
  session,
  dataset,
  trainer,
  cancel,
  stream,
};

const char *name_of(Tag tag);  // "dl4_tensor"

class Object {
 public:
  explicit Object(Tag tag) : tag_(tag) {}
  virtual ~Object() { tag_.store(Tag::freed, std::memory_order_relaxed); }
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  Tag tag() const noexcept { return tag_.load(std::memory_order_relaxed); }
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 protected:
  virtual void destroy() noexcept { delete this; }

 private:
  std::atomic<Tag> tag_;
  std::atomic<int64_t> references_{1};
};

// The handle's object; null if it is no live object of this library.
inline const Object *object_of(const void *handle) noexcept {
  if (!handle || reinterpret_cast<uintptr_t>(handle) % alignof(Object)) return nullptr;
  auto *o = static_cast<const Object *>(handle);
  return o->tag() >= Tag::error && o->tag() <= Tag::stream ? o : nullptr;
}

// A counted reference.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(T *object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref &o) : Ref(o.object_) {}
  Ref(Ref &&o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Ref &operator=(Ref o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }
  static Ref adopt(T *object) {
    Ref r;
    r.object_ = object;
    return r;
  }
  // Passes the reference to the caller, who releases it.
  T *detach() { return std::exchange(object_, nullptr); }
  T *get() const { return object_; }
  T *operator->() const { return object_; }
  T &operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T *object_ = nullptr;
};

// Refuses a second thread with BUSY. The thread inside may enter again from a callback where that is allowed, and so
// may threads for which the callback waits: some languages run callbacks on separate threads.
class Gate {
 public:
  class OneAlone {  // one thread, no readers
   public:
    OneAlone(Gate &gate, const char *what) : gate_(gate) {
      std::lock_guard lock(gate_.mutex_);
      if (gate_.alone_ || gate_.readers_) refuse(what, gate_.alone_ && gate_.owner_ == std::this_thread::get_id());
      gate_.alone_ = true;
      gate_.owner_ = std::this_thread::get_id();
    }
    ~OneAlone() {
      std::lock_guard lock(gate_.mutex_);
      gate_.alone_ = false;
    }
    OneAlone(const OneAlone &) = delete;
    OneAlone &operator=(const OneAlone &) = delete;

   private:
    Gate &gate_;
  };

  class OneRecursive {  // one thread, or inside its callback
   public:
    OneRecursive(Gate &gate, const char *what) : gate_(gate) {
      std::lock_guard lock(gate_.mutex_);
      nested_ = gate_.inside() && !gate_.guest_;
      if (nested_) return;
      guest_ = gate_.lent_ && !gate_.guest_ && !gate_.readers_;
      if (guest_) {
        gate_.guest_ = true;
        return;
      }
      if (gate_.alone_ || gate_.readers_) refuse(what, false);
      gate_.alone_ = true;
      gate_.owner_ = std::this_thread::get_id();
    }
    ~OneRecursive() {
      if (nested_) return;
      std::lock_guard lock(gate_.mutex_);
      (guest_ ? gate_.guest_ : gate_.alone_) = false;
    }
    OneRecursive(const OneRecursive &) = delete;
    OneRecursive &operator=(const OneRecursive &) = delete;

   private:
    Gate &gate_;
    bool nested_ = false, guest_ = false;
  };

  class OneBetween {  // one thread, or between two steps of it, during a callback
   public:
    OneBetween(Gate &gate, const char *what) : gate_(gate) {
      std::lock_guard lock(gate_.mutex_);
      guest_ = gate_.lent_ && !gate_.guest_ && !gate_.readers_;
      if (!guest_ && (gate_.alone_ || gate_.readers_)) refuse(what, gate_.inside());
      (guest_ ? gate_.guest_ : gate_.alone_) = true;
      if (!guest_) gate_.owner_ = std::this_thread::get_id();
    }
    ~OneBetween() {
      std::lock_guard lock(gate_.mutex_);
      (guest_ ? gate_.guest_ : gate_.alone_) = false;
    }
    OneBetween(const OneBetween &) = delete;
    OneBetween &operator=(const OneBetween &) = delete;

   private:
    Gate &gate_;
    bool guest_ = false;
  };

  class OneReading {  // with other readers; the exclusive thread may also read
   public:
    OneReading(Gate &gate, const char *what) : gate_(gate) {
      std::lock_guard lock(gate_.mutex_);
      if (gate_.guest_ || (gate_.alone_ && !gate_.lent_ && !gate_.inside())) refuse(what, false);
      ++gate_.readers_;
    }
    ~OneReading() {
      std::lock_guard lock(gate_.mutex_);
      --gate_.readers_;
    }
    OneReading(const OneReading &) = delete;
    OneReading &operator=(const OneReading &) = delete;

   private:
    Gate &gate_;
  };

  class OneLent {  // during a callback of the exclusive thread; waits at the end for those who entered
   public:
    explicit OneLent(Gate &gate, const char *) : gate_(gate) {
      std::lock_guard lock(gate_.mutex_);
      gate_.lent_ = true;
    }
    ~OneLent() {
      while (!ended()) std::this_thread::yield();
    }
    OneLent(const OneLent &) = delete;
    OneLent &operator=(const OneLent &) = delete;

   private:
    bool ended() {
      std::lock_guard lock(gate_.mutex_);
      if (gate_.guest_ || gate_.readers_) return false;
      gate_.lent_ = false;
      return true;
    }
    Gate &gate_;
  };

  // The same for this gate and all joined ones.
  template <class One>
  class Each {
   public:
    Each(Gate &gate, const char *what) : first_(gate, what) {
      std::byte room[512];
      std::pmr::monotonic_buffer_resource memory(room, sizeof room);
      for (const auto &other : gate.others(&memory)) others_.emplace_back(other, what);
    }
    Each(const Each &) = delete;
    Each &operator=(const Each &) = delete;

   private:
    struct Other {
      Other(std::shared_ptr<Gate> gate, const char *what) : gate(std::move(gate)), one(*this->gate, what) {}
      const std::shared_ptr<Gate> gate;
      One one;
    };
    One first_;
    // Avoids allocation in a step of a model with nested models, unless there are very many.
    std::byte room_[1024];
    std::pmr::monotonic_buffer_resource memory_{room_, sizeof room_};
    std::pmr::list<Other> others_{&memory_};
  };
  using Alone = Each<OneAlone>;
  using Recursive = Each<OneRecursive>;
  using Between = Each<OneBetween>;
  using Reading = Each<OneReading>;
  using Lent = Each<OneLent>;

  [[noreturn]] static void refuse(const char *what, bool callback) {
    fail(Code::busy, "the ", what,
         callback ? " is in use by the caller of this callback" : " is in use by another thread");
  }

  // Taking this gate also takes that one and those joined to it, while others use it.
  void join(const std::shared_ptr<Gate> &gate) {
    if (gate.get() == this) return;
    std::pmr::vector<std::shared_ptr<Gate>> more = gate->others(std::pmr::get_default_resource());
    more.push_back(gate);
    std::lock_guard lock(mutex_);
    std::erase_if(others_, [](const auto &other) { return other.expired(); });
    for (const auto &one : more) {
      const auto is_it = [&](const auto &other) { return other.lock() == one; };
      if (one.get() != this && std::none_of(others_.begin(), others_.end(), is_it)) others_.push_back(one);
    }
  }

 private:
  bool inside() const { return alone_ && owner_ == std::this_thread::get_id(); }
  std::pmr::vector<std::shared_ptr<Gate>> others(std::pmr::memory_resource *memory) {
    std::lock_guard lock(mutex_);
    std::pmr::vector<std::shared_ptr<Gate>> alive(memory);
    alive.reserve(others_.size());
    for (const auto &other : others_)
      if (auto gate = other.lock()) alive.push_back(std::move(gate));
    return alive;
  }
  Mutex mutex_;
  std::vector<std::weak_ptr<Gate>> others_;
  std::thread::id owner_;
  bool alone_ = false, lent_ = false, guest_ = false;  // guest: a writer to whom it is lent
  int64_t readers_ = 0;
};

// Refuses a second thread with BUSY like a Gate, but lock-free, for audio threads.
class Turn {
 public:
  void take(const char *what) {
    std::thread::id owner;
    if (!owner_.compare_exchange_strong(owner, std::this_thread::get_id(), std::memory_order_acquire))
      Gate::refuse(what, owner == std::this_thread::get_id());
  }
  void give() noexcept { owner_.store(std::thread::id(), std::memory_order_release); }

  class One {
   public:
    One(Turn &turn, const char *what) : turn_(turn) { turn_.take(what); }
    ~One() { turn_.give(); }
    One(const One &) = delete;
    One &operator=(const One &) = delete;

   private:
    Turn &turn_;
  };

 private:
  std::atomic<std::thread::id> owner_{};
  static_assert(std::atomic<std::thread::id>::is_always_lock_free);
};

}  // namespace dl4::capi

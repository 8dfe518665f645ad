// What all objects of the border share: a count of references, a tag that says which type they are, and a gate.
#pragma once

#include <dl4/dl4.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/fork.hpp"

namespace dl4::capi {

enum class Tag : uint64_t {
  freed = 0,
  // Numbers that no other memory is likely to hold.
  error = 0x646c345f00000001,
  blob,
  context,
  attrs,
  tensor,
  graph,
  model,
  session,
  dataset,
  trainer,
  cancel,
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

// A handle as what it is; null when it is no live object of ours.
inline const Object *object_of(const void *handle) noexcept {
  if (!handle || reinterpret_cast<uintptr_t>(handle) % alignof(Object)) return nullptr;
  auto *o = static_cast<const Object *>(handle);
  return o->tag() >= Tag::error && o->tag() <= Tag::cancel ? o : nullptr;
}

// One counted reference.
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
  // The reference itself, for the caller to release.
  T *detach() { return std::exchange(object_, nullptr); }
  T *get() const { return object_; }
  T *operator->() const { return object_; }
  T &operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T *object_ = nullptr;
};

// Keeps a second thread out with BUSY. The thread inside may come in again from a callback where that is allowed.
class Gate {
 public:
  class Alone {  // one thread at a time, no readers
   public:
    Alone(Gate &gate, const char *what) : gate_(gate) {
      std::lock_guard lock(gate_.mutex_);
      if (gate_.alone_ || gate_.readers_) refuse(what, gate_.alone_ && gate_.owner_ == std::this_thread::get_id());
      gate_.alone_ = true;
      gate_.owner_ = std::this_thread::get_id();
    }
    ~Alone() {
      std::lock_guard lock(gate_.mutex_);
      gate_.alone_ = false;
    }
    Alone(const Alone &) = delete;
    Alone &operator=(const Alone &) = delete;

   private:
    Gate &gate_;
  };

  class Recursive {  // alone, or inside a callback of the thread that is
   public:
    Recursive(Gate &gate, const char *what) : gate_(gate) {
      std::lock_guard lock(gate_.mutex_);
      nested_ = gate_.alone_ && gate_.owner_ == std::this_thread::get_id();
      if (nested_) return;
      if (gate_.alone_ || gate_.readers_) refuse(what, false);
      gate_.alone_ = true;
      gate_.owner_ = std::this_thread::get_id();
    }
    ~Recursive() {
      if (nested_) return;
      std::lock_guard lock(gate_.mutex_);
      gate_.alone_ = false;
    }
    Recursive(const Recursive &) = delete;
    Recursive &operator=(const Recursive &) = delete;

   private:
    Gate &gate_;
    bool nested_ = false;
  };

  class Reading {  // with other readers; the thread that is alone inside may read as well
   public:
    Reading(Gate &gate, const char *what) : gate_(gate) {
      std::lock_guard lock(gate_.mutex_);
      if (gate_.alone_ && gate_.owner_ != std::this_thread::get_id()) refuse(what, false);
      ++gate_.readers_;
    }
    ~Reading() {
      std::lock_guard lock(gate_.mutex_);
      --gate_.readers_;
    }
    Reading(const Reading &) = delete;
    Reading &operator=(const Reading &) = delete;

   private:
    Gate &gate_;
  };

 private:
  [[noreturn]] static void refuse(const char *what, bool callback) {
    fail(Code::busy, "the ", what,
         callback ? " is in use by the caller of this callback" : " is in use by another thread");
  }
  Mutex mutex_;
  std::thread::id owner_;
  bool alone_ = false;
  int64_t readers_ = 0;
};

}  // namespace dl4::capi

// Functions of the host's. They may throw, call the library again, or end their thread (pthread_exit, a cancellation,
// an interpreter that exits): then the C library unwinds the stack, through every frame that is not noexcept.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/float_mode.hpp"
#include "base/os/thread.hpp"

namespace dl4 {

// While it lives, a cancellation of the calling thread waits: no destructor of the library's is a place to end at.
class Uncancelled {
 public:
  Uncancelled() noexcept : before_(os::set_cancellable(false)) {
    if (!before_) remember();
  }
  ~Uncancelled() {
    os::set_cancellable(before_);
    if (remembered_) forget();
  }
  Uncancelled(const Uncancelled &) = delete;
  Uncancelled &operator=(const Uncancelled &) = delete;

 private:
  void remember() noexcept;
  void forget() noexcept;
  const bool before_;
  bool remembered_ = false;
};

// Inside of it, while a function of the host's runs: as the host has it.
class Cancellable {
 public:
  Cancellable() noexcept : before_(os::set_cancellable(wanted())) {}
  ~Cancellable() { os::set_cancellable(before_); }
  Cancellable(const Cancellable &) = delete;
  Cancellable &operator=(const Cancellable &) = delete;

 private:
  static bool wanted() noexcept;
  const bool before_;
};

// Memory or an object to be given back by a function of the host's. Destructors, which are noexcept, put it off; the
// call under way does it before it calls another function of the host's, and at its end.
class GiveBack {
 public:
  GiveBack();
  virtual ~GiveBack() = default;
  GiveBack(const GiveBack &) = delete;
  GiveBack &operator=(const GiveBack &) = delete;
  static void later(std::unique_ptr<GiveBack> what) noexcept;
  // All that the calling thread put off, and what threads left behind that have ended. What the functions throw is
  // dropped: no call has failed.
  static void now() {
    if (any()) all();
  }
  static bool any() noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  // The calling thread ends: another one will do it.
  static void leave_behind() noexcept;

 private:
  virtual void call() = 0;
  static void all();
  static std::atomic<int64_t> waiting_;
  std::thread::id thread_;
  std::unique_ptr<GiveBack> next_;
  friend struct PutOff;
};

// One T, a GiveBack, that is put off when its last reference goes.
template <class T, class... A>
std::shared_ptr<T> give_back_last(A &&...a) {
  return {new T(std::forward<A>(a)...), [](T *t) { GiveBack::later(std::unique_ptr<GiveBack>(t)); }};
}

// What comes of f(), a call of the host's `function` ("progress function"), of the kind of that name if it is one's.
// What it throws becomes CALLBACK_FAILED. Never inside of noexcept.
template <class F>
auto call_host(const char *function, const std::string &kind, F &&f) -> decltype(f()) {
  GiveBack::now();
  OwnFloats floats;
  Cancellable as_the_host;
  const auto failed = [&](const char *what) {
    const std::string of = kind.empty() ? "" : text(" of \"", kind, '"');
    return Error(Code::callback_failed, text("the ", function, of, " threw ", what)).with("callback", function);
  };
  try {
    return f();
  } catch (os::ForcedUnwind &) {
    throw;
  } catch (const std::exception &e) {
    throw failed(e.what());
  } catch (...) {
    throw failed("an exception of an unknown type");
  }
}
template <class F>
auto call_host(const char *function, F &&f) -> decltype(f()) {
  return call_host(function, std::string(), std::forward<F>(f));
}

}  // namespace dl4

// The threads of a context: they help a caller with the slices of a step, and never keep it waiting.
#pragma once

#include <cstdint>
#include <memory>

namespace dl4 {

class Crew {
 public:
  using Slice = void (*)(void *user, int64_t i) noexcept;

  // Starts threads - 1 helpers, or as many as the system allows. Each calls `on_start` first, with flush-to-zero set and
  // all signals blocked.
  explicit Crew(int threads, void (*on_start)() noexcept = nullptr);
  ~Crew();
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;

  // Callers and helpers of one run: 1 + the helpers that could be started.
  int threads() const { return 1 + helpers_; }

  // Runs slice(user, i) once for each i in [0, slices) and returns when all are done. The caller claims slices until none
  // is left, so it waits only for slices that a helper is in the middle of. Any number of threads may call at once. In a
  // forked child the caller runs them all. A slice may call run() itself.
  void run(int64_t slices, Slice slice, void *user) noexcept;

  // run() with any callable that is noexcept.
  template <class F>
  void run(int64_t slices, F &f) noexcept {
    run(slices, [](void *user, int64_t i) noexcept { (*static_cast<F *>(user))(i); }, &f);
  }

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
  int helpers_ = 0;
};

}  // namespace dl4

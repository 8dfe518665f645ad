// The threads of a context. They help a caller with the slices of a step and never make it wait.
#pragma once

#include <cstdint>
#include <memory>

namespace dl4 {

class Crew {
 public:
  using Slice = void (*)(void *user, int64_t i) noexcept;
  using Ends = bool (*)(void *user) noexcept;

  // Starts threads - 1 helpers, or as many as the system allows. Each first blocks all signals, sets flush-to-zero and
  // calls `on_start`.
  explicit Crew(int threads, void (*on_start)() noexcept = nullptr);
  ~Crew();  // no run may be in flight
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;

  // The caller and the helpers that could be started.
  int threads() const { return 1 + helpers_; }

  // Runs slice(user, i) once for each i in [0, slices * phases). Slices of a phase (i / slices) start after all of the
  // phase before. Returns when all are done. The caller claims slices until none is left, so it waits only for slices
  // that a helper has begun. Any number of threads may call at once, and a slice may call run() itself. In a forked
  // child the caller runs all slices. The calling thread's float mode is unchanged. No phase begins once ends(user) is
  // true.
  void run(int64_t slices, Slice slice, void *user, int64_t phases = 1, Ends ends = nullptr) noexcept;

  // The same for a callable, which may have a member ends().
  template <class F>
  void run(int64_t slices, F &f, int64_t phases = 1) noexcept {
    static_assert(noexcept(f(int64_t{})), "a slice must be noexcept");
    Ends ends = nullptr;
    if constexpr (requires { f.ends(); }) ends = [](void *user) noexcept { return static_cast<F *>(user)->ends(); };
    run(
        slices, [](void *user, int64_t i) noexcept { (*static_cast<F *>(user))(i); }, &f, phases, ends);
  }

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
  int helpers_ = 0;
};

}  // namespace dl4

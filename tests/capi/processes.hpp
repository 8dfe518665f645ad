// For tests of threads and processes: how many there are, work in a child, a net whose steps have many slices.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "net.hpp"

namespace dl4_test {

#if defined(DL4_THREAD_SANITIZER)
inline constexpr bool no_threads_after_fork = true;
#else
inline constexpr bool no_threads_after_fork = false;
#endif

inline int64_t threads_now() {
  int64_t n = -2;  // . and ..
  DIR *d = opendir("/proc/self/task");
  while (readdir(d)) ++n;
  closedir(d);
  return n;
}

// A thread that was joined may be listed for a moment longer.
inline int64_t threads_soon(int64_t expected) {
  for (int i = 0; i < 200 && threads_now() != expected; ++i) usleep(5000);
  return threads_now();
}

// The exit status of a child within a time; -1 when it had to be killed or died of a signal.
inline int wait_for(pid_t child, int seconds) {
  for (int i = 0; i < seconds * 100; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

inline int in_child(const std::function<int()> &body, int seconds = 60) {
  pid_t child = fork();
  if (child == 0) _exit(body());
  return wait_for(child, seconds);
}

// A net with products, a convolution, a loop over time; all of it runs in steps of many slices.
struct Net {
  Own<dl4_context> c;
  Own<dl4_model> m;
  Own<dl4_session> s;
  Own<dl4_tensor> x, y;
  std::vector<float> expected;

  explicit Net(int threads) {
    ok(dl4_context_create(("{\"threads\": " + std::to_string(threads) + "}").c_str(), c.out()));
    Own<dl4_graph> g;
    ok(dl4_graph_create(c, g.out()));
    dl4_node in = input(g, "x", {-1, 16, 16, 4});
    dl4_node n = add(g, "Conv2D", nullptr, R"({"filters": 16, "kernel_size": 3, "activation": "relu"})", in);
    n = add(g, "Reshape", nullptr, R"({"target_shape": [14, 224]})", n);
    n = add(g, "LSTM", nullptr, R"({"units": 32})", n);
    n = add(g, "Dense", nullptr, R"({"units": 256, "activation": "tanh"})", n);
    n = add(g, "Dense", nullptr, R"({"units": 10})", n);
    ok(dl4_graph_build(g, &in, 1, &n, 1, m.out()));
    x = tensor({32, 16, 16, 4}, numbers(32 * 16 * 16 * 4));
    y = tensor({32, 10}, numbers(320));
    ok(dl4_session_create(m, nullptr, s.out()));
    expected = run();
  }
  std::vector<float> run() { return run(x); }
  // What n rows of zeros give.
  std::vector<float> rows(int64_t n) { return run(tensor({n, 16, 16, 4})); }
  // Nothing if refused.
  std::vector<float> run(dl4_tensor *in) {
    Own<dl4_tensor> out;
    dl4_error *e = dl4_session_run(s, &in, 1, out.out(), 1, nullptr);
    if (e) {
      dl4_release(e);
      return {};
    }
    return floats(out);
  }
  int train(int steps) {
    Own<dl4_trainer> t;
    dl4_tensor *in = x, *target = y;
    dl4_error *e = dl4_trainer_create(m, R"({"optimizer": "Adam", "loss": "MeanSquaredError"})", t.out());
    for (int i = 0; i < steps && !e; ++i) e = dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr);
    int code = dl4_error_code(e);
    dl4_release(e);
    return code;
  }
};

}  // namespace dl4_test

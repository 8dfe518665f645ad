// A program that is not linked with libdl4 and loads it by hand: `loader <library> <what>`. Exits with 0 when all is
// well.
#include <dl4/dl4.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../float_control.hpp"

namespace {

[[noreturn]] void give_up(const std::string &why) {
  std::fprintf(stderr, "loader: %s\n", why.c_str());
  _exit(1);
}

void *open_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up(dlerror());
  return library;
}

template <class F>
F *find(void *library, const char *name) {
  void *p = dlsym(library, name);
  if (!p) give_up(std::string("there is no ") + name);
  return reinterpret_cast<F *>(p);
}
#define FIND(name) auto *name##_ = find<decltype(name)>(library, #name)

// Builds a Dense layer over 64 features with two threads, runs it on 32 rows and compares with what must come out.
void work(void *library) {
  FIND(dl4_error_message);
  FIND(dl4_release);
  FIND(dl4_context_create);
  FIND(dl4_graph_create);
  FIND(dl4_graph_add_input);
  FIND(dl4_graph_add);
  FIND(dl4_graph_build);
  FIND(dl4_session_create);
  FIND(dl4_session_run);
  FIND(dl4_tensor_create);
  FIND(dl4_tensor_data);
  auto ok = [&](dl4_error *e) {
    if (e) give_up(dl4_error_message_(e));
  };
  dl4_context *c = nullptr;
  dl4_graph *g = nullptr;
  dl4_model *m = nullptr;
  dl4_session *s = nullptr;
  dl4_tensor *x = nullptr, *y = nullptr;
  dl4_node in = -1, out = -1;
  const int64_t symbolic[2] = {-1, 64}, dims[2] = {32, 64};
  ok(dl4_context_create_(R"({"threads": 2})", &c));
  ok(dl4_graph_create_(c, &g));
  ok(dl4_graph_add_input_(g, "x", DL4_FLOAT32, 2, symbolic, &in));
  ok(dl4_graph_add_(g, "Dense", nullptr, R"({"units": 48, "kernel_initializer": "ones", "activation": "relu"})",
                    nullptr, nullptr, &in, 1, &out, 1));
  ok(dl4_graph_build_(g, &in, 1, &out, 1, &m));
  ok(dl4_session_create_(m, nullptr, &s));
  ok(dl4_tensor_create_(c, DL4_FLOAT32, 2, dims, &x));
  auto *values = static_cast<float *>(dl4_tensor_data_(x));
  for (int i = 0; i < 32 * 64; ++i) values[i] = static_cast<float>(i / 64);
  for (int round = 0; round < 3; ++round) ok(dl4_session_run_(s, &x, 1, &y, 1, nullptr));
  const auto *got = static_cast<const float *>(dl4_tensor_data_(y));
  for (int i = 0; i < 32 * 48; ++i)
    if (got[i] != static_cast<float>(64 * (i / 48))) give_up("a wrong number");
  for (void *object : {static_cast<void *>(c), static_cast<void *>(g), static_cast<void *>(m), static_cast<void *>(s),
                       static_cast<void *>(x), static_cast<void *>(y)})
    dl4_release_(object);
}

// What loading must leave alone.
std::string host_state() {
  std::string s = std::to_string(fegetround()) + " floats " + std::to_string(dl4_test::float_control());
  s += std::string(" locale ") + setlocale(LC_ALL, nullptr);
  mode_t mask = umask(0);
  umask(mask);
  s += " umask " + std::to_string(mask);
  char folder[4096];
  s += std::string(" cwd ") + (getcwd(folder, sizeof folder) ? folder : "?");
  for (int i = 1; i < 65; ++i) {
    struct sigaction now {};
    if (sigaction(i, nullptr, &now) == 0) s += now.sa_handler == SIG_DFL ? 'd' : 'h';
  }
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  for (int i = 1; i < 65; ++i) s += sigismember(&blocked, i) ? '1' : '0';
  for (char **e = environ; *e; ++e) s += std::string("\n") + *e;
  return s;
}

// All but the environment.
std::string first_line(const std::string &s) { return s.substr(0, s.find('\n')); }

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const std::string what = argv[2];
  if (what == "limit") {  // 512 MiB of address space, the least that is promised to do
    rlimit limit{512 << 20, 512 << 20};
    if (setrlimit(RLIMIT_AS, &limit) != 0) give_up("setrlimit");
    work(open_library(argv[1]));
  } else if (what == "cycle") {
    for (int i = 0; i < 20; ++i) {
      void *library = open_library(argv[1]);
      work(library);
      if (dlclose(library) != 0) give_up(dlerror());
    }
  } else if (what == "state") {
    std::string before = host_state();
    void *library = open_library(argv[1]);
    std::string loaded = host_state();
    if (loaded != before) give_up("loading changed " + first_line(before) + " to " + first_line(loaded));
    work(library);
    std::string worked = host_state();
    if (worked != before) give_up("working changed " + first_line(before) + " to " + first_line(worked));
  } else if (what == "keys") {              // a host that has used up all keys for its threads' own data
    void *library = open_library(argv[1]);  // first: OpenMP's own wants one when it is loaded
    std::vector<pthread_key_t> keys;
    for (pthread_key_t key; pthread_key_create(&key, nullptr) == 0;) keys.push_back(key);
    for (pthread_key_t key : keys)
      if (pthread_setspecific(key, &keys) != 0) give_up("pthread_setspecific");
    work(library);
    pid_t child = fork();
    if (child == 0) {
      work(library);
      _exit(0);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) give_up("the child failed");
    work(library);
    for (pthread_key_t key : keys)
      if (pthread_getspecific(key) != &keys) give_up("the data of a key of the host have changed");
  } else {
    return 2;
  }
  return 0;
}

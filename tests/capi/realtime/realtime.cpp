// What an audio thread pays for: dl4_realtime N makes N runs of streams and counts, of all that the process calls
// meanwhile, what allocates and what locks. `strace -c` of it counts the system calls (realtime.sh).
#include <dl4/dl4.h>
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0}, locks{0};

void count(std::atomic<int64_t> &what) {
  if (counting.load(std::memory_order_relaxed)) what.fetch_add(1, std::memory_order_relaxed);
}

// The C library's own, behind the one of that name below.
template <class F>
F next(const char *name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t n) { return count(allocations), __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return count(allocations), __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return count(allocations), __libc_realloc(p, n); }
void *memalign(size_t align, size_t n) { return count(allocations), __libc_memalign(align, n); }
void *aligned_alloc(size_t align, size_t n) { return count(allocations), __libc_memalign(align, n); }
int posix_memalign(void **p, size_t align, size_t n) {
  count(allocations);
  *p = __libc_memalign(align, n);
  return *p ? 0 : 12;
}
void free(void *p) {
  if (p) count(allocations);
  __libc_free(p);
}

int pthread_mutex_lock(pthread_mutex_t *m) {
  static const auto own = next<int (*)(pthread_mutex_t *)>("pthread_mutex_lock");
  return count(locks), own(m);
}
int pthread_mutex_trylock(pthread_mutex_t *m) {
  static const auto own = next<int (*)(pthread_mutex_t *)>("pthread_mutex_trylock");
  return count(locks), own(m);
}
int pthread_rwlock_rdlock(pthread_rwlock_t *l) {
  static const auto own = next<int (*)(pthread_rwlock_t *)>("pthread_rwlock_rdlock");
  return count(locks), own(l);
}
int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
  static const auto own = next<int (*)(pthread_rwlock_t *)>("pthread_rwlock_wrlock");
  return count(locks), own(l);
}
}

namespace {

void check(dl4_error *e) {
  if (!e) return;
  counting = false;
  std::fprintf(stderr, "dl4_realtime: %s\n", dl4_error_message(e));
  std::exit(2);
}

struct Layer {
  const char *kind, *config;
};

dl4_stream *stream_of(dl4_context *context, std::initializer_list<Layer> layers) {
  dl4_graph *graph;
  dl4_model *model;
  dl4_session *session;
  dl4_stream *stream;
  dl4_node x, y;
  const int64_t shape[] = {-1, -1, 4};
  check(dl4_graph_create(context, &graph));
  check(dl4_graph_add_input(graph, "x", DL4_FLOAT32, 3, shape, &x));
  y = x;
  for (const Layer &l : layers) {
    const dl4_node from = y;
    check(dl4_graph_add(graph, l.kind, nullptr, l.config, nullptr, nullptr, &from, 1, &y, 1));
  }
  check(dl4_graph_build(graph, &x, 1, &y, 1, &model));
  check(dl4_session_create(model, R"({"states": true})", &session));
  check(dl4_stream_create(session, nullptr, &stream));
  dl4_release(session);
  dl4_release(model);
  dl4_release(graph);
  return stream;
}

}  // namespace

int main(int argc, char **argv) {
  const int64_t runs = argc > 1 ? std::atoll(argv[1]) : 100000;
  dl4_context *context;
  check(dl4_context_create(R"({"threads": 1})", &context));
  // What makes a stream allocates and locks: so both are seen.
  counting = true;
  dl4_release(stream_of(context, {{"LSTM", R"({"units": 2})"}}));
  counting = false;
  if (allocations == 0 || locks == 0) {
    std::fprintf(stderr, "dl4_realtime: calls are not counted\n");
    return 2;
  }
  allocations = locks = 0;
  const char *const sequences = R"({"units": 16, "return_sequences": true})";
  dl4_stream *const streams[] = {
      stream_of(context, {{"LSTM", sequences}, {"Dense", R"({"units": 1})"}}),
      stream_of(context, {{"Dense", R"({"units": 8, "activation": "tanh"})"}, {"GRU", sequences}}),
      stream_of(context, {{"LayerNormalization", "{}"}, {"SimpleRNN", sequences}}),
      stream_of(context, {{"Conv1D", R"({"filters": 8, "kernel_size": 3, "dilation_rate": 4, "padding": "causal"})"},
                          {"LSTM", sequences},
                          {"GRU", sequences}}),
      // So wide that a session would take other libraries' kernels.
      stream_of(context, {{"Conv1D", R"({"filters": 16, "kernel_size": 15, "padding": "causal"})"},
                          {"Conv1D", R"({"filters": 16, "kernel_size": 3, "dilation_rate": 4, "padding": "causal"})"},
                          {"Conv1D", R"({"filters": 64, "kernel_size": 7, "groups": 4, "padding": "causal"})"},
                          {"Dense", R"({"units": 256})"},
                          {"LSTM", R"({"units": 64, "return_sequences": true})"}})};
  const int64_t each = runs / static_cast<int64_t>(3 * std::size(streams));
  for (dl4_stream *stream : streams)
    for (const int64_t steps : {1, 7, 70}) {
      const int64_t shape[] = {1, steps, 4};
      dl4_tensor *x, *y = nullptr;
      check(dl4_tensor_create(context, DL4_FLOAT32, 3, shape, &x));
      for (int64_t i = 0; i < 4 * steps; ++i) static_cast<float *>(dl4_tensor_data(x))[i] = static_cast<float>(i) / 8;
      check(dl4_stream_run(stream, &x, 1, &y, 1, nullptr));
      check(dl4_stream_reset(stream));
      counting = true;
      for (int64_t i = 0; i < each; ++i) check(dl4_stream_run(stream, &x, 1, &y, 1, nullptr));
      check(dl4_stream_reset(stream));
      counting = false;
      dl4_release(x);
      dl4_release(y);
    }
  for (dl4_stream *stream : streams) dl4_release(stream);
  dl4_release(context);
  std::printf("%lld runs: %lld allocations, %lld locks\n", static_cast<long long>(runs),
              static_cast<long long>(allocations), static_cast<long long>(locks));
  return allocations || locks ? 1 : 0;
}

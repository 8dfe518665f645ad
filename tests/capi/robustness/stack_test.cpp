// What calls take of their thread's stack: threads whose stack was painted make them, and show how deep they went.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "capi/processes.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr size_t stack_bytes = 1 << 20;
constexpr unsigned char paint = 0xA5;

// Bytes of the stack that f goes through.
int64_t depth_of(const std::function<void()> &f) {
  void *stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto *low = static_cast<unsigned char *>(stack);
  std::fill_n(low, stack_bytes, paint);
  struct Work {
    const std::function<void()> *f;
    unsigned char *top = nullptr;
  } work{&f};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, stack_bytes);
  pthread_t thread;
  auto start = [](void *p) -> void * {
    auto *w = static_cast<Work *>(p);
    w->top = static_cast<unsigned char *>(__builtin_frame_address(0));
    (*w->f)();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, start, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  const unsigned char *deepest = std::find_if(low, work.top, [](unsigned char c) { return c != paint; });
  const int64_t bytes = work.top - deepest;
  munmap(stack, stack_bytes);
  return bytes;
}

struct Depth {
  int64_t run = 0, rest = 0;  // once planned; making, planning, training, files and descriptions
};

using Build = std::function<dl4_node(dl4_graph *, std::vector<dl4_node> &)>;

class Stack : public Folder {
 protected:
  // With the kernels that are chosen, with those of each library, with those of our own.
  void measure(const char *what, const std::vector<std::vector<int64_t>> &shapes, const Build &build) {
    const std::vector<std::vector<std::string>> offs = {
        {"small_gemm"},
        {"packed_gemm", "small_gemm", "openblas_gemm", "blocked_by_item", "direct_conv", "packed_conv",
         "winograd_conv", "winograd_conv_data", "own_lstm"},
        {"packed_gemm", "small_gemm", "dnnl_gemm", "dnnl_conv", "dnnl_lstm"}};
    for (const auto &off : offs)
      measure(what, R"({"threads": 2, "kernels_off": )" + of_build(off) + "}", shapes, build);
  }

  // Everything that is done with a net, each part on a stack of its own.
  void measure(const char *what, const std::string &options, const std::vector<std::vector<int64_t>> &shapes,
               const Build &build) {
    Own<dl4_context> c;
    Own<dl4_model> m, loaded;
    Own<dl4_session> s;
    Own<dl4_trainer> t;
    Own<dl4_dataset> d;
    Own<dl4_blob> text;
    Own<dl4_tensor> y, target;
    std::vector<Own<dl4_tensor>> x;
    const std::string file = path("model"), checkpoint = path("checkpoint");
    int64_t making = depth_of([&] {
      ok(dl4_context_create(options.c_str(), c.out()));
      Own<dl4_graph> g;
      ok(dl4_graph_create(c, g.out()));
      std::vector<dl4_node> in;
      dl4_node out = build(g, in);
      ok(dl4_graph_build(g, in.data(), static_cast<int64_t>(in.size()), &out, 1, m.out()));
    });
    for (const auto &dims : shapes) {
      int64_t n = 1;
      for (int64_t dim : dims) n *= dim;
      x.push_back(tensor(dims, numbers(static_cast<size_t>(n))));
    }
    std::vector<dl4_tensor *> in(x.begin(), x.end());
    const auto n_in = static_cast<int64_t>(in.size());
    auto run = [&] { ok(dl4_session_run(s, in.data(), n_in, y.out(), 1, nullptr)); };
    int64_t planning = depth_of([&] {
      ok(dl4_session_create(m, nullptr, s.out()));
      run();
    });
    int64_t running = depth_of([&] {
      for (int i = 0; i < 3; ++i) run();
    });
    int64_t training = depth_of([&] {
      ok(dl4_tensor_clone(y, target.out()));
      dl4_tensor *wanted = target;
      ok(dl4_trainer_create(m, R"({"optimizer": "Adam", "loss": "Huber", "metrics": ["mae", "CosineSimilarity"]})",
                            t.out()));
      ok(dl4_dataset_from_tensors(c, in.data(), n_in, &wanted, 1, nullptr, 0, R"({"batch_size": 1})", d.out()));
      ok(dl4_trainer_fit(t, d, d, R"({"epochs": 2})", nullptr, nullptr, nullptr, text.out()));
      ok(dl4_trainer_accumulate(t, in.data(), n_in, &wanted, 1, nullptr, 0, nullptr, 0, nullptr));
      ok(dl4_trainer_apply(t));
    });
    int64_t files = depth_of([&] {
      ok(dl4_model_save(m, file.c_str(), nullptr));
      ok(dl4_model_load(c, file.c_str(), nullptr, loaded.out()));
      ok(dl4_trainer_save(t, checkpoint.c_str()));
      ok(dl4_trainer_load(t, checkpoint.c_str()));
    });
    int64_t texts = depth_of([&] {
      for (const void *object :
           {static_cast<const void *>(m.get()), static_cast<const void *>(t.get()), static_cast<const void *>(s.get())})
        for (int32_t format : {DL4_FORMAT_JSON, DL4_FORMAT_TEXT, DL4_FORMAT_DOT})
          if (dl4_error *e = dl4_describe(object, format, text.out())) dl4_release(e);
      ok(dl4_registry_json(nullptr, nullptr, text.out()));
      std::string deep;
      for (int i = 0; i < 63; ++i) deep += "{\"a\": ";
      dl4_layer layer = -1;
      Own<dl4_graph> g;
      ok(dl4_graph_create(nullptr, g.out()));
      dl4_release(
          dl4_graph_add_layer(g, "Dense", nullptr, (deep + "{}" + std::string(63, '}')).c_str(), nullptr, &layer));
    });
    std::printf("%-12s making %6ld, planning %6ld, runs %6ld, training %6ld, files %6ld, texts %6ld bytes\n", what,
                making, planning, running, training, files, texts);
    most_.run = std::max(most_.run, running);
    most_.rest = std::max({most_.rest, making, planning, training, files, texts});
  }

  Depth most_;
};

dl4_node add_all(dl4_graph *g, const char *kind, const std::string &json, std::vector<dl4_node> in) {
  dl4_node n = -1;
  ok(dl4_graph_add(g, kind, nullptr, json.c_str(), nullptr, nullptr, in.data(), static_cast<int64_t>(in.size()), &n,
                   1));
  return n;
}

// As dl4.h tells it.
TEST_F(Stack, OfACallIsAsDeepAsTheHeaderSays) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's frames are larger";
  ok(dl4_context_trim(nullptr));
  measure("Dense", {{64, 1000}}, [](dl4_graph *g, std::vector<dl4_node> &in) {
    in = {input(g, "x", {-1, 1000})};
    dl4_node n = in[0];
    for (const char *activation : {"relu", "gelu", "softmax", "sparsemax", "log_softmax"})
      n = add(g, "Dense", nullptr,
              std::string(R"({"units": 300, "kernel_initializer": "Orthogonal", "activation": ")") + activation + "\"}",
              n);
    n = add(g, "Dropout", nullptr, R"({"rate": 0.3})", add(g, "UnitNormalization", nullptr, "{}", n));
    return add(g, "Dense", nullptr, R"({"units": 3, "kernel_constraint": "UnitNorm", "kernel_regularizer": "L1L2"})",
               n);
  });
  measure("convolution", {{2, 30, 30, 3}}, [](dl4_graph *g, std::vector<dl4_node> &in) {
    in = {input(g, "x", {-1, 30, 30, 3})};
    dl4_node n = in[0];
    for (const char *config :
         {R"({"filters": 8, "kernel_size": 3, "activation": "relu"})",
          R"({"filters": 32, "kernel_size": 3, "padding": "same"})",
          R"({"filters": 64, "kernel_size": 3, "padding": "same"})", R"({"filters": 16, "kernel_size": 1})",
          R"({"filters": 16, "kernel_size": [5, 3], "dilation_rate": 2})",
          R"({"filters": 7, "kernel_size": 2, "strides": 2})"})
      n = add(g, "Conv2D", nullptr, config, n);
    n = add(g, "PReLU", nullptr, "{}", add(g, "MaxPooling2D", nullptr, R"({"pool_size": 2})", n));
    n = add(g, "AveragePooling2D", nullptr, R"({"pool_size": 3, "padding": "same"})", n);
    return add(g, "GlobalAveragePooling2D", nullptr, "{}", n);
  });
  measure("sequence", {{3, 20, 24}}, [](dl4_graph *g, std::vector<dl4_node> &in) {
    in = {input(g, "x", {-1, 20, 24})};
    dl4_node n = add(g, "Masking", nullptr, "{}", in[0]);
    n = add(g, "LSTM", nullptr, R"({"units": 40, "return_sequences": true, "go_backwards": true})", n);
    n = add(g, "Conv1D", nullptr, R"({"filters": 24, "kernel_size": 3, "padding": "causal"})", n);
    dl4_node a = add_all(g, "Attention", R"({"use_scale": true})", {n, n});
    a = add_all(g, "Add", "{}", {a, add_all(g, "AdditiveAttention", "{}", {n, n})});
    n = add_all(g, "Concatenate", "{}", {a, n});
    n = add(g, "Permute", nullptr, R"({"dims": [2, 1]})", add(g, "Softmax", nullptr, "{}", n));
    return add(g, "LSTM", nullptr, R"({"units": 256})", n);
  });
  EXPECT_LE(most_.run, 64 << 10);
  EXPECT_LE(most_.rest, 128 << 10);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE

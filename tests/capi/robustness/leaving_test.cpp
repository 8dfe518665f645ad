// Functions of the host's that do not come back: every one of them throws, in a child. The call says so, what it held
// is free, and the same objects work again. Those that a call waits for may also end their thread.
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "capi/processes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

enum class Way { returns, exits, throws, throws_int };
Way way = Way::returns;

void leave() {
  if (way == Way::exits) pthread_exit(nullptr);
  if (way == Way::throws) throw std::runtime_error("of mine");
  if (way == Way::throws_int) throw 17;
}

// What a case works on, made before it begins.
struct Objects {
  Own<dl4_model> m = small_net(nullptr, "linear");
  Own<dl4_tensor> x = tensor({2, 4}, numbers(8)), y = tensor({2, 3}, numbers(6));
  Own<dl4_trainer> t = trainer(m);

  Refusal fit(dl4_dataset *d, dl4_progress_fn fn = nullptr) {
    return refusal(dl4_trainer_fit(t, d, nullptr, nullptr, fn, nullptr, nullptr, nullptr));
  }
  Refusal step(dl4_trainer *of, dl4_tensor *target) {
    dl4_tensor *in = x;
    return refusal(dl4_trainer_step(of, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
  }
  static Refusal run(dl4_session *s, dl4_tensor *in) {
    Own<dl4_tensor> out;
    return refusal(dl4_session_run(s, &in, 1, out.out(), 1, nullptr));
  }
};

struct Case {
  const char *name;                             // of the function, in messages; empty: what it throws is dropped
  std::function<Refusal()> (*make)(Objects &);  // what is done, as often as it is called
};

int32_t shape_of(void *user, const char *, const int32_t *ranks, const int64_t *dims, int64_t, int32_t *out_ranks,
                 int64_t *out_dims, int64_t) {
  if (user == nullptr) leave();
  out_ranks[0] = ranks[0];
  std::copy_n(dims, ranks[0], out_dims);
  return 0;
}
int32_t forward(void *user, const char *, dl4_tensor *const *src, int64_t, dl4_tensor *const *dst, int64_t) {
  if (std::strcmp(static_cast<const char *>(user), "forward") == 0) leave();
  std::memcpy(dl4_tensor_data(dst[0]), dl4_tensor_data(src[0]), static_cast<size_t>(dl4_tensor_bytes(dst[0])));
  return 0;
}
int32_t backward(void *user, const char *, dl4_tensor *const *, int64_t, dl4_tensor *const *,
                 dl4_tensor *const *diff_dst, int64_t, dl4_tensor *const *diff_src) {
  if (std::strcmp(static_cast<const char *>(user), "backward") == 0) leave();
  if (diff_src[0])
    std::memcpy(dl4_tensor_data(diff_src[0]), dl4_tensor_data(diff_dst[0]),
                static_cast<size_t>(dl4_tensor_bytes(diff_src[0])));
  return 0;
}

// x [B, 4] or [B, T, 4] -> Dense -> the layer of that kind, or an RNN of a cell that ends in it.
Own<dl4_model> with_layer(const char *kind, bool in_a_cell) {
  Own<dl4_graph> g, inner;
  Own<dl4_model> m, cell;
  ok(dl4_graph_create(nullptr, g.out()));
  auto body = [&](dl4_graph *graph, dl4_node x) {
    return add(graph, kind, "own", "{}", add(graph, "Dense", "dense", R"({"units": 4})", x));
  };
  dl4_node x = input(g, "x", in_a_cell ? std::vector<int64_t>{-1, 3, 4} : std::vector<int64_t>{-1, 4}), y = -1;
  if (in_a_cell)
    ok(dl4_graph_add(
        g, "TimeDistributed", "each",
        (R"({"layer": {"class_name": ")" + std::string(kind) + R"(", "config": {"name": "own"}}})").c_str(), nullptr,
        nullptr, &x, 1, &y, 1));
  else
    y = body(g, x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

// A stream of a sequence and a fixed input, which goes through a layer of that kind. It has run once.
struct Fed {
  Own<dl4_stream> stream;
  Own<dl4_tensor> x = tensor({1, 2, 4}, numbers(8)), fixed = tensor({1, 4}, numbers(4)), y = tensor({1, 2, 4});

  explicit Fed(const char *kind) {
    Own<dl4_graph> g;
    Own<dl4_model> m;
    Own<dl4_session> s;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node inputs[] = {input(g, "x", {-1, -1, 4}), input(g, "fixed", {-1, 4})};
    const dl4_node own = add(g, kind, "own", "{}", inputs[1]);
    const dl4_node both[] = {inputs[0], add(g, "Reshape", nullptr, R"({"target_shape": [1, 4]})", own)};
    dl4_node sum = -1;
    ok(dl4_graph_add(g, "BroadcastAdd", nullptr, nullptr, nullptr, nullptr, both, 2, &sum, 1));
    ok(dl4_graph_build(g, inputs, 2, &sum, 1, m.out()));
    ok(dl4_session_create(m, R"({"streamable": true})", s.out()));
    ok(dl4_stream_create(s, nullptr, stream.out()));
    EXPECT_EQ(run().code, DL4_OK);
  }
  Refusal run() {
    dl4_tensor *const in[] = {x, fixed};
    dl4_tensor *out = y;
    return refusal(dl4_stream_run(stream, in, 2, &out, 1, nullptr));
  }
};

const Case cases[] = {
    {"progress function",
     [](Objects &o) -> std::function<Refusal()> {
       auto d = std::make_shared<Own<dl4_dataset>>(dataset(o.x, o.y));
       return [&o, d] {
         return o.fit(*d, [](void *, int32_t, int64_t, int64_t, const double *, int64_t) -> int32_t {
           leave();
           return DL4_CONTINUE;
         });
       };
     }},
    {"batch function",
     [](Objects &o) -> std::function<Refusal()> {
       auto d = std::make_shared<Own<dl4_dataset>>();
       ok(dl4_dataset_from_callback(
           nullptr,
           [](void *user, int64_t, dl4_tensor **x, int64_t, dl4_tensor **y, int64_t, dl4_tensor **,
              int64_t) -> int32_t {
             auto &objects = *static_cast<Objects *>(user);
             dl4_retain(objects.x);
             x[0] = objects.x;
             leave();
             dl4_retain(objects.y);
             y[0] = objects.y;
             return DL4_CONTINUE;
           },
           &o, nullptr, R"({"steps": 2})", d->out()));
       return [&o, d] { return o.fit(*d); };
     }},
    {"shape function of \"test>Shape\"",
     [](Objects &) -> std::function<Refusal()> {
       ok(dl4_registry_add("layer", "test>Shape", nullptr, shape_of, forward, backward, nullptr, nullptr));
       auto g = std::make_shared<Own<dl4_graph>>();
       ok(dl4_graph_create(nullptr, g->out()));
       const dl4_node x = input(*g, "x", {-1, 4});
       return [g, x] {
         dl4_node y = -1;
         return refusal(dl4_graph_add(*g, "test>Shape", nullptr, nullptr, nullptr, nullptr, &x, 1, &y, 1));
       };
     }},
    {"forward function of \"test>Forward\"",
     [](Objects &o) -> std::function<Refusal()> {
       static char which[] = "forward";
       ok(dl4_registry_add("layer", "test>Forward", nullptr, nullptr, forward, backward, which, nullptr));
       auto s = std::make_shared<Own<dl4_session>>();
       ok(dl4_session_create(with_layer("test>Forward", false), nullptr, s->out()));
       return [&o, s] { return o.run(*s, o.x); };
     }},
    {"forward function of \"test>Inner\"",
     [](Objects &o) -> std::function<Refusal()> {
       static char which[] = "forward";
       ok(dl4_registry_add("layer", "test>Inner", nullptr, nullptr, forward, backward, which, nullptr));
       auto s = std::make_shared<Own<dl4_session>>();
       ok(dl4_session_create(with_layer("test>Inner", true), nullptr, s->out()));
       auto in = std::make_shared<Own<dl4_tensor>>(tensor({2, 3, 4}, numbers(24)));
       return [&o, s, in] { return o.run(*s, *in); };
     }},
    {"forward function of \"test>Stream\"",
     [](Objects &) -> std::function<Refusal()> {
       static char which[] = "forward";
       ok(dl4_registry_add("layer", "test>Stream", nullptr, nullptr, forward, backward, which, nullptr));
       auto fed = std::make_shared<Fed>("test>Stream");
       return [fed] { return fed->run(); };
     }},
    {"backward function of \"test>Backward\"",
     [](Objects &o) -> std::function<Refusal()> {
       static char which[] = "backward";
       ok(dl4_registry_add("layer", "test>Backward", nullptr, nullptr, forward, backward, which, nullptr));
       auto t = std::make_shared<Own<dl4_trainer>>(trainer(with_layer("test>Backward", false)));
       return [&o, t] { return o.step(*t, o.x); };
     }},
    {"alloc function",
     [](Objects &) -> std::function<Refusal()> {
       auto c = std::make_shared<Own<dl4_context>>();
       ok(dl4_context_create(nullptr, c->out()));
       ok(dl4_context_set_allocator(
           *c,
           [](void *, int64_t bytes, int64_t align) -> void * {
             leave();
             return std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(bytes));
           },
           [](void *, void *p, int64_t) { std::free(p); }, nullptr));
       return [c] {
         const int64_t dims[1] = {5};
         Own<dl4_tensor> t;
         return refusal(dl4_tensor_create(*c, DL4_FLOAT32, 1, dims, t.out()));
       };
     }},
    {"",  // free
     [](Objects &) -> std::function<Refusal()> {
       auto c = std::make_shared<Own<dl4_context>>();
       ok(dl4_context_create(nullptr, c->out()));
       ok(dl4_context_set_allocator(
           *c,
           [](void *, int64_t bytes, int64_t align) -> void * {
             return std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(bytes));
           },
           [](void *, void *p, int64_t) {
             std::free(p);
             leave();
           },
           nullptr));
       return [c] {
         const int64_t dims[1] = {5};
         dl4_tensor *t = nullptr;
         const Refusal r = refusal(dl4_tensor_create(*c, DL4_FLOAT32, 1, dims, &t));
         dl4_release(t);
         return r;
       };
     }},
    {"",  // release, of memory
     [](Objects &) -> std::function<Refusal()> {
       return [] {
         static float values[4];
         const int64_t dims[1] = {4};
         dl4_tensor *t = nullptr;
         const Refusal r = refusal(dl4_tensor_wrap(
             nullptr, DL4_FLOAT32, 1, dims, nullptr, values, sizeof values, [](void *) { leave(); }, nullptr, &t));
         dl4_release(t);
         return r;
       };
     }},
    {"",  // release, of a data set
     [](Objects &) -> std::function<Refusal()> {
       return [] {
         dl4_dataset *d = nullptr;
         const Refusal r = refusal(dl4_dataset_from_callback(
             nullptr,
             [](void *, int64_t, dl4_tensor **, int64_t, dl4_tensor **, int64_t, dl4_tensor **, int64_t) -> int32_t {
               return DL4_STOP;
             },
             nullptr, [](void *) { leave(); }, nullptr, &d));
         dl4_release(d);
         return r;
       };
     }},
    {"",  // logger
     [](Objects &o) -> std::function<Refusal()> {
       auto c = std::make_shared<Own<dl4_context>>();
       ok(dl4_context_create(R"({"threads": 1000})", c->out()));
       ok(dl4_context_set_logger(
           *c, DL4_LOG_TRACE, [](void *, int32_t, const char *) { leave(); }, nullptr));
       auto t = std::make_shared<Own<dl4_trainer>>(trainer(small_net(*c, "linear")));
       auto d = std::make_shared<Own<dl4_dataset>>(dataset(o.x, o.y));
       return [t, d] {
         const char *stops = R"({"epochs": 3, "callbacks": [{"class_name": "EarlyStopping", "config":
             {"monitor": "loss", "mode": "max", "patience": 1, "verbose": 1}}]})";
         return refusal(dl4_trainer_fit(*t, *d, nullptr, stops, nullptr, nullptr, nullptr, nullptr));
       };
     }},
    {"reduce function",
     [](Objects &o) -> std::function<Refusal()> {
       return [&o] {
         const bool apart = way != Way::returns;  // the other worker is not there
         return refusal(dl4_trainer_set_workers(
             o.t, 0, apart ? 2 : 1,
             [](void *, void *, int64_t, int32_t) -> int32_t {
               leave();
               return DL4_CONTINUE;
             },
             nullptr, nullptr));
       };
     }},
};

// 0, or what was wrong.
int attempt(const Case &c, Way how) {
  auto *o = new Objects;  // what the thread leaves behind may outlive this
  const std::function<Refusal()> work = c.make(*o);
  if (testing::Test::HasFailure()) return 1;
  struct Thread {
    const std::function<Refusal()> &work;
    Refusal told;
  } thread{work, {-1, "", ""}};
  way = how;
  pthread_t id;
  pthread_create(
      &id, nullptr,
      [](void *p) -> void * {
        static_cast<Thread *>(p)->told = static_cast<Thread *>(p)->work();
        return nullptr;
      },
      &thread);
  pthread_join(id, nullptr);
  way = Way::returns;
  if (how == Way::exits) return thread.told.code == -1 ? 0 : 2;
  const std::string said = std::string(c.name) + " threw " + (how == Way::throws ? "of mine" : "an exception");
  if (thread.told.code != (*c.name ? DL4_CALLBACK_FAILED : 0)) return 3;
  if (*c.name && thread.told.message.find(said) == std::string::npos) return 4;
  for (int i = 0; i < 2; ++i)
    if (const Refusal r = work(); r.code) {
      std::fprintf(stderr, "again: %s\n", r.message.c_str());
      return 5;
    }
  if (o->step(o->t, o->y).code) return 6;
  Own<dl4_session> s;
  ok(dl4_session_create(o->m, nullptr, s.out()));
  return o->run(s, o->x).code ? 7 : 0;
}

TEST(Leaving, EveryFunctionOfTheHostsInEveryWay) {
  int number = 0;
  for (const Case &c : cases) {
    ++number;
    for (const Way how : {Way::exits, Way::throws, Way::throws_int}) {
      if (how == Way::exits && !*c.name) continue;  // called by destructors
      EXPECT_EQ(in_child([&] { return attempt(c, how); }, 30), 0)
          << "function " << number << ' ' << c.name << ", way " << static_cast<int>(how);
    }
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE

// Signals that come while the library computes on the thread they come to.
#include <signal.h>
#include <sys/time.h>

#include <memory>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

volatile sig_atomic_t heard = 0;
void hear(int) { heard = heard + 1; }

// Every half millisecond, as a profiler does; handled on the thread's own stack.
class Alarm {
 public:
  Alarm() {
    struct sigaction action = {};
    action.sa_handler = hear;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    heard = 0;
    every(500);
  }
  ~Alarm() {
    every(0);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static void every(suseconds_t us) {
    const itimerval timer = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_;
};

// oneDNN's products once had the stack pointer in the heap: handlers' frames destroyed what lay there.
TEST(Signals, LeaveTrainingAsItIs) {
  constexpr int64_t rows = 2000;
  Own<dl4_tensor> x = tensor({rows, 256}, numbers(rows * 256)), y = tensor({rows, 512}, numbers(rows * 512));
  auto trained = [&](bool alarmed) {
    Own<dl4_context> c;
    ok(dl4_context_create(R"({"threads": 2})", c.out()));
    Own<dl4_graph> g;
    ok(dl4_graph_create(c, g.out()));
    const dl4_node in = input(g, "x", {-1, 256});
    const dl4_node out = add(g, "Dense", "b", R"({"units": 512})", add(g, "Dense", "a", R"({"units": 512})", in));
    Own<dl4_model> m;
    ok(dl4_graph_build(g, &in, 1, &out, 1, m.out()));
    Own<dl4_trainer> t = trainer(m);
    Own<dl4_dataset> d = dataset(x, y, R"({"batch_size": 500})");
    std::unique_ptr<Alarm> alarm(alarmed ? new Alarm : nullptr);
    ok(dl4_trainer_fit(t, d, nullptr, R"({"epochs": 8})", nullptr, nullptr, nullptr, nullptr));
    Own<dl4_tensor> w;
    ok(dl4_model_get_weight(m, "a/kernel", w.out()));
    return floats(w);
  };
  const auto quiet = trained(false), alarmed = trained(true);
  EXPECT_GT(heard, 5);
  EXPECT_EQ(quiet, alarmed);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE

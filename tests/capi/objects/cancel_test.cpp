// A cancel acts in the middle of what takes long, and a context limits the steps of loops.
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "capi/streams.hpp"

namespace dl4_test::DL4_FILE {
namespace {

// A model of inputs step, x, n and output y: x after loops within loops, so many deep, each of n steps.
std::string repeated(int depth) {
  const std::string input = R"({"class_name": "Input", "name": ")", shape = R"(", "config": {"shape": )";
  const std::string inputs = input + "step" + shape + R"([], "dtype": "int64"}}, )" + input + "x" + shape +
                             R"([null, 4], "dtype": "float32"}}, )" + input + "n" + shape +
                             R"([], "dtype": "int64"}}, )";
  const std::string last =
      depth == 0 ? R"({"class_name": "ReLU", "name": "y", "config": {}, "calls": [{"inputs": [["x", 0, 0]]}]})"
                 : R"({"class_name": "WhileLoop", "name": "y", "config": {"states": 1, "counted": true, "body": )" +
                       repeated(depth - 1) + R"(}, "calls": [{"inputs": [["n", 0, 0], ["x", 0, 0], ["n", 0, 0]]}]})";
  return R"({"class_name": "Functional", "config": {"model": {"format": 1,
    "inputs": [["step", 0, 0], ["x", 0, 0], ["n", 0, 0]], "outputs": [["y", 0, 0]], "layers": [)" +
         inputs + last + "]}}}";
}

// Loops within a loop, or within a scan of n steps.
struct Loops {
  Own<dl4_session> session;
  Own<dl4_tensor> x = tensor({1, 4}, {1, 2, 3, 4}), n, sequence;

  Loops(dl4_context *c, int64_t steps, int depth, bool scans = false) {
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(c, g.out()));
    const dl4_node x_in = input(g, "x", {-1, 4}), n_in = input(g, "n", {}, DL4_INT64);
    dl4_node y = -1;
    std::vector<dl4_node> in{n_in, x_in, n_in}, model_in{x_in, n_in};
    if (scans) {
      model_in.push_back(input(g, "steps", {-1}, DL4_INT64));
      in = {x_in, model_in.back(), n_in};
    }
    const std::string config = R"({"states": 1, )" + std::string(scans ? "" : R"("counted": true, )") + R"("body": )" +
                               (scans ? swapped(depth - 1) : repeated(depth - 1)) + "}";
    ok(dl4_graph_add(g, scans ? "Scan" : "WhileLoop", "loop", config.c_str(), nullptr, nullptr, in.data(), 3, &y, 1));
    ok(dl4_graph_build(g, model_in.data(), static_cast<int64_t>(model_in.size()), &y, 1, m.out()));
    ok(dl4_session_create(m, nullptr, session.out()));
    n = tensor({}, {}, DL4_INT64);
    *static_cast<int64_t *>(dl4_tensor_data(n)) = steps;
    sequence = tensor({steps}, {}, DL4_INT64);
    scans_ = scans;
  }
  Refusal run(dl4_cancel *cancel = nullptr) {
    dl4_tensor *in[] = {x, n, sequence}, *out = nullptr;
    const Refusal r = refusal(dl4_session_run(session, in, scans_ ? 3 : 2, &out, 1, cancel));
    EXPECT_EQ(r.code != 0, out == nullptr);
    dl4_release(out);
    return r;
  }

 private:
  bool scans_ = false;
  // As repeated(), but x is the first input, as a scan passes it.
  static std::string swapped(int depth) {
    std::string s = repeated(depth);
    const std::string as = R"([["step", 0, 0], ["x", 0, 0], ["n", 0, 0]])",
                      wanted = R"([["x", 0, 0], ["step", 0, 0], ["n", 0, 0]])";
    return s.replace(s.find(as), as.size(), wanted);
  }
};

Own<dl4_context> context(const std::string &options) {
  Own<dl4_context> c;
  ok(dl4_context_create(options.c_str(), c.out()));
  return c;
}

// 10^9 steps take minutes. The flag is set while they run: the call ends soon after.
void expect_cancelled_inside(Loops &loops) {
  using Clock = std::chrono::steady_clock;
  Own<dl4_cancel> cancel;
  ok(dl4_cancel_create(cancel.out()));
  Clock::time_point triggered;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    triggered = Clock::now();
    dl4_cancel_trigger(cancel);
  });
  const Refusal r = loops.run(cancel);
  const auto ended = Clock::now();
  other.join();
  EXPECT_EQ(r.code, DL4_CANCELLED) << r.message;
  EXPECT_LT(std::chrono::duration<double>(ended - triggered).count(), 5);  // a loaded machine; alone, less than 1 ms
}

TEST(Cancel, ActsInLoopsWithinLoops) {
  for (const char *threads : {"1", "2"})
    for (bool scans : {false, true}) {
      SCOPED_TRACE(std::string(threads) + (scans ? " scan" : " loop"));
      auto c = context(R"({"step_limit": 1000000000000, "threads": )" + std::string(threads) + "}");
      Loops loops(c, 1000, 3, scans);
      expect_cancelled_inside(loops);
    }
}

TEST(Cancel, LoopsTakeAsManyStepsAsTheContextAllows) {
  auto c = context(R"({"step_limit": 1000})");
  for (bool scans : {false, true}) {
    SCOPED_TRACE(scans);
    EXPECT_EQ(Loops(c, 9, 3, scans).run().message, "");  // 9 + 81 + 729
    const Refusal r = Loops(c, 10, 3, scans).run();
    EXPECT_EQ(r.code, DL4_UNSUPPORTED);
    EXPECT_NE(r.message.find("take more than 1000 steps, which is the \"step_limit\" of the context"),
              std::string::npos)
        << r.message;
  }
  auto none = context(R"({"step_limit": 0})");
  EXPECT_EQ(Loops(none, 1, 1).run().code, DL4_UNSUPPORTED);
  EXPECT_EQ(Loops(none, 0, 1).run().message, "");
}

// The flag is set before a run whose plan exists: the layer's own loop, and the product before it, see it. Processor
// time does not depend on what else the machine does.
TEST(Cancel, ActsInALongRecurrentLayer) {
  const Layer lstm{"LSTM", R"({"units": 128, "return_sequences": true})"};
  Own<dl4_blob> info;
  ok(dl4_build_info(info.out()));
  std::vector<std::string> all{R"({"threads": 1})", R"({"threads": 2})"};
  if (std::string(dl4_blob_data(info)).find("\"dnnl_lstm\"") != std::string::npos) {
    all.push_back(R"({"threads": 1, "kernels_off": ["dnnl_lstm"]})");
    all.push_back(R"({"threads": 2, "kernels_off": ["dnnl_lstm"]})");
  }
  for (const std::string &options : all)
    for (int64_t batch : {1, 8}) {
      SCOPED_TRACE(options + std::to_string(batch));
      auto c = context(options);
      Own<dl4_graph> g;
      Own<dl4_model> m;
      ok(dl4_graph_create(c, g.out()));
      const dl4_node x = input(g, "x", {-1, -1, 64}), y = add(g, "LSTM", nullptr, lstm.config, x);
      ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
      auto s = session(m, "{}");
      auto in = tensor({batch, 16000 / batch, 64}, {});
      Own<dl4_cancel> cancel;
      ok(dl4_cancel_create(cancel.out()));
      dl4_tensor *given = in, *out = nullptr;
      ok(dl4_session_run(s, &given, 1, &out, 1, cancel));
      const auto spent = [&](int32_t code) {
        const std::clock_t begin = std::clock();
        EXPECT_EQ(refusal(dl4_session_run(s, &given, 1, &out, 1, cancel)).code, code);
        return std::clock() - begin;
      };
      const auto whole = std::min(spent(0), spent(0));
      dl4_cancel_trigger(cancel);
      EXPECT_LT(std::min(spent(DL4_CANCELLED), spent(DL4_CANCELLED)), whole / 4);
      dl4_release(out);
    }
}

// A long layer is computed in parts, between which a run can end: its outputs are those of short runs, each of which
// continues from the states of the one before.
TEST(Cancel, PartsOfALongRecurrentLayerGiveItsNumbers) {
  constexpr int64_t batch = 2, steps = 8000, inputs = 64, units = 128, few = 500;
  std::vector<std::string> all{R"({"threads": 1})", R"({"threads": 2})"};
  Own<dl4_blob> info;
  ok(dl4_build_info(info.out()));
  if (std::string(dl4_blob_data(info)).find("\"dnnl_lstm\"") != std::string::npos) {
    all.push_back(R"({"threads": 1, "kernels_off": ["dnnl_lstm"]})");
    all.push_back(R"({"threads": 2, "kernels_off": ["dnnl_lstm"]})");
  }
  auto x = tensor({batch, steps, inputs}, numbers(static_cast<size_t>(batch * steps * inputs)));
  for (const std::string &options : all) {
    SCOPED_TRACE(options);
    auto c = context(options);
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(c, g.out()));
    const dl4_node in = input(g, "x", {-1, -1, inputs});
    const dl4_node y = add(g, "LSTM", nullptr, R"({"units": 128, "return_sequences": true})", in);
    ok(dl4_graph_build(g, &in, 1, &y, 1, m.out()));
    auto parts = session(m);
    std::vector<float> expected(static_cast<size_t>(batch * steps * units));
    Own<dl4_tensor> h = tensor({batch, units}, std::vector<float>(batch * units)),
                    cells = tensor({batch, units}, std::vector<float>(batch * units));
    for (int64_t t = 0; t < steps; t += few) {
      auto some = part(x, t, t + few);
      dl4_tensor *given[] = {some, h, cells}, *out[3] = {};
      ok(dl4_session_run(parts, given, 3, out, 3, nullptr));
      Own<dl4_tensor> of_part = out[0];
      h = Own<dl4_tensor>(out[1]), cells = Own<dl4_tensor>(out[2]);
      for (int64_t b = 0; b < batch; ++b)
        std::copy_n(static_cast<const float *>(dl4_tensor_data(of_part)) + b * few * units, few * units,
                    expected.begin() + (b * steps + t) * units);
    }
    for (const char *how : {"{}", R"({"gradients": ["x"]})"}) {  // the latter keeps the gates
      auto whole = session(m, how);
      dl4_tensor *given = x, *out[2] = {};
      ok(dl4_session_run(whole, &given, 1, out, how[1] == '}' ? 1 : 2, nullptr));
      const auto *got = static_cast<const float *>(dl4_tensor_data(out[0]));
      double worst = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
      EXPECT_LT(worst, 2e-5) << how;
      dl4_release(out[0]), dl4_release(out[1]);
    }
  }
}

// The flag is set from another thread when a quarter of the run's processor time is spent: what is left of one long
// step is not computed. The plan exists before any run that is measured. Where the machine is busy, the other thread
// may not be scheduled in time, so several attempts are made; no attempt would stop early in a step that is not cut.
struct LongStep {
  const char *kind, *config;
  std::vector<std::vector<int64_t>> inputs;
};

double spent_until_cancelled(dl4_session *s, const std::vector<dl4_tensor *> &in, double seconds) {
  const auto now = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  Own<dl4_cancel> cancel;
  ok(dl4_cancel_create(cancel.out()));
  std::atomic<bool> ended{false};
  const double begin = now();
  std::thread other([&] {
    while (!ended && now() - begin < seconds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    dl4_cancel_trigger(cancel);
  });
  dl4_tensor *out = nullptr;
  const Refusal r = refusal(dl4_session_run(s, in.data(), static_cast<int64_t>(in.size()), &out, 1, cancel));
  ended = true;
  other.join();
  const double spent = now() - begin;
  EXPECT_TRUE(r.code == DL4_OK || (r.code == DL4_CANCELLED && seconds < 1e3)) << r.message;
  dl4_release(out);
  return spent;
}

TEST(Cancel, ActsInOneLongStep) {
  const LongStep steps[] = {
      {"Conv2D", R"({"filters": 96, "kernel_size": 3, "padding": "same"})", {{2, 192, 192, 96}}},
      {"Conv3D", R"({"filters": 64, "kernel_size": 3})", {{4, 18, 34, 34, 64}}},
      {"Conv2DTranspose", R"({"filters": 96, "kernel_size": 3, "padding": "same"})", {{2, 192, 192, 96}}},
      {"Dense", R"({"units": 2048})", {{4096, 2048}}},
      {"Dot", R"({"axes": [1, 1]})", {{8, 1024, 1024}, {8, 1024, 1024}}},
      {"Dot", R"({"axes": [1, 1]})", {{1, 2048, 2048}, {1, 2048, 2048}}},
      {"Attention", "{}", {{8, 4096, 64}, {8, 4096, 64}}},
      {"GRU", R"({"units": 256, "return_sequences": true})", {{64, 100, 256}}},
      {"Softmax", "{}", {{64, 1000, 1000}}},
  };
  for (int threads : {1, 2})
    for (const LongStep &l : steps) {
      SCOPED_TRACE(l.kind + std::to_string(threads));
      auto c = context(R"({"threads": )" + std::to_string(threads) + "}");
      Own<dl4_graph> g;
      Own<dl4_model> m;
      ok(dl4_graph_create(c, g.out()));
      std::vector<dl4_node> in;
      std::vector<Own<dl4_tensor>> all;
      std::vector<dl4_tensor *> given;
      for (const auto &dims : l.inputs) {
        std::vector<int64_t> shape = dims;
        shape[0] = -1;
        in.push_back(input(g, ("x" + std::to_string(in.size())).c_str(), shape));
        int64_t n = 1;
        for (int64_t d : dims) n *= d;
        given.push_back(all.emplace_back(tensor(dims, numbers(static_cast<size_t>(n)))));
      }
      dl4_node y = -1;
      const auto n_in = static_cast<int64_t>(in.size());
      ok(dl4_graph_add(g, l.kind, nullptr, l.config, nullptr, nullptr, in.data(), n_in, &y, 1));
      ok(dl4_graph_build(g, in.data(), n_in, &y, 1, m.out()));
      auto s = session(m, "{}");
      spent_until_cancelled(s, given, 1e9);
      const double whole = std::min(spent_until_cancelled(s, given, 1e9), spent_until_cancelled(s, given, 1e9));
      const double most = std::max(0.8 * whole, whole / 4 + 0.1 * threads);  // each thread ends within 100 ms
      double until = whole;
      for (int attempt = 0; attempt < 10 && until >= most; ++attempt)
        until = std::min(until, spent_until_cancelled(s, given, whole / 4));
      EXPECT_LE(until, most);
    }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE

// A library that takes the processor for an older one is not used, and the library says so.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "capi/net.hpp"
#include "capi/processes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

std::string build_info() {
  Own<dl4_blob> blob;
  ok(dl4_build_info(blob.out()));
  return dl4_blob_data(blob);
}

TEST(OlderLibraries, AreNamedInBuildInfoAndLogs) {
  const auto info = nlohmann::json::parse(build_info());
  const std::string isa = info.at("cpu").at("isa");
  if (info.at("backends") == "own" || isa.find("avx2") == std::string::npos) GTEST_SKIP() << "there are none";
  const pid_t child = fork();
  if (child == 0) {
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1), setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1);
    execl("/proc/self/exe", "capi_tests", "--gtest_also_run_disabled_tests", "--gtest_brief=1",
          "--gtest_filter=OlderLibraries.DISABLED_InTheChild", nullptr);
    _exit(99);
  }
  EXPECT_EQ(wait_for(child, 120), 0);
}

TEST(OlderLibraries, DISABLED_InTheChild) {
  const auto info = nlohmann::json::parse(build_info());
  const std::string openblas = info.at("openblas"), onednn = info.at("onednn");
  if (openblas.find(", openmp") != std::string::npos) {
    EXPECT_NE(openblas.find(": not used, for its kernels are of Nehalem, older than AVX"), std::string::npos)
        << openblas;
  }
  EXPECT_NE(openblas.find(": not used, for "), std::string::npos) << openblas;
  EXPECT_NE(onednn.find(": not used, for it is kept to vectors older than AVX"), std::string::npos) << onednn;

  std::string told;
  Own<dl4_context> c;
  ok(dl4_context_create(nullptr, c.out()));
  ok(dl4_context_set_logger(
      c, DL4_LOG_INFO,
      [](void *user, int32_t, const char *message) {
        *static_cast<std::string *>(user) += message + std::string("\n");
      },
      &told));
  Own<dl4_graph> g;
  ok(dl4_graph_create(c, g.out()));
  const dl4_node in = input(g, "x", {-1, 16, 16, 4});
  dl4_node n = add(g, "Conv2D", nullptr, R"({"filters": 16, "kernel_size": 1})", in);
  n = add(g, "Reshape", nullptr, R"({"target_shape": [16, 256]})", n);
  n = add(g, "LSTM", nullptr, R"({"units": 32})", n);
  n = add(g, "Dense", nullptr, R"({"units": 10})", n);
  Own<dl4_model> model;
  ok(dl4_graph_build(g, &in, 1, &n, 1, model.out()));
  Own<dl4_session> session;
  ok(dl4_session_create(model, nullptr, session.out()));
  for (const int64_t rows : {1, 32, 64}) {
    const Own<dl4_tensor> x = tensor({rows, 16, 16, 4});
    dl4_tensor *one = x;
    Own<dl4_tensor> y;
    ok(dl4_session_run(session, &one, 1, y.out(), 1, nullptr));
  }
  for (const char *name : {"openblas OpenBLAS", "onednn "}) {
    const auto at = told.find(name);
    ASSERT_NE(at, std::string::npos) << told;
    EXPECT_NE(told.substr(at, told.find('\n', at) - at).find(" is not used, for "), std::string::npos) << told;
    EXPECT_EQ(told.find(name, at + 1), std::string::npos) << "said once: " << told;
  }
  Own<dl4_blob> plan;
  ok(dl4_describe(session, DL4_FORMAT_TEXT, plan.out()));
  for (const char *name : {"openblas_", "dnnl_"})
    EXPECT_EQ(std::string(dl4_blob_data(plan)).find(name), std::string::npos) << dl4_blob_data(plan);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE

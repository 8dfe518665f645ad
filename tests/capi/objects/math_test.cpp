// The context option math: what large products are computed in.
#include <string>

#include "capi/net.hpp"
#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

std::vector<float> dense_of(dl4_context *c) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, 512}), y = add(g, "Dense", nullptr, R"({"units": 256})", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  const auto images = tensor({256, 512}, numbers(256 * 512));
  return run(m, {images})[0];
}

TEST(Math, Float32x3NeedsAmx) {
  Own<dl4_context> plain, three;
  ok(dl4_context_create(nullptr, plain.out()));
  dl4_error *const refused = dl4_context_create(R"({"math": "float32x3"})", three.out());
  if (refused) {
    EXPECT_EQ(dl4_error_code(refused), DL4_UNSUPPORTED);
    EXPECT_NE(std::string(dl4_error_message(refused)).find("expected a processor with AMX"), std::string::npos);
    EXPECT_NE(std::string(dl4_error_detail(refused)).find(R"("attribute":"math")"), std::string::npos);
    dl4_release(refused);
    return;
  }
  const auto want = dense_of(plain), got = dense_of(three);
  EXPECT_NE(want, got);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], got[i], 1e-4);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE

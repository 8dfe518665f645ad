// Graphs as they are described, named, merged; and large ones.
#include <chrono>
#include <nlohmann/json.hpp>

#include "net.hpp"

namespace {

using namespace dl4_test;
using nlohmann::json;

std::string described(const void *object, int32_t format) {
  Own<dl4_blob> b;
  ok(dl4_describe(object, format, b.out()));
  return dl4_blob_data(b);
}

TEST(Graphs, AMaskThatIsNoneForOneInputIsDescribed) {
  Own<dl4_graph> g, again;
  Own<dl4_model> m;
  Own<dl4_attrs> call;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in[3] = {input(g, "q", {-1, 2, 4}), input(g, "v", {-1, 3, 4}), input(g, "m", {-1, 3}, DL4_BOOL)}, y = -1;
  const dl4_node masks[2] = {-1, in[2]};
  ok(dl4_attrs_create(call.out()));
  ok(dl4_attrs_set_nodes(call, "mask", masks, 2));
  ok(dl4_graph_add(g, "Attention", "attention", nullptr, call, in, 2, &y, 1));
  ok(dl4_graph_build(g, in, 3, &y, 1, m.out()));
  for (const void *object : {static_cast<const void *>(g), static_cast<const void *>(m)}) {
    EXPECT_NE(described(object, DL4_FORMAT_TEXT).find("q[0][0], v[0][0], m[0][0]"), std::string::npos)
        << described(object, DL4_FORMAT_TEXT);
    EXPECT_NE(described(object, DL4_FORMAT_DOT).find("label=\"mask\""), std::string::npos)
        << described(object, DL4_FORMAT_DOT);
  }
  ok(dl4_graph_create(nullptr, again.out()));
  ok(dl4_graph_merge_json(again, described(m, DL4_FORMAT_JSON).c_str()));
  EXPECT_EQ(described(again, DL4_FORMAT_TEXT), described(g, DL4_FORMAT_TEXT));
}

}  // namespace

// The great image nets built through the public interface: their parameters, and one image through them.
#include <gtest/gtest.h>

#include <cmath>

#include "draw.hpp"

namespace models::DL4_FILE {
namespace {

using namespace dl4;

int64_t parameters(const Model &m) {
  int64_t all = 0;
  for (const std::string &name : m.weight_names()) {
    int64_t n = 1;
    for (const int64_t d : m.weight(name).dims()) n *= d;
    all += n;
  }
  return all;
}

int64_t count(const std::string &text, const std::string &word) {
  int64_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++n;
  return n;
}

// Probabilities of one image: they are finite, sum to 1 and depend on it.
void check_classes(const Session &session, const Dims &image, size_t classes) {
  const auto a = values(session.run({Draw(1).reals(image)})[0]), b = values(session.run({Draw(2).reals(image)})[0]);
  ASSERT_EQ(a.size(), classes);
  double sum = 0;
  for (const float p : a) {
    ASSERT_TRUE(std::isfinite(p));
    sum += static_cast<double>(p);
  }
  EXPECT_NEAR(sum, 1, 1e-4);
  EXPECT_NE(a, b);
}

// Krizhevsky, Sutskever and Hinton 2012: convolutions of two groups, local response normalization.
TEST(Networks, AlexNet) {
  Graph g;
  auto conv = [&](Node h, int64_t filters, int64_t kernel, int64_t strides, const char *padding, int64_t groups) {
    return g.add("Conv2D", h,
                 {{"filters", filters},
                  {"kernel_size", kernel},
                  {"strides", strides},
                  {"groups", groups},
                  {"padding", padding},
                  {"activation", "relu"}});
  };
  auto pool = [&](Node h) { return g.add("MaxPooling2D", h, {{"pool_size", 3}, {"strides", 2}}); };
  auto normalized = [&](Node h) {
    return g.add("LocalResponseNormalization", h,
                 {{"depth_radius", 2}, {"bias", 2.0}, {"alpha", 1e-4}, {"beta", 0.75}});
  };
  const Node x = g.input("image", {-1, 227, 227, 3});
  Node h = pool(normalized(conv(x, 96, 11, 4, "valid", 1)));
  h = pool(normalized(conv(h, 256, 5, 1, "same", 2)));
  h = conv(conv(h, 384, 3, 1, "same", 1), 384, 3, 1, "same", 2);
  h = pool(conv(h, 256, 3, 1, "same", 2));
  EXPECT_EQ(g.shape(h), (Dims{-1, 6, 6, 256}));
  h = g.add("Flatten", h);
  for (int i = 0; i < 2; ++i)
    h = g.add("Dropout", g.add("Dense", h, {{"units", 4096}, {"activation", "relu"}}), {{"rate", 0.5}});
  const Model m = g.build({x}, {g.add("Dense", h, {{"units", 1000}, {"activation", "softmax"}})});
  EXPECT_EQ(parameters(m), 60965224);
  check_classes(Session(m), {1, 227, 227, 3}, 1000);
}

// He, Zhang, Ren and Sun 2015, as in Keras: stacks of 3, 4, 6 and 3 blocks.
struct ResNet {
  Graph g;

  Node norm(Node h) { return g.add("BatchNormalization", h, {{"epsilon", 1.001e-5}}); }
  Node relu(Node h) { return g.add("ReLU", h); }
  Node conv(Node h, int64_t filters, int64_t kernel, int64_t strides) {
    return norm(g.add("Conv2D", h,
                      {{"filters", filters},
                       {"kernel_size", kernel},
                       {"strides", strides},
                       {"padding", kernel == 3 ? "same" : "valid"}}));
  }
  Node block(Node x, int64_t filters, int64_t strides, bool first) {
    const Node shortcut = first ? conv(x, 4 * filters, 1, strides) : x;
    Node h = relu(conv(x, filters, 1, strides));
    h = relu(conv(h, filters, 3, 1));
    return relu(g.add("Add", {shortcut, conv(h, 4 * filters, 1, 1)}));
  }
  Model model() {
    const Node x = g.input("image", {-1, 224, 224, 3});
    Node h = relu(conv(g.add("ZeroPadding2D", x, {{"padding", 3}}), 64, 7, 2));
    h = g.add("MaxPooling2D", g.add("ZeroPadding2D", h, {{"padding", 1}}), {{"pool_size", 3}, {"strides", 2}});
    const int64_t blocks[] = {3, 4, 6, 3};
    for (int stack = 0; stack < 4; ++stack)
      for (int64_t i = 0; i < blocks[stack]; ++i)
        h = block(h, int64_t{64} << stack, i == 0 && stack > 0 ? 2 : 1, i == 0);
    EXPECT_EQ(g.shape(h), (Dims{-1, 7, 7, 2048}));
    h = g.add("Dense", g.add("GlobalAveragePooling2D", h), {{"units", 1000}, {"activation", "softmax"}});
    return g.build({x}, {h});
  }
};

TEST(Networks, ResNet50) {
  const Model m = ResNet().model();
  EXPECT_EQ(parameters(m), 25636712);
  EXPECT_EQ(count(m.describe(), "25,636,712"), 1) << "in the summary";
  EXPECT_EQ(count(m.describe(DL4_FORMAT_JSON), "\"BatchNormalization\""), 53);
  const Session session(m);
  check_classes(session, {1, 224, 224, 3}, 1000);

  // 53 convolutions with the normalizations in their weights; what a normalization computes is not left.
  const std::string plan = session.describe();
  const std::string steps = plan.substr(plan.find("plan for"));
  EXPECT_EQ(count(steps, " = conv{"), 53);
  for (const char *left : {"rsqrt", "normalize", "sub", "batch_normalization"})
    EXPECT_EQ(count(steps, left), 0) << left;
}

}  // namespace
}  // namespace models::DL4_FILE

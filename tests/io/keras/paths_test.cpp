// Where Keras keeps what, and in which order it lists layers and their weights.
#include "io/keras/paths.hpp"

#include <gtest/gtest.h>

#include "io/formats.hpp"
#include "io/keras/json.hpp"

namespace dl4::io::DL4_FILE {
namespace {

using Paths = std::map<std::string, std::string>;

std::shared_ptr<graph::Model> model_of(const char *kind, const Json &config, const Shape &in) {
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  const graph::Node x = g->input("x", DType::f32, in);
  const auto y = g->add(kind, "it", config, {}, {x});
  return std::make_shared<graph::Model>(g, std::vector{x}, y);
}

Paths paths(const graph::Model &m) { return keras_paths(keras::json_of(m), m.weights()).weights; }

TEST(KerasPaths, TheWeightsOfARecurrentLayerAreItsCells) {
  for (const auto &[kind, list, in] : {std::tuple("ConvLSTM1D", "conv_lstm1d", Shape{free_dim, 2, 4, 2}),
                                       std::tuple("ConvLSTM2D", "conv_lstm2d", Shape{free_dim, 2, 4, 4, 2}),
                                       std::tuple("ConvLSTM3D", "conv_lstm3d", Shape{free_dim, 2, 4, 4, 4, 2})}) {
    const auto m = model_of(kind, {{"filters", 2}, {"kernel_size", 2}}, in);
    const std::string at = std::string("layers/") + list + "/cell/vars/";
    EXPECT_EQ(paths(*m), (Paths{{at + "0", "it/kernel"}, {at + "1", "it/recurrent_kernel"}, {at + "2", "it/bias"}}))
        << kind;
  }
}

TEST(KerasPaths, ANormalizedKernelStandsTwice) {
  const Json dense{{"class_name", "Dense"}, {"config", {{"units", 2}}}};
  const auto m = model_of("SpectralNormalization", {{"layer", dense}}, {free_dim, 3});
  const std::string at = "layers/spectral_normalization/";
  EXPECT_EQ(paths(*m), (Paths{{at + "layer/vars/0", "it/dense/kernel"},
                              {at + "layer/vars/1", "it/dense/bias"},
                              {at + "vars/0", "it/dense/kernel"},
                              {at + "vars/1", "it/vector_u"}}));
}

// By depth, and of one depth as a search from the outputs meets them: not in the order in which they were made.
TEST(KerasPaths, LayersAreListedInKerassOrder) {
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  const graph::Node x = g->input("x", DType::f32, {free_dim, 4});
  const Json four{{"units", 4}};
  const graph::Node late = g->add("Dense", "late", four, {}, {x})[0];
  const graph::Node early = g->add("Dense", "early", four, {}, {x})[0];
  const graph::Node deep = g->add("Dense", "deep", four, {}, {early})[0];
  const auto y = g->add("Add", "sum", Json::object(), {}, {deep, late});
  const graph::Model m(g, {x}, y);
  const KerasPaths found = keras_paths(keras::json_of(m), m.weights());
  EXPECT_EQ(found.order, (std::vector<std::string>{"early/kernel", "early/bias", "deep/kernel", "deep/bias",
                                                   "late/kernel", "late/bias"}));
  EXPECT_EQ(found.weights.at("layers/dense/vars/0"), "early/kernel");
  EXPECT_EQ(found.weights.at("layers/dense_2/vars/0"), "late/kernel");
}

}  // namespace
}  // namespace dl4::io::DL4_FILE

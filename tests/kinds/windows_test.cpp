// Convolutions, pooling, padding, upsampling, products and keras.ops as layers: refusals, free sizes, channels first.
#include <cmath>
#include <map>

#include "kinds/layer_call.hpp"
#include "kinds/layer_case.hpp"

namespace dl4::test::DL4_FILE {
namespace {

constexpr Code invalid = Code::invalid_argument;

Json with(Json config, const std::string &key, const Json &value) {
  config[key] = value;
  return config;
}

// A layer that takes data_format gives the same numbers either way, with the channels where it is told.
void expect_equal_orders(const std::string &kind, const Json &config, const Shape &last) {
  std::vector<int64_t> dims{last[0], last.last()};
  dims.insert(dims.end(), last.begin() + 1, last.end() - 1);
  const Shape first(dims);
  const Tensor x = random(first, 5);
  LayerCall a(kind, with(config, "data_format", "channels_first")), b(kind, config);
  auto y = a.call({a.input(first)});
  Symbol in = b.input(first);
  std::vector<int> to_last{0}, to_first{0, last.rank() - 1};
  for (int i = 2; i < last.rank(); ++i) to_last.push_back(i);
  to_last.push_back(1);
  for (int i = 1; i + 1 < last.rank(); ++i) to_first.push_back(i);
  in.value = ops::transpose(b.e, in.value, to_last);
  auto z = b.call({in});
  if (b.e.rank(z[0].value) == last.rank()) z[0].value = ops::transpose(b.e, z[0].value, to_first);
  expect_close(a.run(y, {x})[0], b.run(z, {x})[0], 1e-6, kind + " " + config.dump());
}

TEST(DataFormat, EitherOrderGivesTheSameNumbers) {
  const Shape seq{2, 7, 3}, image{2, 5, 6, 3}, volume{2, 4, 5, 3, 3};
  const Json conv{{"filters", 4}, {"kernel_size", 2}, {"strides", 2}, {"activation", "tanh"}};
  const Json deep{{"kernel_size", 2}, {"depth_multiplier", 2}};
  expect_equal_orders("Conv1D", with(conv, "padding", "causal"), seq);
  expect_equal_orders("Conv2D", with(conv, "padding", "same"), image);
  expect_equal_orders("Conv3D", conv, volume);
  expect_equal_orders("Conv1DTranspose", conv, seq);
  expect_equal_orders("Conv2DTranspose", with(conv, "padding", "same"), image);
  expect_equal_orders("Conv3DTranspose", with(conv, "output_padding", 1), volume);
  expect_equal_orders("DepthwiseConv1D", deep, seq);
  expect_equal_orders("DepthwiseConv2D", deep, image);
  expect_equal_orders("SeparableConv1D", with(deep, "filters", 5), seq);
  expect_equal_orders("SeparableConv2D", with(deep, "filters", 5), image);
  for (const char *how : {"Max", "Average"})
    for (auto [n, shape] : {std::pair<std::string, Shape>{"1D", seq}, {"2D", image}, {"3D", volume}}) {
      expect_equal_orders(text(how, "Pooling", n), {{"pool_size", 2}, {"padding", "same"}}, shape);
      expect_equal_orders(text("Adaptive", how, "Pooling", n), {{"output_size", 2}}, shape);
      expect_equal_orders(text("Global", how, "Pooling", n), Json::object(), shape);
      expect_equal_orders(text("Global", how, "Pooling", n), {{"keepdims", true}}, shape);
    }
  expect_equal_orders("ZeroPadding1D", {{"padding", {1, 2}}}, seq);
  expect_equal_orders("ZeroPadding2D", Json::object(), image);
  expect_equal_orders("ZeroPadding3D", Json::object(), volume);
  expect_equal_orders("Cropping2D", {{"cropping", {1, 2}}}, image);
  expect_equal_orders("Cropping3D", Json::object(), volume);
  expect_equal_orders("UpSampling2D", {{"interpolation", "bilinear"}, {"size", {3, 2}}}, image);
  expect_equal_orders("UpSampling3D", Json::object(), volume);
  expect_equal_orders("Flatten", Json::object(), image);
}

TEST(Convolutions, FreeSizesAndWeights) {
  LayerCall volume("Conv3D", {{"filters", 4}, {"kernel_size", {1, 2, 3}}, {"groups", 2}});
  auto y = volume.call({volume.input({free_dim, free_dim, free_dim, free_dim, 6})});
  EXPECT_EQ(volume.shape(y[0]), (Shape{free_dim, free_dim, free_dim, free_dim, 4}));
  EXPECT_EQ(volume.specs[0].shape, (Shape{1, 2, 3, 3, 4}));
  LayerCall up("Conv2DTranspose", {{"filters", 4}, {"kernel_size", 3}, {"strides", 2}});
  y = up.call({up.input({free_dim, free_dim, 5, 6})});
  EXPECT_EQ(up.shape(y[0]), (Shape{free_dim, free_dim, 11, 4}));
  EXPECT_EQ(up.specs[0].shape, (Shape{3, 3, 4, 6}));
  LayerCall deep("SeparableConv2D", {{"filters", 4}, {"kernel_size", 3}, {"depth_multiplier", 2}});
  y = deep.call({deep.input({free_dim, 5, free_dim, 6})});
  EXPECT_EQ(deep.shape(y[0]), (Shape{free_dim, 3, free_dim, 4}));
  ASSERT_EQ(deep.specs.size(), 3u);
  EXPECT_EQ(deep.specs[0].name, "depthwise_kernel");
  EXPECT_EQ(deep.specs[0].shape, (Shape{3, 3, 6, 2}));
  EXPECT_EQ(deep.specs[1].shape, (Shape{1, 1, 12, 4}));
}

TEST(Convolutions, Refusals) {
  const Json conv{{"filters", 4}, {"kernel_size", 2}};
  for (const char *kind : {"Conv3D", "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"})
    expect_config_refusal(kind, with(with(conv, "strides", 2), "dilation_rate", 2), invalid, "together with");
  for (const char *kind : {"Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"}) {
    expect_config_refusal(kind, with(with(conv, "strides", 2), "output_padding", 2), invalid,
                          "\"output_padding\": expected less than strides, 2, got 2");
    expect_config_refusal(kind, with(conv, "padding", "causal"), invalid, "\"padding\"");
    expect_config_refusal(kind, with(conv, "groups", 2), invalid, "unknown attribute \"groups\"");
  }
  expect_config_refusal("DepthwiseConv2D", {{"kernel_size", 2}, {"depth_multiplier", 0}}, invalid, "at least 1");
  expect_config_refusal("DepthwiseConv2D", {{"kernel_size", 2}, {"kernel_initializer", "Zeros"}}, invalid,
                        "unknown attribute \"kernel_initializer\"");
  expect_config_refusal("SeparableConv1D", {{"kernel_size", 2}}, invalid, "attribute \"filters\" is missing");
  expect_config_refusal("Conv3D", with(conv, "groups", 3), invalid, "evenly divisible");
  expect_call_refusal("Conv3D", conv, {{1, 4, 4, 4}}, "expected ndim=5, found ndim=4");
  expect_call_refusal("Conv3D", with(conv, "groups", 2), {{1, 4, 4, 4, 3}}, "must be evenly divisible");
  expect_call_refusal("Conv3D", conv, {{1, 4, 1, 4, 3}}, "kernel_size 2 does not fit in 1");
  expect_call_refusal("Conv2D", with(conv, "data_format", "channels_first"), {{1, free_dim, 4, 4}},
                      "the channels of input 0 should be known");
  expect_call_refusal("DepthwiseConv1D", {{"kernel_size", 2}}, {{1, 4, free_dim}}, "last dimension of input 0");
  expect_call_refusal("Conv2DTranspose", with(with(with(conv, "strides", 2), "output_padding", 0), "padding", "same"),
                      {{1, 4, 4, 3}}, "corresponds to an input");
}

TEST(Windows, Refusals) {
  expect_config_refusal("AdaptiveMaxPooling2D", {{"output_size", 0}}, invalid, "at least 1");
  expect_config_refusal("AdaptiveMaxPooling2D", {{"output_size", {1, 2, 3}}}, invalid, "an integer or 2 integers");
  expect_config_refusal("AveragePooling3D", Json::object(), invalid, "attribute \"pool_size\" is missing");
  expect_config_refusal("MaxPooling1D", {{"padding", "causal"}}, invalid, "\"padding\"");
  expect_call_refusal("MaxPooling3D", Json::object(), {{1, 4, 4, 4}}, "expected ndim=5, found ndim=4");
  expect_call_refusal("MaxPooling1D", {{"pool_size", 5}}, {{1, 4, 2}}, "pool_size 5 does not fit in 4");
  expect_config_refusal("ZeroPadding2D", {{"padding", {1, 2, 3}}}, invalid, "2 integers or 2 pairs");
  expect_config_refusal("ZeroPadding2D", {{"padding", {{1, 2}, {1, 2, 3}}}}, invalid, "an integer or 2 integers");
  expect_config_refusal("ZeroPadding1D", {{"padding", -1}}, invalid, "at least 0");
  expect_config_refusal("Cropping1D", {{"data_format", "channels_last"}}, invalid, "unknown attribute");
  expect_call_refusal("Cropping1D", {{"cropping", {1, 3}}}, {{1, 4, 2}}, "\"cropping\" should be smaller");
  expect_call_refusal("Cropping2D", {{"cropping", {{0, 0}, {2, 2}}}}, {{1, 4, 4, 2}}, "got 2 and 2 for axis 2");
  expect_config_refusal("UpSampling2D", {{"interpolation", "area"}}, Code::invalid_argument, "\"area\"");
  expect_config_refusal("UpSampling1D", {{"size", 0}}, invalid, "at least 1");
  expect_config_refusal("RepeatVector", {{"n", 0}}, invalid, "at least 1");
  expect_call_refusal("RepeatVector", {{"n", 2}}, {{1, 2, 3}}, "expected ndim=2");
  expect_config_refusal("Rescaling", {{"scale", Json::array()}}, invalid, "\"scale\": expected at least one number");
  expect_call_refusal("Rescaling", {{"scale", {1, 2}}}, {{1, 3}}, "expected 2 places along the last axis");
}

TEST(Windows, FreeSizes) {
  LayerCall crop("Cropping2D", {{"cropping", {{1, 2}, {0, 1}}}});
  auto y = crop.call({crop.input({free_dim, free_dim, free_dim, 2})});
  EXPECT_EQ(crop.shape(y[0]), (Shape{free_dim, free_dim, free_dim, 2}));
  EXPECT_EQ(crop.run(y, {random({2, 6, 4, 2}, 1)})[0].shape, (Shape{2, 3, 3, 2}));
  LayerCall parts("AdaptiveAveragePooling2D", {{"output_size", {2, 3}}});
  y = parts.call({parts.input({free_dim, free_dim, free_dim, 2})});
  EXPECT_EQ(parts.shape(y[0]), (Shape{free_dim, 2, 3, 2}));
  LayerCall up("UpSampling2D", {{"interpolation", "bilinear"}, {"size", {2, 1}}});
  y = up.call({up.input({free_dim, free_dim, 1, 1})});
  EXPECT_EQ(values(up.run(y, {tensor<float>({1, 3, 1, 1}, {0, 1, 2})})[0]),
            (std::vector<double>{0, 0.25, 0.75, 1.25, 1.75, 2}));
}

// A sum over the letters that the output has not; an axis of 1 repeats.
Array einsum_of(const std::string &equation, const std::vector<Array> &in) {
  const size_t comma = equation.find(','), arrow = equation.find("->");
  const std::string terms[] = {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1),
                               equation.substr(arrow + 2)};
  std::map<char, int64_t> sizes, at;
  for (size_t i = 0; i < 2; ++i)
    for (size_t k = 0; k < terms[i].size(); ++k)
      sizes[terms[i][k]] = std::max(sizes[terms[i][k]], in[i].shape[static_cast<int>(k)]);
  std::vector<int64_t> dims;
  for (char c : terms[2]) dims.push_back(sizes[c]);
  Array y = zeros(Shape(dims));
  const auto place = [&](const std::string &term, const Shape &shape) {
    int64_t p = 0;
    for (size_t k = 0; k < term.size(); ++k) {
      const int64_t n = shape[static_cast<int>(k)];
      p = p * n + (n == 1 ? 0 : at[term[k]]);
    }
    return p;
  };
  for (bool more = true; more;) {
    y[place(terms[2], y.shape)] += in[0][place(terms[0], in[0].shape)] * in[1][place(terms[1], in[1].shape)];
    more = false;
    for (const auto &[letter, n] : sizes) {
      if (more = ++at[letter] < n; more) break;
      at[letter] = 0;
    }
  }
  return y;
}

TEST(Products, EinsumOfFreeAxes) {
  struct Product {
    const char *equation;
    std::vector<Shape> in;
  };
  const Product all[] = {{"bhwc,bhwd->bcd", {{2, 3, 4, 5}, {2, 3, 4, 6}}},
                         {"bhc,bijc->bhij", {{2, 3, 4}, {2, 5, 6, 4}}},
                         {"abij,acdij->bcd", {{2, 3, 2, 3}, {2, 4, 3, 2, 3}}},
                         {"hc,ijc->jhi", {{3, 4}, {5, 6, 4}}},
                         {"ij,ij->", {{3, 4}, {3, 4}}},
                         {"bij,bjk->bik", {{1, 3, 4}, {2, 4, 5}}}};
  for (const Product &p : all)
    for (const std::vector<int> &free : {std::vector<int>{}, {1}, {0, 1}}) {
      SCOPED_TRACE(text(p.equation, ' ', free.size()));
      Case c = layer_case("Einsum", {{"subscripts", p.equation}}, randoms(p.in), 0,
                          [&](const std::vector<Array> &in) { return std::vector<Array>{einsum_of(p.equation, in)}; });
      c.free_axes = free;
      check(c);
    }
}

TEST(Products, Refusals) {
  expect_config_refusal("Dot", Json::object(), invalid, "attribute \"axes\" is missing");
  expect_call_refusal("Dot", {{"axes", 0}}, {{2, 3}, {2, 3}}, "another axis than the batch's", invalid);
  expect_call_refusal("Dot", {{"axes", 1}}, {{2, 3}, {2, 4}}, "axis values 3 (at axis 1) and 4 (at axis 1)");
  expect_call_refusal("Dot", {{"axes", 2}}, {{2, 3}, {2, 3}}, "axis 2 is out of range", invalid);
  auto einsum = [](const std::string &equation, const Json &output_shape) {
    return Json{{"equation", equation}, {"output_shape", output_shape}};
  };
  for (const char *wrong :
       {"ab,bc", "ab->ac", "aab,bc->ac", "a..b,bc->ac", "...ab,bc->ac...", "ab,...bc->ac", "a b,bc->ac"})
    expect_config_refusal("EinsumDense", einsum(wrong, 4), invalid, "\"equation\": expected the form");
  expect_config_refusal("EinsumDense", einsum("ab,bc->ad", 4), invalid, "'d' is neither in x nor in the kernel");
  expect_config_refusal("EinsumDense", einsum("ab,bcd->ac", 4), invalid, "'d' is of the kernel neither in x nor in y");
  expect_config_refusal("EinsumDense", einsum("abc,cd->abd", 4), invalid, "\"output_shape\": expected 2 axes, got 1");
  expect_config_refusal("EinsumDense", with(einsum("ab,bc->ac", 4), "bias_axes", "b"), invalid, "'b' is not in y");
  expect_config_refusal("EinsumDense", with(einsum("ab,bc->ac", 4), "use_bias", true), invalid, "unknown attribute");
  expect_call_refusal("EinsumDense", einsum("ab,bc->ac", 4), {{2, 3, 4}}, "expected ndim=2, found ndim=3");
  expect_call_refusal("EinsumDense", einsum("abc,cd->abd", {5, 4}), {{2, 3, 4}}, "shared axis 'b': 3 and 5");
  expect_call_refusal("EinsumDense", einsum("abc,cd->abd", {nullptr, 4}), {{2, 3, free_dim}}, "axis \"c\"");
  expect_call_refusal("EinsumDense", einsum("abc,cd->abd", {nullptr, nullptr}), {{2, 3, 4}}, "axis \"d\"");
  LayerCall l("EinsumDense", {{"equation", "abc,cde->abde"}, {"output_shape", {nullptr, 2, 3}}, {"bias_axes", "de"}});
  auto y = l.call({l.input({free_dim, free_dim, 4})});
  EXPECT_EQ(l.shape(y[0]), (Shape{free_dim, free_dim, 2, 3}));
  EXPECT_EQ(l.specs[0].shape, (Shape{4, 2, 3}));
  EXPECT_EQ(l.specs[1].shape, (Shape{2, 3}));
  // The fans are those of the equation: 4 in, 6 out.
  EXPECT_EQ(l.specs[0].initializer->config()["input_axes"], Json::array({0}));
  EXPECT_EQ(l.specs[0].initializer->config()["output_axes"], Json::array({1, 2}));
  expect_config_refusal("ReversibleEmbedding", {{"input_dim", 3}, {"output_dim", 2}, {"reverse_dtype", "float16"}},
                        Code::unsupported, "\"float16\" is not supported");
  expect_config_refusal("ReversibleEmbedding", {{"input_dim", 3}, {"output_dim", 2}, {"logit_soft_cap", 0}}, invalid,
                        "another number than 0");
}

TEST(STFTSpectrogram, Refusals) {
  expect_config_refusal("STFTSpectrogram", {{"mode", "phase"}}, invalid, "\"mode\": expected one of \"log\"");
  expect_config_refusal("STFTSpectrogram", {{"frame_step", 300}}, invalid,
                        "expected at most frame_length, 256, got 300");
  expect_config_refusal("STFTSpectrogram", {{"fft_length", 128}}, invalid, "expected at least frame_length, 256");
  expect_config_refusal("STFTSpectrogram", {{"padding", "causal"}}, invalid, "\"padding\"");
  expect_call_refusal("STFTSpectrogram", Json::object(), {{1, 300}}, "expected ndim=3, found ndim=2");
  LayerCall l("STFTSpectrogram", {{"frame_length", 6}});
  auto y = l.call({l.input({free_dim, free_dim, 2})});
  EXPECT_EQ(l.shape(y[0]), (Shape{free_dim, free_dim, 10}));
}

TEST(KerasOps, Refusals) {
  expect_config_refusal("Divide", {{"x1", 1}, {"x2", 2}}, invalid, "\"x2\": expected null");
  expect_call_refusal("Equal", Json::object(), {{2, 3}, {2, 4}}, "broadcast");
  expect_call_refusal("Sqrt", Json::object(), {{2}}, "expected dtype=float32, found dtype=int64", invalid, DType::i64);
  expect_config_refusal("Clip", {{"x_min", 1}, {"x_max", 0}}, invalid, "expected at least x_min, 1.0, got 0.0");
  expect_config_refusal("Sum", {{"axis", Json::array()}}, invalid, "at least one axis");
  expect_call_refusal("Sum", {{"axis", 2}}, {{2, 3}}, "axis 2 is out of range", invalid);
  expect_call_refusal("Sum", {{"axis", {1, -1}}}, {{2, 3}}, "given twice", invalid);
  expect_call_refusal("Take", {{"indices", {0, 3}}, {"axis", 1}}, {{2, 3}},
                      "\"indices\": 3 is outside the axis of 3 places");
  expect_call_refusal("Take", {{"indices", -1}, {"axis", 0}}, {{free_dim, 3}}, "unknown size");
  expect_call_refusal("Take", {{"axis", 1}}, {{2, 3}, {2}}, "input 1: expected integers", invalid);
  expect_config_refusal("Slice", {{"start_indices", {0}}, {"shape", {1, 1}}}, invalid, "\"shape\": expected 1 axes");
  expect_call_refusal("Slice", {{"start_indices", {0, 2}}, {"shape", {-1, 2}}}, {{2, 3}}, "outside axis 1");
  expect_call_refusal("Stack", Json::object(), {{2, 3}, {2, 4}}, "input 1: expected the shape of input 0");
  expect_call_refusal("Squeeze", {{"axis", 1}}, {{2, 3}}, "is not 1");
  expect_call_refusal("ExpandDims", {{"axis", {1, 1}}}, {{2, 3}}, "each place once", invalid);
  expect_config_refusal("Repeat", {{"repeats", 0}, {"axis", 1}}, invalid, "at least 1");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE

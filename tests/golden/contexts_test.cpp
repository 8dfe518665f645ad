// The same cases under every other way of computing them: passes and kernels switched off, threads, NaN in unused
// memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "run_case.hpp"

namespace golden::DL4_FILE {
namespace {

// One or two of each family, chosen for the ops they reach.
constexpr const char *representatives[] = {
    "activations/gelu_in_dense",
    "activations/softmax_rank_3",
    "attention/article_head_16",
    "attention/additive_causal_masks",
    "attention/dot_concat_scale_both_masks",
    "conv/2d_same_s2x3_k3",
    "conv/2d_dilated_grouped",
    "conv/1d_causal_dilated",
    "dense/wide_1024",
    "dense/three_penalties",
    "embedding_mask/two_lstms",
    "embedding_mask/lstm_dense_masked_loss_holes_row_all_masked",
    "losses/binary_weights",
    "losses/sparse_softmax_then_reshape",
    "lstm/return_state_sequences_backwards",
    "lstm/mask_holes_sequences",
    "merge/mask_concatenate_time_both_lstm",
    "metrics/choice_sparse_column",
    "optimizers/sgd_all_mlp",
    "optimizers/adam_global_clipnorm_lstm",
    "optimizers/adam_penalties_and_constraints",
    "pool/average_same_2x3_1x2",
    "pool/max_same_3_1",
    "shapes/permute_312",
    "shapes/matmul_transpose_b",
    "state/bn_between",
    "state/bn_shared",
    "state/layer_axes_2_3",
    "training/net_conv",
    "training/net_attention",
    "training/fit_validation_split",
};

const Case &named(const std::string &name) {
  for (const Case &c : all_cases())
    if (c.full_name() == name) return c;
  throw std::runtime_error("there is no case " + name);
}

struct Way {
  std::string name;
  Json options;  // of the context
  Json against;  // of the context it is compared with
  bool same_bits = false;
};

// Kernels that are chosen for some of the cases, or that take over when the others are off.
const std::vector<std::vector<std::string>> kernels_off = {
    {"dnnl_gemm"},
    {"packed_gemm"},
    {"small_gemm"},
    {"openblas_gemm"},
    {"blocked_by_item"},
    {"blocked_by_item", "small_by_item"},
    {"dnnl_lstm"},
    {"own_lstm"},
    {"planar_conv", "planar_conv_data", "shifted_conv", "shifted_conv_data"},
    {"planar_conv", "direct_conv"},
    {"depthwise_conv"},
    {"winograd_conv", "winograd_conv_data"},
    {"planar_conv", "direct_conv", "winograd_conv", "packed_conv"},
    {"planar_conv", "direct_conv", "winograd_conv", "dnnl_conv"},
    {"planar_conv", "direct_conv", "winograd_conv", "packed_conv", "dnnl_conv"},
    {"planar_conv_data", "winograd_conv_data", "dnnl_conv_data"},
    {"dnnl_conv_weights"},
    {"blocked_conv"},
    {"turned_conv_data"},
    {"planar_conv_data", "turned_conv_data", "blocked_conv_data", "channels_conv_data"},
    {"direct_conv_weights"},
    {"direct_conv_weights", "blocked_conv_weights", "channels_conv_weights"},
    {"dnnl_gemm", "openblas_gemm", "small_gemm"},
    {"packed_conv", "dnnl_conv", "dnnl_conv_data", "dnnl_conv_weights"},
    {"dnnl_gemm", "packed_gemm", "small_gemm", "openblas_gemm"}};

const std::vector<Way> &ways() {
  static const std::vector<Way> list = [] {
    Own<dl4_blob> info;
    must(dl4_build_info(info.out()));
    std::vector<Way> ways;
    const Json one = {{"threads", 1}}, strict = {{"threads", 1}, {"reproducible", "strict"}};
    auto with = [](Json options, const char *key, const Json &value) {
      options[key] = value;
      return options;
    };
    ways.push_back({"again", one, one, true});
    Json about = Json::parse(dl4_blob_data(info));
    // Libraries add a bias in an order of their own, and scaled weights are rounded anew; every other pass keeps the
    // bits.
    for (const std::string pass : about.at("passes"))
      ways.push_back({"without_" + pass, with(one, "passes_off", Json::array({pass})), one,
                      pass != "fuse_epilogues" && pass != "fold_weights"});
    ways.push_back({"without_passes", with(one, "passes_off", about["passes"]), one, false});
    std::set<std::vector<std::string>> seen{{}};
    const auto here = about.at("kernels").get<std::set<std::string>>();
    for (std::vector<std::string> names : kernels_off) {
      std::erase_if(names, [&](const std::string &name) { return !here.contains(name); });
      if (!seen.insert(names).second) continue;
      std::string name = "without";
      for (const std::string &kernel : names) name += "_" + kernel;
      ways.push_back({name, with(one, "kernels_off", names), one, false});
    }
    ways.push_back({"nan_arena", with(one, "arena_fill_nan", true), one, true});
    ways.push_back({"two_threads", {{"threads", 2}}, one, false});
    ways.push_back({"two_threads_again", {{"threads", 2}}, {{"threads", 2}}, true});
    for (int threads : {2, 3, 7})
      ways.push_back({"strict_" + std::to_string(threads), with(strict, "threads", threads), strict, true});
    ways.push_back({"strict", strict, one, false});
    return ways;
  }();
  return list;
}

// What a case gives in a context, computed once.
const Arrays &reference(const Case &c, const Json &options) {
  static std::map<std::string, Arrays> kept;
  Arrays &found = kept[c.full_name() + options.dump()];
  if (found.empty()) found = run_case(c, context(options));
  return found;
}

void compare(const Case &c, const Arrays &expected, const Arrays &got, bool same_bits) {
  ASSERT_EQ(expected.size(), got.size());
  for (const auto &[name, value] : expected) {
    std::string where;
    bool gradient = name.find("grad") != std::string::npos || name.starts_with("after/");
    double rtol = c.fields[gradient ? "grad_rtol" : "rtol"], atol = c.fields[gradient ? "grad_atol" : "atol"];
    if (same_bits && !(value == got.at(name))) where = "other bits; " + difference(value, got.at(name), 0, 0);
    if (!same_bits) where = difference(value, got.at(name), rtol, atol);
    EXPECT_TRUE(where.empty()) << c.full_name() << ' ' << name << ": " << where;
  }
}

struct Pair {
  const char *name;
  size_t way;
};

std::vector<Pair> pairs() {
  std::vector<Pair> list;
  for (size_t way = 0; way < ways().size(); ++way)
    for (const char *name : representatives) list.push_back({name, way});
  return list;
}

std::string test_name(const testing::TestParamInfo<Pair> &info) {
  std::string name = ways()[info.param.way].name + "_" + info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

class InContext : public testing::TestWithParam<Pair> {};

TEST_P(InContext, SameNumbers) {
  const Way &way = ways()[GetParam().way];
  const Case &c = named(GetParam().name);
  compare(c, reference(c, way.against), run_case(c, context(way.options)), way.same_bits);
}

INSTANTIATE_TEST_SUITE_P(Golden, InContext, testing::ValuesIn(pairs()), test_name);

class OfAFamily : public testing::TestWithParam<const char *> {};

TEST_P(OfAFamily, SavedAndLoadedGivesTheSameBits) {
  const Case &c = named(GetParam());
  auto model = build(nullptr, c.fields["model"], c.role("weight"));
  Own<dl4_blob> file;
  must(dl4_model_save_bytes(model, nullptr, file.out()));
  Own<dl4_model> loaded;
  const int64_t size = dl4_blob_size(file);
  Own<dl4_tensor> bytes;
  must(dl4_tensor_create(nullptr, DL4_UINT8, 1, &size, bytes.out()));
  must(dl4_tensor_copy_in(bytes, dl4_blob_data(file), size));
  must(dl4_model_load_bytes(nullptr, bytes, nullptr, loaded.out()));
  compare(c, run(model, inputs(c)), run(loaded, inputs(c)), true);
}

TEST_P(OfAFamily, SixteenThreadsGetTheSameBits) {
  const Case &c = named(GetParam());
  auto model = build(nullptr, c.fields["model"], c.role("weight"));
  Arrays expected = run(model, inputs(c));
  Own<dl4_session> session;
  must(dl4_session_create(model, nullptr, session.out()));
  std::mutex mutex;
  std::vector<std::string> wrong;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      try {
        for (int k = 0; k < 8; ++k)
          if (run(static_cast<dl4_session *>(session), inputs(c), expected.size()) != expected)
            throw Refused(-1, "other bits");
      } catch (const std::exception &e) {
        std::lock_guard lock(mutex);
        wrong.emplace_back(e.what());
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " threads: " << wrong[0];
}

INSTANTIATE_TEST_SUITE_P(Golden, OfAFamily, testing::ValuesIn(representatives), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

}  // namespace
}  // namespace golden::DL4_FILE

// Every value that Keras computed, against ours: one test per case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "run_case.hpp"

namespace golden::DL4_FILE {
namespace {

// What 1.0 refuses on purpose: the case must fail with this code and these words.
struct Refusal {
  int32_t code;
  const char *words;
};
const std::map<std::string, Refusal> refused = {};

// Where Keras is wrong and ours must differ, in nothing but the roles named.
struct Wrong {
  std::vector<std::string> roles;
  bool simplex = false;  // its output's rows must be points of the simplex
};
const std::map<std::string, Wrong> wrong_in_keras = {
    // Its sparsemax adds up all partial sums instead of taking the last, so that rows do not sum to 1; ours is the
    // projection on the simplex (Martins and Astudillo 2016).
    {"activations/sparsemax", {{"output", "loss", "input_grad"}, true}},
    {"activations/sparsemax_extreme", {{"output"}, true}},
    {"activations/sparsemax_in_dense", {{"output", "loss", "grad", "input_grad"}}},
    // SimpleRNN loses its activity_regularizer, which its own config then gives as null; ours is a penalty.
    {"recurrent/simplernn_regularized", {{"loss", "grad", "input_grad", "after"}}},
    // TensorFlow's transposed convolutions with channels first, padding "same" and these sizes are not those with
    // channels last, which are the formula's.
    {"random_windows/conv_transpose_8", {{"output", "loss", "grad", "input_grad", "after"}}},
    {"random_windows/conv_transpose_9", {{"output", "loss", "grad", "input_grad", "after"}}},
    // Weights of samples on a loss by step, of as many steps as samples: Keras lays them along the steps.
    {"random_losses/loss_19", {{"loss", "grad", "input_grad", "after"}}},
    // The call said training=false; a Functional model overrides that, and the golden holds what its dice gave.
    {"shapes/dropout_called_with_training_false", {{"loss", "grad", "input_grad"}}},
};

std::string test_name(const testing::TestParamInfo<size_t> &info) {
  std::string name = all_cases()[info.param].full_name();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

std::vector<size_t> indices() {
  std::vector<size_t> list(all_cases().size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = i;
  return list;
}

void check_random(const Case &c, const Array &value) {
  auto v = value.values();
  double n = static_cast<double>(v.size()), mean = 0, variance = 0;
  for (double x : v) mean += x / n;
  for (double x : v) variance += (x - mean) * (x - mean) / n;
  double promised = c.fields["stddev"];
  EXPECT_NEAR(mean, c.fields["mean"].get<double>(), 5 * promised / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(variance) / promised, 1, 0.08);
  if (!c.has("limits")) return;
  double low = c.fields["limits"][0], high = c.fields["limits"][1],
         edge = 1e-6 * std::max(std::fabs(low), std::fabs(high));
  EXPECT_GE(*std::min_element(v.begin(), v.end()), low - edge);
  EXPECT_LE(*std::max_element(v.begin(), v.end()), high + edge);
}

void check_orthogonal(const Case &c, const Array &value) {
  int64_t columns = value.shape.back(), rows = value.elements() / columns;
  bool by_rows = rows < columns;
  double gain = c.fields["initializer"]["config"]["gain"];
  int64_t n = by_rows ? rows : columns, length = by_rows ? columns : rows;
  auto at = [&](int64_t i, int64_t k) { return value.at(by_rows ? i * columns + k : k * columns + i); };
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (int64_t k = 0; k < length; ++k) dot += at(i, k) * at(j, k);
      EXPECT_NEAR(dot, i == j ? gain * gain : 0, 1e-5) << (by_rows ? "rows " : "columns ") << i << " and " << j;
    }
}

void check_simplex(const Array &y) {
  int64_t n = y.shape.back();
  for (int64_t row = 0; row < y.elements() / n; ++row) {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      EXPECT_GE(y.at(row * n + k), 0);
      sum += y.at(row * n + k);
    }
    EXPECT_NEAR(sum, 1, 1e-5) << "row " << row;
  }
}

// What differs from the golden, by name.
std::map<std::string, std::string> differences(const Case &c, const Arrays &found) {
  std::map<std::string, std::string> all;
  for (const auto &[name, expected] : c.tensors) {
    std::string role = name.substr(0, name.find('/'));
    if (role == "input" || role == "target" || role == "sample_weight" || (role == "weight" && c.has("model")))
      continue;
    bool gradient = role == "grad" || role == "input_grad" || role == "after";
    double rtol = c.fields[gradient ? "grad_rtol" : "rtol"], atol = c.fields[gradient ? "grad_atol" : "atol"];
    auto it = found.find(name);
    std::string where = it == found.end() ? "nothing computed" : difference(expected, it->second, rtol, atol);
    if (!where.empty()) all[name] = where;
  }
  return all;
}

class Golden : public testing::TestWithParam<size_t> {};

TEST_P(Golden, AgreesWithKeras) {
  const Case &c = all_cases()[GetParam()];
  Arrays found;
  auto expected_refusal = refused.find(c.full_name());
  try {
    found = run_case(c, nullptr);
  } catch (const Refused &e) {
    if (expected_refusal == refused.end()) FAIL() << c.full_name() << ": refused: " << e.what();
    EXPECT_EQ(e.code, expected_refusal->second.code) << e.what();
    EXPECT_NE(std::string(e.what()).find(expected_refusal->second.words), std::string::npos) << e.what();
    return;
  }
  if (expected_refusal != refused.end()) FAIL() << c.full_name() << ": accepted, but listed as refused";
  if (c.has("stddev")) return check_random(c, found.at("weight/value"));
  if (c.has("property")) return check_orthogonal(c, found.at("weight/value"));
  auto different = differences(c, found);
  if (auto wrong = wrong_in_keras.find(c.full_name()); wrong != wrong_in_keras.end()) {
    EXPECT_FALSE(different.empty()) << c.full_name() << " agrees with Keras, but is listed as wrong there";
    std::erase_if(different, [&](const auto &entry) {
      const auto &roles = wrong->second.roles;
      return std::find(roles.begin(), roles.end(), entry.first.substr(0, entry.first.find('/'))) != roles.end();
    });
    if (wrong->second.simplex) check_simplex(found.at("output/0"));
  }
  for (const auto &[name, where] : different) ADD_FAILURE() << c.full_name() << ' ' << name << ": " << where;
}

INSTANTIATE_TEST_SUITE_P(Keras, Golden, testing::ValuesIn(indices()), test_name);

TEST(Goldens, ListedCasesExist) {
  auto exists = [](const std::string &name) {
    return std::any_of(all_cases().begin(), all_cases().end(), [&](const Case &c) { return c.full_name() == name; });
  };
  for (const auto &[name, refusal] : refused) EXPECT_TRUE(exists(name)) << name;
  for (const auto &[name, reason] : wrong_in_keras) EXPECT_TRUE(exists(name)) << name;
}

}  // namespace
}  // namespace golden::DL4_FILE

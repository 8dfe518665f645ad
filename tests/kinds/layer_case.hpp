// A layer as a Case of the harness: its weights are the inputs behind its own.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/gradient_check.hpp"
#include "kinds/layer.hpp"

namespace dl4::test {

class GivenWeights final : public kinds::Host {
 public:
  GivenWeights(std::vector<Id> given, Emit &e) : given_(std::move(given)), e_(e) {}

  Id weight(const kinds::WeightSpec &spec) override {
    auto [it, first] = named_.try_emplace(spec.name, ops::none);
    if (first) {
      it->second = given_.at(named_.size() - 1);
      EXPECT_TRUE(compatible(e_.shape(it->second), spec.shape)) << text(spec.name, ' ', spec.shape);
    }
    return it->second;
  }
  uint64_t random_seed(std::optional<int64_t>) override { return 1; }
  Id draws() override { return e_.constant(make_tensor(DType::i64, {})); }
  void add_loss(Id) override {}
  void write(const std::string &, Id) override {}
  bool trainable(const std::string &) const override { return true; }
  bool all_taken() const { return named_.size() == given_.size(); }

 private:
  std::vector<Id> given_;
  std::map<std::string, Id> named_;
  Emit &e_;
};

// inputs: of the layer, then its weights in the order in which it asks for them. `mask_of`: inputs that have a mask, by
// number, and the number of the mask, which is no input of the layer. All outputs are compared.
inline Case layer_case(const std::string &kind, const Json &config, std::vector<Tensor> inputs, size_t weights,
                       std::function<std::vector<Array>(const std::vector<Array> &)> reference,
                       const kinds::Arguments &arguments = {}, const std::map<size_t, size_t> &mask_of = {}) {
  auto layer = std::static_pointer_cast<const kinds::Layer>(kinds::find("layer", kind).make(config));
  Case c;
  const size_t own = inputs.size() - weights - mask_of.size();
  c.build = [=](Emit &e, const std::vector<Id> &in) {
    GivenWeights host({in.end() - static_cast<std::ptrdiff_t>(weights), in.end()}, e);
    std::vector<kinds::Symbol> symbols;
    for (size_t i = 0; i < own; ++i) symbols.push_back({in[i], mask_of.count(i) ? in[mask_of.at(i)] : ops::none});
    kinds::Call call(e, host, symbols, arguments, false);
    std::vector<Id> out;
    for (const kinds::Symbol &s : layer->call(call)) out.push_back(s.value);
    EXPECT_TRUE(host.all_taken()) << kind;
    return out;
  };
  c.inputs = std::move(inputs);
  c.reference = std::move(reference);
  c.free_axes = {};
  return c;
}

inline kinds::Arguments with_flag(const std::string &key) {
  kinds::Arguments a;
  a.plain[key] = true;
  return a;
}

}  // namespace dl4::test

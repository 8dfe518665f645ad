// Layers inside the body of an op.
#pragma once

#include <functional>
#include <span>

#include "kinds/inner_layer.hpp"

namespace dl4::kinds {

// Forwards a layer's requests to the host outside the body.
class BodyHost final : public Host {
 public:
  // inside: makes a value of the enclosing Program available in the body.
  BodyHost(Host &outside, std::function<ops::Id(ops::Id)> inside) : outside_(outside), inside_(std::move(inside)) {}
  ops::Id weight(const WeightSpec &spec) override { return inside_(outside_.weight(spec)); }
  uint64_t random_seed(std::optional<int64_t> own) override { return outside_.random_seed(own); }
  ops::Id draws() override { return inside_(outside_.draws()); }
  void add_loss(ops::Id) override { fail(Code::unsupported, "a cell can't add to the loss at every step"); }
  void write(const std::string &, ops::Id) override {
    fail(Code::unsupported, "a cell can't write weights at every step");
  }
  ops::Id carried(const std::string &, const Shape &, bool stateful) override {
    if (stateful) fail(Code::unsupported, "a cell can't be stateful: the layer that runs it is");
    return ops::none;
  }
  bool trainable(const std::string &inside) const override { return outside_.trainable(inside); }

 private:
  Host &outside_;
  const std::function<ops::Id(ops::Id)> inside_;
};

}  // namespace dl4::kinds

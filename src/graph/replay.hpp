// Repeats a model's calls on other symbols.
#pragma once

#include "graph/model.hpp"

namespace dl4::graph {

// Returns a call's outputs. `again`: the call has run before; only its masks are used, and it must have no side
// effects.
using RunCall = std::function<std::vector<kinds::Symbol>(const Layer &, const Call &, std::vector<kinds::Symbol> in,
                                                         const kinds::Arguments &, bool again)>;

// The host of a call without side effects.
class Traceless final : public kinds::Host {
 public:
  explicit Traceless(kinds::Host &host) : host_(host) {}
  ops::Id weight(const kinds::WeightSpec &spec) override { return host_.weight(spec); }
  uint64_t random_seed(std::optional<int64_t> own) override { return host_.random_seed(own); }
  ops::Id draws() override { return host_.draws(); }
  std::shared_ptr<ops::Collective> collective() override { return host_.collective(); }
  void add_loss(ops::Id) override {}
  void write(const std::string &, ops::Id) override {}
  bool trainable(const std::string &inside) const override { return host_.trainable(inside); }
  ops::Id graph_weight(const std::string &name) override { return host_.graph_weight(name); }
  std::optional<kinds::Variable> variable(int input) override { return host_.variable(input); }
  std::vector<ops::Id> values_of(int input) override { return host_.values_of(input); }
  void assign(int, ops::Id) override {}
  void refuse_training(const std::string &why) override { host_.refuse_training(why); }

 private:
  kinds::Host &host_;
};

// The model's outputs for `in`, one symbol per input.
std::vector<kinds::Symbol> replay(ops::Emit &e, const Model &model, const std::vector<kinds::Symbol> &in,
                                  const RunCall &run);

}  // namespace dl4::graph

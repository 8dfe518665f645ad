// SGD.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct SGD : Optimizer, ops::Sgd {
  static constexpr const char *name = "SGD";
  static constexpr const char *doc =
      "w -= learning_rate * g, with momentum m = momentum * m - learning_rate * g; w += m";
  static auto fields() {
    return std::tuple_cat(optimizer_fields(0.01),
                          std::tuple{field<SGD, double>("momentum", &SGD::momentum)
                                         .otherwise(0.0)
                                         .at_least(0)
                                         .at_most(1)
                                         .doc("how much of the last step goes into this one"),
                                     field<SGD, bool>("nesterov", &SGD::nesterov)
                                         .otherwise(false)
                                         .doc("w += momentum * m - learning_rate * g; nothing without momentum")});
  }
  ops::Id update(Update &u) const override {
    ops::Sgd how = *this;
    how.weight_decay = decay();
    if (momentum == 0) return ops::sgd(u.e, u.w, u.g, ops::none, u.learning_rate, how).w;
    ops::Id m = u.slot("momentum", 0);
    auto next = ops::sgd(u.e, u.w, u.g, m, u.learning_rate, how);
    u.e.write(m, next.m);
    return next.w;
  }
};

}  // namespace

DL4_KIND(SGD)

}  // namespace dl4::kinds

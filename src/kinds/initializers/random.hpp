// Base of initializers that draw random numbers.
#pragma once

#include <optional>

#include "base/rng.hpp"
#include "kinds/field.hpp"
#include "kinds/initializer.hpp"

namespace dl4::kinds {

class RandomInitializer : public Initializer {
 public:
  std::optional<int64_t> seed;

  void fields(Fields &f) override;
  // With a seed of its own it takes no op seed from the graph.
  bool is_random() const override { return !seed.has_value(); }

 protected:
  // The random stream: from the graph's seeds or, with its own seed, the one that Keras 3 uses for that seed.
  Stream stream(const Seed &graph) const;
};

}  // namespace dl4::kinds

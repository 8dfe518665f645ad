// What the initializers that draw random numbers share.
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
  // One with a seed of its own takes no op seed from the graph.
  bool is_random() const override { return !seed.has_value(); }

 protected:
  // Where the draw takes its words: from the graph's seeds, or with an own seed from where Keras 3 takes them with that
  // one.
  Stream stream(const Seed &graph) const;
};

}  // namespace dl4::kinds

// A model as an attribute of a layer, whose weights are then the layer's.
#pragma once

#include "graph/model.hpp"
#include "kinds/field.hpp"

namespace dl4::graph {

class InnerModel {
 public:
  kinds::Field &fields(kinds::Fields &f);
  void read();  // what the field holds; refuses what is no architecture

  explicit operator bool() const { return model_ != nullptr; }
  const Model *operator->() const { return model_.get(); }
  // Does it compute each sample of the first axis by itself?
  bool by_sample() const;
  // Does a layer in it take the mask off input i?
  bool drops_mask(int i) const { return drops_mask_[static_cast<size_t>(i)]; }
  // The model on `in`, one symbol for each of its inputs, inside the layer's call. Refuses what does not fit.
  std::vector<kinds::Symbol> run(kinds::Call &c, const std::vector<kinds::Symbol> &in) const;

 private:
  void set(const Architecture &a);

  Json json_;                           // the field
  std::shared_ptr<const Model> model_;  // its shapes and calls; the weights are those of the layer
  std::vector<bool> drops_mask_;        // by input
};

}  // namespace dl4::graph

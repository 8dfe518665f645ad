// A model as an attribute of a layer, which owns its weights.
#pragma once

#include "graph/model.hpp"
#include "kinds/field.hpp"

namespace dl4::graph {

class InnerModel {
 public:
  kinds::Field &fields(kinds::Fields &f);
  void read();  // parses the field; refuses what is no architecture

  explicit operator bool() const { return model_ != nullptr; }
  const Model *operator->() const { return model_.get(); }
  // Whether it computes each sample of the first axis independently.
  bool by_sample() const;
  // By input: whether a layer removes its mask.
  const std::vector<bool> &taken_off() const { return taken_off_; }
  // The model on `in`, one symbol for each of its inputs, inside the layer's call. Refuses what does not fit.
  std::vector<kinds::Symbol> run(kinds::Call &c, const std::vector<kinds::Symbol> &in) const;

 private:
  void set(std::shared_ptr<const Model> model);

  Json json_;                           // the field; once parsed, its copies share it with the model
  std::shared_ptr<const Model> model_;  // shapes and calls; the weights are the layer's
  std::vector<bool> taken_off_;
};

}  // namespace dl4::graph

// Weights as layers ask for them, and what fills, penalizes and limits them.
#pragma once

#include "kinds/kind.hpp"
#include "ops/program.hpp"

namespace dl4::kinds {

// The seed of one initializer, as a Philox key.
struct Seed {
  uint64_t global = 0, op = 0;
};

class Initializer : public Kind {
 public:
  static constexpr const char *category = "initializer";
  // Whether it draws random numbers and therefore takes an op seed.
  virtual bool is_random() const { return false; }
  // Fills a float32 tensor.
  virtual void fill(Tensor &t, const Seed &seed) const = 0;
};

// A penalty on weights or outputs.
class Regularizer : public Kind {
 public:
  static constexpr const char *category = "regularizer";
  virtual ops::Id penalty(ops::Emit &e, ops::Id w) const = 0;  // scalar
};

// A projection applied to a weight after every update.
class Constraint : public Kind {
 public:
  static constexpr const char *category = "constraint";
  virtual ops::Id apply(ops::Emit &e, ops::Id w) const = 0;
};

// A weight as requested by a layer.
struct WeightSpec {
  std::string name;
  Shape shape;
  Of<Initializer> initializer;  // null: GlorotUniform, as in Keras
  Of<Regularizer> regularizer;
  Of<Constraint> constraint;
  bool trainable = true;     // false: changed only by Call::write, never by gradients
  bool frozen = false;       // initially; not changed by training
  bool kept = false;         // state of a stateful layer: written by every run of a trainer, not saved with the model
  bool assigned = false;     // calls in training write it, whatever its other flags
  DType dtype = DType::f32;  // must be float32 if trainable
  bool lora = false;         // one of LoRA's two matrices beside a kernel, which Keras's files don't store
};

// A weight of a graph as an assignable value.
struct Variable {
  std::string name;  // in the graph: "dense/kernel"
  WeightSpec spec;
};

}  // namespace dl4::kinds

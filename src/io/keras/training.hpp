// Training data in Keras's files: the compile config and the optimizer's variables.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/tensor.hpp"
#include "train/trainer.hpp"

namespace dl4::io {

// A trainer's options from Keras's "compile_config" or "training_config"; null: not compiled. Refuses with UNSUPPORTED,
// by name, a loss or metric whose code is not in the file.
Json trainer_options(const Json &compiled);
// Keras's "compile_config". Refuses with UNSUPPORTED what it can't express.
Json compile_config(const train::Trainer &t);

// The optimizer's variables in Keras's order. order: that of the model's weights. Refuses accumulated gradients with
// UNSUPPORTED.
std::vector<Tensor> keras_variables(const train::Trainer &t, const std::vector<std::string> &order);
// A trainer's state() with those variables and weights; refuses variables of another optimizer.
std::map<std::string, Tensor> state_with(const train::Trainer &t, const std::vector<std::string> &order,
                                         const std::vector<Tensor> &variables, const std::vector<Tensor> &weights);

}  // namespace dl4::io

// The training that Keras's files hold: what a model was compiled with, and the variables of its optimizer.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/tensor.hpp"
#include "train/trainer.hpp"

namespace dl4::io {

// A trainer's options as Keras's "compile_config" or "training_config" says them; null: the model was not compiled.
// Refuses with UNSUPPORTED, by its name, a loss or metric whose code is not in the file.
Json trainer_options(const Json &compiled);
// What Keras calls "compile_config". Refuses with UNSUPPORTED what it has no words for.
Json compile_config(const train::Trainer &t);

// The variables of the optimizer as Keras counts them. order: of the model's weights there. Refuses with UNSUPPORTED
// gradients that are accumulated.
std::vector<Tensor> keras_variables(const train::Trainer &t, const std::vector<std::string> &order);
// A trainer's state() with those variables and weights in it; refuses what are not those of its optimizer.
std::map<std::string, Tensor> state_with(const train::Trainer &t, const std::vector<std::string> &order,
                                         const std::vector<Tensor> &variables, const std::vector<Tensor> &weights);

}  // namespace dl4::io

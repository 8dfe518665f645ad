// Removal of LoRA from models.
#pragma once

#include <memory>

#include "graph/model.hpp"

namespace dl4::graph {

// The same model without LoRA: the products are added to kernels and tables, which become trainable again. Quantized
// ones are quantized again, as Keras does when saving.
std::shared_ptr<Model> without_lora(const Model &m);

}  // namespace dl4::graph

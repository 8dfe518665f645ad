// Models whose layers have LoRA, as models without.
#pragma once

#include <memory>

#include "graph/model.hpp"

namespace dl4::graph {

// The same model without LoRA: its products are in the kernels and tables, which are trained again; those that are
// quantized are quantized anew, as Keras does when it saves them.
std::shared_ptr<Model> without_lora(const Model &m);

}  // namespace dl4::graph

// Vocabularies that stand beside a model's JSON in a Keras file.
#pragma once

#include <map>
#include <string>

#include "base/json.hpp"
#include "base/tensor.hpp"
#include "io/budget.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/zip/zip.hpp"

namespace dl4::io {

// A model's JSON of Keras 3 with the vocabularies of the archive's "assets", and the weights of their tokens in its
// store, as attributes of the layers that have none.
Json with_assets(const Json &model, const Zip &archive, const Hdf5 &store, Budget &budget);

// The weights of the tokens of layers with output_mode "tf_idf" by their places in a store, as Keras expects them
// there.
std::map<std::string, Tensor> token_weights(const Json &model);

}  // namespace dl4::io

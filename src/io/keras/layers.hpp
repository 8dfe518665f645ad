// Weights that stand by layers: in .h5 files of whole models, of every version of Keras.
#pragma once

#include <map>
#include <string>

#include "graph/graph.hpp"
#include "io/hdf5/hdf5.hpp"

namespace dl4::io {

// `weight "dense/kernel": why`, with the layer.
Error of_weight(Code code, const graph::Weight &w, const std::string &why);
// What a dataset holds as a weight: float32 of its shape.
Tensor weight_at(const Hdf5 &file, const std::string &path, const graph::Weight &w);

// The values of a layer whose group stands in `group`, which is "" or ends in a slash. major: of the Keras that wrote
// it. Refuses what are not the layer's weights.
void read_layer(const Hdf5 &file, const std::string &group, int major, const graph::Layer &l,
                std::map<const graph::Weight *, Tensor> &values);

}  // namespace dl4::io

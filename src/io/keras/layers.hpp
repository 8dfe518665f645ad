// Weights stored by layer, as in whole models in .h5 of every Keras version.
#pragma once

#include <map>
#include <string>

#include "graph/graph.hpp"
#include "io/hdf5/hdf5.hpp"

namespace dl4::io {

// An error about a weight and its layer: `weight "dense/kernel": why`.
Error of_weight(Code code, const graph::Weight &w, const std::string &why);
// A dataset as a weight: float32 of its shape.
Tensor weight_at(const Hdf5 &file, const std::string &path, const graph::Weight &w);

// Values of a layer's weights in group `group`, which is "" or ends in a slash. major: Keras version that wrote it.
// Refuses data that don't match the layer's weights.
void read_layer(const Hdf5 &file, const std::string &group, int major, const graph::Layer &l,
                std::map<const graph::Weight *, Tensor> &values);

}  // namespace dl4::io

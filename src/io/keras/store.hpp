// What a Keras file has besides its model's JSON: weights by layer, vocabularies, and how it was trained.
#pragma once

#include "io/hdf5/hdf5.hpp"
#include "io/zip/zip.hpp"
#include "train/trainer.hpp"

namespace dl4::io {

// ---- weights by layer, as in whole models in .h5 of every Keras version

// An error about a weight and its layer: `weight "dense/kernel": why`.
Error of_weight(Code code, const graph::Weight &w, const std::string &why);
// A dataset as a weight: float32 of its shape.
Tensor weight_at(const Hdf5 &file, const std::string &path, const graph::Weight &w);

// Values of a layer's weights in group `group`, which is "" or ends in a slash. major: Keras version that wrote it.
// Refuses data that don't match the layer's weights.
void read_layer(const Hdf5 &file, const std::string &group, int major, const graph::Layer &l,
                std::map<const graph::Weight *, Tensor> &values);

// ---- vocabularies

// A model's JSON of Keras 3 with the vocabularies of the archive's "assets", and the weights of their tokens in its
// store, as attributes of the layers that have none.
Json with_assets(const Json &model, const Zip &archive, const Hdf5 &store, Budget &budget);

// The weights of the tokens of layers with output_mode "tf_idf" by their places in a store, as Keras expects them
// there.
std::map<std::string, Tensor> token_weights(const Json &model);

// ---- training

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

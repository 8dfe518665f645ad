// The native files: a model, and a checkpoint of a trainer.
#pragma once

#include <memory>
#include <string>

#include "graph/model.hpp"
#include "io/file.hpp"
#include "io/keras/file.hpp"
#include "io/native/named_weights.hpp"
#include "train/trainer.hpp"

namespace dl4::io {

// Ours, or Keras's.
std::string save_model(const graph::Model &m, Format format = Format::native);
void save_model(const graph::Model &m, const std::string &path, Format format = Format::native);
// As the end of the path says; native where it has no suffix. Refuses every other.
Format format_of(const std::string &path);
// verified: checksums are compared. Refuses files that are not whole (CORRUPT_FILE), that are newer than this library
// (VERSION), and safetensors files of others.
// outside: the folder in which an ONNX file may have tensors in other files; "" = nowhere. weights: else they are zeros,
// and no tensor is read but of ONNX.
std::shared_ptr<graph::Model> load_model(const Source &source, const graph::Settings &settings, bool verified,
                                         const std::string &outside = "", Told *told = nullptr,
                                         bool weights = true);

// Gives the weights of a model the values in a file, told by its content: Keras's of the same layers, ours, or tensors
// by name, safetensors of anyone or .npz. All of them or, refused, none.
void load_weights(graph::Model &m, const Source &source, const Naming &naming, bool verified);

// Weights, optimizer slots, counters and the place in fit.
std::string save_checkpoint(const train::Trainer &t);
// As Keras saves a compiled model, if the path says so.
void save_checkpoint(const train::Trainer &t, const std::string &path);
// Into a trainer of the same model and options; refuses any other, and then has changed nothing. Of a file of Keras:
// the weights and the optimizer's state.
void load_checkpoint(train::Trainer &t, const Source &source);

// What a stream carries, by name.
using States = std::vector<std::pair<std::string, Tensor>>;
std::string save_states(States states);
// Into these tensors; refuses other names, types and shapes, and then has changed nothing.
void load_states(const States &states, const Source &source);

}  // namespace dl4::io

// Native files: a model, and a trainer's checkpoint.
#pragma once

#include <memory>
#include <string>

#include "graph/model.hpp"
#include "io/file.hpp"
#include "io/keras/file.hpp"
#include "io/native/named_weights.hpp"
#include "train/trainer.hpp"

namespace dl4::io {

// In a native or Keras format.
std::string save_model(const graph::Model &m, Format format = Format::native);
void save_model(const graph::Model &m, const std::string &path, Format format = Format::native);
// By the path's suffix; native without one. Refuses others.
Format format_of(const std::string &path);
// verified: compares checksums. Refuses files that are incomplete (CORRUPT_FILE) or newer than this library (VERSION),
// and foreign safetensors files. outside: directory in which an ONNX file may have external tensors; "": none. weights:
// false leaves zeros and reads no tensors, except for ONNX.
std::shared_ptr<graph::Model> load_model(const Source &source, const graph::Settings &settings, bool verified,
                                         const std::string &outside = "", Told *told = nullptr,
                                         bool weights = true);

// Sets a model's weights from a file, recognised by content: Keras's of the same layers, native, or tensors by name in
// any safetensors or .npz file. All or none.
void load_weights(graph::Model &m, const Source &source, const Naming &naming, bool verified);

// Weights, optimizer slots, counters and the position in fit.
std::string save_checkpoint(const train::Trainer &t);
// In Keras's form of a compiled model if the path says so.
void save_checkpoint(const train::Trainer &t, const std::string &path);
// Into a trainer of the same model and options; refuses others without changing anything. From Keras's files: weights
// and optimizer state.
void load_checkpoint(train::Trainer &t, const Source &source);

// A stream's states by name.
using States = std::vector<std::pair<std::string, Tensor>>;
std::string save_states(States states);
// Into these tensors; refuses other names, types and shapes without changing anything.
void load_states(const States &states, const Source &source);

}  // namespace dl4::io

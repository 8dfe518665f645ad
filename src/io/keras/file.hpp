// Keras's files: .keras, .weights.h5 and whole models in .h5.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.hpp"
#include "io/budget.hpp"
#include "io/file.hpp"
#include "train/trainer.hpp"

namespace dl4::io {

// From this library's JSON, or that of Keras's to_json().
graph::Architecture read_architecture(const Json &j);

bool is_zip(const Source &source);
bool is_hdf5(const Source &source);

// Additional content of a file.
struct Told {
  Json training;                   // compile config for trainer_options(), or null
  std::vector<std::string> types;  // float types of its layers in Keras; here all are float32
};

// A .keras file, or a whole model of Keras 2 or 3 in .h5. Refuses with UNSUPPORTED, naming the layer, unsupported
// layers, and code. weights: false reads none and leaves zeros.
std::shared_ptr<graph::Model> load_keras(const Source &source, const graph::Settings &settings, Budget &budget,
                                         bool verified, Told *told = nullptr, bool weights = true);
// Zeros in place of a weight that is not read; untouched pages take no memory.
Tensor zeros_for(const graph::Weight &w);

// Formats of a model's files, by path suffix or name.
enum class Format { native, keras, keras_weights, npz, onnx };
// The bytes of a .keras or .weights.h5 file, as parts owned by `kept` and the model's weights.
struct KerasFile {
  std::map<std::string, Tensor> tensors;  // by path in the store
  std::set<std::string> natural{};        // unsigned byte weights
  std::string config, metadata, head;
  std::vector<std::string> heads;

  std::vector<std::string_view> parts(Format format);
};
KerasFile keras_file(const graph::Model &m);
// For a trainer's model, with its training config.
KerasFile keras_file(const train::Trainer &t);
// Loads weights and optimizer variables of a Keras 3 .keras or .h5 file into a trainer of the same layers and
// optimizer. Refuses others without changing anything.
void load_keras_training(train::Trainer &t, const Source &source, Budget &budget);

// The values of a model's weights, in order, from a .keras, .weights.h5 or .h5 file of the same layers.
std::vector<Tensor> keras_weights(const graph::Model &m, const Source &source, Budget &budget, bool verified);

}  // namespace dl4::io

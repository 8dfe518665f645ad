// Keras's files: .keras, .weights.h5 and .h5 of whole models.
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

// Of JSON: ours, or what a model's to_json() gives in Keras.
graph::Architecture read_architecture(const Json &j);

bool is_zip(const Source &source);
bool is_hdf5(const Source &source);

// What a file says beside the model.
struct Told {
  Json training;                   // what it was compiled with, for trainer_options(), or null
  std::vector<std::string> types;  // that its layers compute in where it was made; here it is float32
};

// A .keras file, or a .h5 file of a whole model, of Keras 2 or 3. Refuses with UNSUPPORTED, by the layer's name, what
// our layers can't do, and code. weights: else they are zeros, and none is read.
std::shared_ptr<graph::Model> load_keras(const Source &source, const graph::Settings &settings, Budget &budget,
                                         bool verified, Told *told = nullptr, bool weights = true);
// What stands for the value of a weight that is not read: pages that nobody touches take no memory.
Tensor zeros_for(const graph::Weight &w);

// Of the files of a model: by the end of a path, or a name.
enum class Format { native, keras, keras_weights, npz, onnx };
// The bytes of a .keras or .weights.h5 file, in parts that lie in `kept` and the model's weights.
struct KerasFile {
  std::map<std::string, Tensor> tensors;  // by their place in the store
  std::set<std::string> natural{};         // which of bytes have no sign
  std::string config, metadata, head;
  std::vector<std::string> heads;

  std::vector<std::string_view> parts(Format format);
};
KerasFile keras_file(const graph::Model &m);
// Of a trainer's model, with what it is trained by.
KerasFile keras_file(const train::Trainer &t);
// The weights and the optimizer's variables of a .keras or .h5 file of Keras 3 into a trainer of the same layers and
// optimizer; refuses any other, and then has changed nothing.
void load_keras_training(train::Trainer &t, const Source &source, Budget &budget);

// The values of a model's weights, in their order, in a .keras, .weights.h5 or .h5 file of the same layers.
std::vector<Tensor> keras_weights(const graph::Model &m, const Source &source, Budget &budget, bool verified);

}  // namespace dl4::io

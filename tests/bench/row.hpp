// One row of the table: a model as a list of Keras layers, the shapes it runs at, and how it is trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Input {
  std::string name;
  std::vector<int64_t> shape;  // with the batch
  int64_t ids = 0;             // above 0: int32 ids below it, instead of floats
};

// An LSTM with return_state has three values: "name", "name/h" and "name/c"; its further inputs are the states before;
// those of an RNN are constants.
struct Layer {
  std::string kind, name;
  std::vector<std::string> inputs;
  std::string attributes = "{}";  // JSON, Keras's configuration keys
};

// The loss of the last layer: "mean_squared_error", or "sparse_categorical_crossentropy" of a softmax.
struct Training {
  std::string optimizer, loss;  // optimizer: "Adam" or "SGD", with Keras's defaults
};

struct Row {
  std::string name;
  std::vector<Input> inputs;
  std::vector<Layer> layers;
  std::vector<std::string> outputs;
  bool runs = true;        // time inference
  Training training = {};  // empty: no training step is timed
  std::vector<int> threads = {1, 2};
  bool floor = true;  // there are direct calls that do its work

  bool trains() const { return !training.optimizer.empty(); }
};

const std::vector<Row> &table();

}  // namespace bench

// Data to train and measure on, and what is measured.
#pragma once

#include "arrays.hpp"

namespace dl4::tool {

// What train and eval are told alike.
struct Objective {
  std::vector<std::string> losses, metrics;  // kinds: a name or {"class_name", "config"} as JSON
  std::vector<std::string> target_columns;   // of a .csv file, by name
  std::string columns;                       // all names of a .csv file that has none
  std::string optimizer;
  int64_t batch = 32, targets = 1;  // targets: columns of a .csv file
  double scale = 1;

  std::vector<Option> options();
  // Where no loss is told, as the model was compiled in Keras.
  Trainer trainer(const Model &m, const char *default_optimizer) const;
};

struct Arrays {
  Tensors x, y, w;
};
// Inputs and targets by name out of a .npz file, "x", "y" and "w" where there is one of each; of a .csv file the last
// columns are the targets.
Arrays read_data(const std::string &path, const Model &m, const Objective &how);

std::vector<std::string> metrics_of(const Trainer &t);

}  // namespace dl4::tool

// File formats, a row each, and loading and saving by them.
#pragma once

#include "io/budget.hpp"
#include "io/file.hpp"
#include "train/trainer.hpp"

namespace dl4::io {

// Maps a model's weights to a file's tensors.
struct Naming {
  Json names = Json::object();  // by weight: a tensor's name, or how to make it from some
  bool partial = false;         // ignores tensors and weights without counterpart

  bool operator==(const Naming &) const = default;
};

// In the order of the model's weights, each a copy; empty where `partial` keeps a weight. Refuses with NOT_FOUND wrong
// names in the table, with INVALID_ARGUMENT other errors in it, and with CORRUPT_FILE tensors that don't fit the model.
std::vector<Tensor> named_weights(const graph::Model &m, const std::map<std::string, Tensor> &file,
                                  const Naming &naming);

// Refuses with CORRUPT_FILE, naming the weight, values of quantized layers that give no numbers: scales that are 0 or
// not finite, zero points beyond 4 bits, missing groups. values: in the order of the weights; empty ones are skipped.
void check_quantized(const std::vector<std::shared_ptr<graph::Weight>> &weights, const std::vector<Tensor> &values);
void check_quantized(const std::vector<std::shared_ptr<graph::Weight>> &weights);  // for their current values

struct Loading {
  bool verified = true;     // compares checksums
  bool weights = true;      // false leaves zeros and reads no tensors, except for ONNX
  std::string folder = {};  // in which an ONNX file may have external tensors; "": none
};

// Additional content of a file.
struct Told {
  std::string format;              // its title
  Json training;                   // compile config for trainer_options(), or null
  std::vector<std::string> types;  // float types of its layers in Keras; here all are float32
};

// A null function: not of this format.
struct Format {
  const char *name, *title;  // as an option, and in the log
  std::vector<std::string> suffixes;
  const char *checkpoint = nullptr;  // another suffix, of trainers alone
  bool trained = false;              // a file of a model also holds what the model is trained by
  // By the first bytes. The last row that recognizes a file and does what is asked for counts.
  bool (*is)(const Source &source, Budget &budget) = nullptr;
  std::shared_ptr<graph::Model> (*load)(const Source &source, const graph::Settings &settings, Budget &budget,
                                        const Loading &how, Told &told) = nullptr;
  void (*save)(const graph::Model &m, const Write &write) = nullptr;
  // In the order of the model's weights; no data where one is left as it is.
  std::vector<Tensor> (*weights)(const graph::Model &m, const Source &source, Budget &budget, const Naming &naming,
                                 bool verified) = nullptr;
  void (*save_trainer)(const train::Trainer &t, const Write &write) = nullptr;
  void (*load_trainer)(train::Trainer &t, const Source &source, Budget &budget) = nullptr;
};
// The native one is the first.
const std::vector<Format> &formats();
std::span<const char *const> save_formats();  // "auto", then the names of the rows
// By the path's suffix; native without one. Refuses others.
const Format &format_of(const std::string &path);

std::string save_model(const graph::Model &m, const Format &format = formats()[0]);
void save_model(const graph::Model &m, const std::string &path, const Format &format);
// By the path's suffix, with the training config where the format has one.
void save_model(const train::Trainer &t, const std::string &path);
// Refuses files that are incomplete (CORRUPT_FILE) or newer than this library (VERSION), and foreign safetensors files.
std::shared_ptr<graph::Model> load_model(const Source &source, const graph::Settings &settings = {},
                                         const Loading &how = {}, Told *told = nullptr);

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

}  // namespace dl4::io

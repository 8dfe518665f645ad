// Lowers a model to a Program with free dims.
#pragma once

#include "graph/model.hpp"
#include "plan/ticks/tick.hpp"

namespace dl4::graph {

// A state that a layer carries between parts of a sequence: an input of the Program, and its new value.
struct Carried {
  std::string name;  // "<layer>/rnn_state"
  ops::Id before, after;
};

struct Lowered {
  std::vector<kinds::Symbol> outputs;
  std::vector<ops::Id> penalties;  // scalars added to the loss by layers
  // By held value: its value after the calls; none: unchanged.
  std::vector<ops::Id> writes;
  std::vector<Carried> carried;  // in a part of a sequence
};

// training: as in a training step, with dropout; part: inputs may be parts of sequences, and states are returned in
// `carried`; collective: sums over the workers that have the other parts of the batch.
struct Lowering {
  bool training = false, part = false;
  std::shared_ptr<ops::Collective> collective = nullptr;
};

// Emits the model's calls. `held`: the values that the model holds, in its order; `draws`: counter of random draws,
// int64. Creates inputs named like the model's.
Lowered lower(ops::Emit &e, const Model &model, const std::vector<ops::Id> &held, ops::Id draws, Lowering how);

struct InferenceOptions {
  bool training = false;                 // as in a training step, with dropout
  std::vector<std::string> gradients{};  // names of inputs and weights; an input takes precedence over a weight
  bool cotangents = false;               // gradients of the outputs weighted by cotangents, instead of their sum
  bool states = false;                   // states become inputs and outputs, after the model's
  plan::Cache cache{};                   // for ticks
};

// A session's Program: a model's outputs, then the requested gradients.
struct Inference {
  ops::Program program;                   // one state per held value, plus `draws` if `counts`
  bool counts = false;                    // the last state, int64, is the number of the run
  std::vector<std::string> output_names;  // of all outputs, such as "gradient of x"
  std::vector<bool> masked;               // by output of the model: whether it carries a mask
  // Cotangents are inputs after the model's, one for each of these (float32) outputs.
  std::vector<size_t> cotangent_of;
  // By held value: whether a run writes it. Empty: the model assigns no weights.
  std::vector<bool> written;
  // Number of state inputs after the model's, and of outputs with their new values.
  size_t states = 0;
};

// Refuses unknown or repeated names, inputs that are not float32, models without float32 outputs, and ops in between
// without gradient; for models that assign weights also gradients and states. Gradients of unused values are zeros.
Inference inference(const Model &model, const InferenceOptions &options = {});

// An inference with the model's current values.
struct Pinned {
  Inference in;
  std::vector<Tensor> states;         // by state of the program
  std::optional<size_t> run_counter;  // index of the run's number
  // Inputs and outputs of equal shape: states and their new values, cotangents and their outputs.
  std::vector<std::pair<size_t, size_t>> alike;
  std::optional<plan::Tick> tick;  // with `states`: the program for a few steps at a time
  std::string why_no_tick;         // reason if there is none
};

// Folds what depends only on the values, unless gradients are requested. passes_off: of the planner.
Pinned pinned(const Model &model, const InferenceOptions &options, const std::vector<std::string> &passes_off);

// The outputs of a model without inputs, if each step has at most that many bytes; none if a step has more, draws
// random numbers or faults.
std::optional<std::vector<Tensor>> evaluated(const Model &model, int64_t most_bytes);

}  // namespace dl4::graph

// From a model to a Program with free dims.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/model.hpp"
#include "ops/emit.hpp"
#include "plan/ticks/tick.hpp"

namespace dl4::graph {

// What a layer carries from one part of a sequence to the next: an input of the Program, and what becomes of it.
struct Carried {
  std::string name;  // "<layer>/rnn_state"
  ops::Id before, after;
};

struct Lowered {
  std::vector<kinds::Symbol> outputs;
  std::vector<ops::Id> penalties;  // scalars that layers added to the loss
  // By what the model holds, what the calls left it holding; none where they wrote nothing.
  std::vector<ops::Id> writes;
  std::vector<Carried> carried;  // in a part of a sequence
};

// training: as in a training step, dropout draws; part: the inputs may be parts of sequences, so that what layers carry
// is in `carried`; collective: what sums over the workers that have the other parts of the batch.
struct Lowering {
  bool training = false, part = false;
  std::shared_ptr<ops::Collective> collective = nullptr;
};

// Emits the model's calls. `held`: the value of each of what the model holds, in its order; `draws`: the counter of
// random draws, an int64; inputs are made by this function and named as the model's.
Lowered lower(ops::Emit &e, const Model &model, const std::vector<ops::Id> &held, ops::Id draws, Lowering how);

struct InferenceOptions {
  bool training = false;               // as in a training step: dropout draws
  std::vector<std::string> gradients;  // inputs and weights by name; an input goes before a weight of the same name
  bool cotangents = false;             // gradients of the outputs times these, not of their sum
  bool states = false;                 // what layers carry is inputs and outputs, behind those of the model
  plan::Cache cache{};                 // of ticks
};

// What a session runs: the outputs of a model, then the gradients asked for.
struct Inference {
  ops::Program program;                   // one state by what the model holds, and `draws` if `counts`
  bool counts = false;                    // the last state, an int64, must be the number of the run
  std::vector<std::string> output_names;  // of all outputs; "gradient of x"
  std::vector<bool> masked;               // by output of the model: does it carry a mask?
  // Cotangents stand behind the model's inputs, one for each of these outputs, which are the float32 ones.
  std::vector<size_t> cotangent_of;
  // By what the model holds: does a run write it? Empty: the model assigns nothing.
  std::vector<bool> written;
  // How many inputs behind those of the model are states, and as many outputs what becomes of them.
  size_t states = 0;
};

// Refuses names that are unknown or stand twice, inputs that are not float32, a model without float32 outputs, and ops
// on the way that have no gradient; of a model that assigns weights gradients and states. What no output depends on has
// a gradient of zeros.
Inference inference(const Model &model, const InferenceOptions &options = {});

// An inference with the values that the model holds now.
struct Pinned {
  Inference in;
  std::vector<Tensor> states;         // by state of the program
  std::optional<size_t> run_counter;  // which of them is the number of the run
  // Inputs and outputs of one shape: states and what becomes of them, cotangents and what they are of.
  std::vector<std::pair<size_t, size_t>> alike;
  std::optional<plan::Tick> tick;  // with `states`: what takes sequences a few steps at a time
  std::string why_no_tick;         // where there is none
};

// What depends on the values alone is computed here, unless gradients are asked for. passes_off: of the planner.
Pinned pinned(const Model &model, const InferenceOptions &options, const std::vector<std::string> &passes_off);

// The outputs of a model without inputs, each step of at most that many bytes; none: one has more, draws numbers or
// fails at its numbers.
std::optional<std::vector<Tensor>> evaluated(const Model &model, int64_t most_bytes);

}  // namespace dl4::graph

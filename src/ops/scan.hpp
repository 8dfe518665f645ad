// scan: a body Program that runs once per step, and the writer of bodies.
#pragma once

#include "ops/flow.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

// A body input at each step: the next element of a sequence (T, ...), from the first or from the last; the state left
// by the previous step; or a constant.
enum class Carry : int { sequence, reversed, state, constant };
std::string to_string(Carry c);
// Whether a source is a sequence, of which each step has an element.
inline bool is_stacked(Carry c) { return c == Carry::sequence || c == Carry::reversed; }

// Sources: those of the body's inputs, in order; initial values for states. Body outputs: the new states in the order
// of those inputs, then others. Destinations: each output stacked (T, ...), then each state's final value.
struct ScanOp final : OpOf<ScanOp, "scan"> {
  std::vector<Carry> carry;   // by input of the body
  std::vector<int> reversed;  // by output of the body: stacked from last to first
  std::vector<int> kept;      // outputs for the gradient: results of products
  std::shared_ptr<const Program> body;
  std::vector<bool> read;  // by input
  bool some_volatile = false;

  ScanOp(Program body, std::vector<Carry> carry, std::vector<int> reversed, std::vector<int> kept);
  void fields(auto &f) const {
    f("", carry), f("reversed", reversed), f("kept", kept);
    if constexpr (requires { f.bits; }) f("", bits_of(*body));
  }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  bool reads(int src) const override { return read[static_cast<size_t>(src)]; }
  bool is_volatile() const override { return some_volatile; }

  size_t states() const;
  int64_t time(Operands src) const;  // number of steps; -1 if free
};

// Writes a body, and then the scan. What does not depend on a state is hoisted, once or for all steps at once.
class Scan {
 public:
  explicit Scan(Emit &e) : body(program_, e), e_(e) {}
  Scan(const Scan &) = delete;
  Scan &operator=(const Scan &) = delete;

  // Body values for values of the enclosing Program.
  Id each(Id sequence, bool reversed = false) { return input(sequence, reversed ? Carry::reversed : Carry::sequence); }
  Id state(Id at_first) { return input(at_first, Carry::state); }
  Id constant(Id outside);

  void become(Id state, Id next) { next_[state] = next; }
  // Returns the output's index.
  size_t output(Id v, bool reversed = false);

  struct Values {
    std::vector<Id> states, last, outputs;  // stacked (T, ...) in step order; final values; stacked
  };
  // Refuses states that change shape or dtype, sequences of different lengths, and bodies without sequences.
  Values emit();

 private:
  struct Outside {
    Id value;  // in the enclosing Program
    Carry carry;
  };

  Id input(Id outside, Carry carry);
  void move_out();
  std::optional<Carry> where(const Step &step, const PerValue<Outside> &out) const;
  bool moves_out(const Step &step, PerValue<Outside> &out);
  void drop_dead();
  void drop_unread();
  std::vector<Id> products() const;

  Program program_;

 public:
  Emit body;

 private:
  Emit &e_;
  std::vector<Outside> inputs_;  // by input of the body
  std::map<Id, Id> constants_;   // by outside value
  std::map<Id, Id> next_;        // by state
  std::vector<Id> outputs_;
  std::vector<int> reversed_;
};

}  // namespace dl4::ops

// What every op says of itself: shape rule, gradient rule, kernels.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/dispatch/site.hpp"
#include "ops/fields.hpp"
#include "ops/program.hpp"

namespace dl4::ops {

class Emit;
class Gradient;

using dispatch::absent, dispatch::Cutting, dispatch::Operand, dispatch::Operands, dispatch::Packs, dispatch::Site;

// What the Program says about these values, and about one step, with nothing constant and nothing switched off.
std::vector<Operand> operands(const Program &p, std::span<const Id> values);
Site site(const Program &p, const Step &step);

// An op is a struct whose members are its attributes; `fields` lists them once, for equality, hash and listings.
// It derives from one of the three below, so that what it says about its gradient can't be left out.
class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;
  // Dtypes and shapes of all destinations. Refuses what does not fit, in the user's words.
  virtual std::vector<Operand> infer(Operands src) const = 0;
  // Emits diff_src from diff_dst. A wanted source must get a gradient or be stopped: else differentiate refuses the op.
  virtual void gradient(Gradient &) const = 0;
  // The best kernel for the site.
  virtual std::unique_ptr<kernels::Kernel> kernel(const Site &site) const = 0;

  // The destination is the source's memory, seen with another shape.
  virtual bool is_view() const { return false; }
  virtual int64_t view_offset() const { return 0; }  // bytes
  // The source whose memory destination i may take over, or -1.
  virtual int overwrites(int /*dst*/) const { return -1; }
  // False: only dtype and shape of source i matter.
  virtual bool reads(int /*src*/) const { return true; }
  // The same inputs may give other outputs, or the step is there for its fault: never folded, merged or dropped.
  virtual bool is_volatile() const { return false; }

  // Made of the fields: for listings, and to the last bit.
  virtual std::vector<Attribute> attributes() const = 0;
  virtual std::string attribute_bits() const = 0;
};

// Do the two ops compute the same of the same sources? Equal ops have equal hashes.
bool equal(const Op &a, const Op &b);
size_t hash(const Op &op);

// The op as a T, or nullptr if it is another one.
template <class T>
const T *as(const Op &op) {
  return dynamic_cast<const T *>(&op);
}
template <class T>
const T *as(const Step &step) {
  return as<T>(*step.op);
}

// An op with a gradient rule.
template <class T>
struct OpOf : Op {
  void fields(auto &) const {}  // none, unless T says otherwise
  std::vector<Attribute> attributes() const final {
    Listing f;
    static_cast<const T &>(*this).fields(f);
    return f.attributes;
  }
  std::string attribute_bits() const final {
    Bits f;
    static_cast<const T &>(*this).fields(f);
    return f.bits;
  }
};

// An op that is meant to stop gradients: its result moves in steps, or not at all, as its sources move.
void stop_all(Gradient &g);
template <class T>
struct StopsGradients : OpOf<T> {
  void gradient(Gradient &g) const final { stop_all(g); }
};

// An op without a rule, refused where a loss depends on its result: gradients that aren't differentiated again,
// updates.
template <class T>
struct NotDifferentiable : OpOf<T> {
  void gradient(Gradient &) const final {}
};

}  // namespace dl4::ops

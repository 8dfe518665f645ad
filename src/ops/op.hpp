// What every op says of itself: shape rule, gradient rule, attributes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "ops/fields.hpp"
#include "ops/operand.hpp"
#include "ops/program.hpp"

namespace dl4::ops {

class Emit;
class Gradient;

// What the Program says about these values.
std::vector<Operand> operands(const Program &p, std::span<const Id> values);

// What a backend reads of an op, and of which type it is: by that it finds the op's kernel.
struct Description {
  std::type_index type;
  const void *attributes;
};

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
  virtual Description description() const = 0;
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

// Of an op without attributes.
struct None {
  void fields(auto &) const {}
};

// An op T with a gradient rule. A: its attributes, if it stands in a file of its own (attributes.hpp); else T has them.
template <class T, class A = None>
struct OpOf : Op, A {
  template <class... V>
  requires(!std::is_base_of_v<Op, std::remove_cvref_t<V>> && ...) explicit OpOf(V &&...attributes)
      : A{std::forward<V>(attributes)...} {}
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
  Description description() const final {
    using Seen = std::conditional_t<std::is_same_v<A, None>, T, A>;
    return {typeid(Seen), static_cast<const Seen *>(static_cast<const T *>(this))};
  }
};

// An op that is meant to stop gradients: its result moves in steps, or not at all, as its sources move.
void stop_all(Gradient &g);
template <class T, class A = None>
struct StopsGradients : OpOf<T, A> {
  using OpOf<T, A>::OpOf;
  void gradient(Gradient &g) const final { stop_all(g); }
};

// An op without a rule, refused where a loss depends on its result: gradients that aren't differentiated again,
// updates.
template <class T, class A = None>
struct NotDifferentiable : OpOf<T, A> {
  using OpOf<T, A>::OpOf;
  void gradient(Gradient &) const final {}
};

}  // namespace dl4::ops

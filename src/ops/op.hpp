// The interface of ops: what a rule knows of a value, shape rule, gradient rule, attributes.
#pragma once

#include <typeindex>

#include "ops/fields.hpp"
#include "ops/program.hpp"

namespace dl4::ops {

struct Operand {
  DType dtype = DType::f32;
  Shape shape;
  bool present = true;  // false: an omitted optional source, or an unread destination
};
using Operands = std::span<const Operand>;
inline const Operand absent{DType::f32, {}, false};

class Emit;
class Gradient;

// What the Program knows of these values.
std::vector<Operand> operands(const Program &p, std::span<const Id> values);

// An op's attributes and their type, by which a backend finds the kernel.
struct Description {
  std::type_index type;
  const void *attributes;
};

// An op is a struct whose members are its attributes; `fields` lists them once, for equality, hash and listings. It
// derives from one of the three templates below, so its kind of gradient is always explicit.
class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;
  // Dtypes and shapes of all destinations. Refuses operands that don't fit, in the user's terms.
  virtual std::vector<Operand> infer(Operands src) const = 0;
  // Emits diff_src from diff_dst, of which at least one is there, for at least one wanted source: float32 and read.
  // Each of these must get a gradient or be stopped, else differentiate refuses the op.
  virtual void gradient(Gradient &) const = 0;

  // The destination shares the source's memory with another shape.
  virtual bool is_view() const { return false; }
  virtual int64_t view_offset() const { return 0; }  // bytes
  // The source whose memory destination i may reuse, or -1.
  virtual int overwrites(int /*dst*/) const { return -1; }
  // False: only the dtype and shape of source i matter.
  virtual bool reads(int /*src*/) const { return true; }
  // May sources and destinations be strings? Other ops are never given one.
  virtual bool takes_strings() const { return false; }
  // Equal inputs may give different outputs, or the step exists for its fault: never folded, merged or removed.
  virtual bool is_volatile() const { return false; }

  // From the fields: as text for listings, and bit by bit.
  virtual std::vector<Attribute> attributes() const = 0;
  virtual std::string attribute_bits() const = 0;
  virtual Description description() const = 0;
};

// Whether both compute the same from the same sources. Equal ops have equal hashes.
bool equal(const Op &a, const Op &b);
size_t hash(const Op &op);

// The op as a T, or nullptr if it has another type.
template <class T>
const T *as(const Op &op) {
  return dynamic_cast<const T *>(&op);
}
template <class T>
const T *as(const Step &step) {
  return as<T>(*step.op);
}

// For ops without attributes.
struct None {
  void fields(auto &) const {}
};

// A literal as an argument of templates.
template <size_t N>
struct Literal {
  constexpr Literal(const char (&literal)[N]) { std::copy_n(literal, N, chars); }
  char chars[N];
};

// An op T with a gradient rule. A: its attributes, if T is private to its file (attributes.hpp); else they are in T.
template <class T, Literal op_name, class A = None>
struct OpOf : Op, A {
  using Attributes = A;
  static constexpr const char *op = op_name.chars;
  std::string_view name() const override { return op; }
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

// An op that stops gradients: its result is piecewise constant in its sources.
void stop_all(Gradient &g);
template <class T, Literal op_name, class A = None>
struct StopsGradients : OpOf<T, op_name, A> {
  void gradient(Gradient &g) const final { stop_all(g); }
};

// An op without gradient rule, refused if a loss depends on its result: gradients that aren't differentiated again, and
// updates.
template <class T, Literal op_name, class A = None>
struct NotDifferentiable : OpOf<T, op_name, A> {
  void gradient(Gradient &) const final {}
};

// An op T with these attributes.
template <class T, class... V>
std::shared_ptr<const Op> make(V &&...attributes) {
  auto op = std::make_shared<T>();
  static_cast<typename T::Attributes &>(*op) = typename T::Attributes{std::forward<V>(attributes)...};
  return op;
}

}  // namespace dl4::ops

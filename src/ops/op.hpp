// What every op says of itself: shape rule, gradient rule, kernels.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork.hpp"
#include "kernels/kernel.hpp"
#include "kernels/packed.hpp"
#include "ops/program.hpp"

namespace dl4::kernels {
enum class Unary : int32_t;  // kernels/elementwise.hpp
}

namespace dl4::ops {

class Emit;
class Gradient;

// What a rule knows of a value.
struct Operand {
  DType dtype = DType::f32;
  Shape shape;
  bool present = true;  // false: an optional source that was left out, or a destination that no one reads
};
using Operands = std::span<const Operand>;
inline const Operand absent{DType::f32, {}, false};

// Packed forms of constant weights, shared by all plans and sessions of one set of parameters.
class Packs {
 public:
  kernels::PackedForms &of(const std::string &key);

 private:
  Mutex mutex_;
  std::map<std::string, kernels::PackedForms> forms_;
};

// How work is cut into slices.
struct Cutting {
  int threads = 1;
  bool strict = false;  // by the shapes alone
  double least = 10;    // microseconds of work: below this a slice costs more to hand over than to run

  // Slices for `parts` equal parts that can't be divided and take `microseconds` in all on one thread.
  int64_t slices(int64_t parts, double microseconds) const;
};

// The place a kernel is made for: one step at known shapes.
struct Site {
  std::vector<Operand> src, dst;
  std::vector<const Tensor *> constant;  // by source: its contents when they never change under this plan, else null
  std::vector<std::string>
      constant_key;  // by source: names those contents among all plans that share `packs`; may be ""
  Cutting cutting;
  std::span<const std::string> off;  // kernels switched off by name
  Packs *packs = nullptr;

  bool allows(std::string_view kernel) const;
};

// A part of a flat block, seen as rows, whose gradient comes as some rows (ops.hpp: RowSums).
struct RowPart {
  int64_t begin, end;  // elements of the block; may hold less than a row beyond the last one
  int64_t rows, width;
};

class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;
  // Every attribute, for listings; equal ops print equal.
  virtual std::string attributes() const { return {}; }
  // Dtypes and shapes of all destinations. Refuses what does not fit, in the user's words.
  virtual std::vector<Operand> infer(Operands src) const = 0;
  // Emits diff_src from diff_dst. A wanted source must get a gradient or be stopped: differentiate refuses the op else.
  virtual void gradient(Gradient &) const {}
  // The best kernel for the site.
  virtual std::unique_ptr<kernels::Kernel> kernel(const Site &site) const = 0;

  // The destination is the source's memory, seen with another shape.
  virtual bool is_view() const { return false; }
  virtual int64_t view_offset() const { return 0; }  // bytes
  // The source whose memory destination i may take over, or -1.
  virtual int overwrites(int /*dst*/) const { return -1; }
  // False: only dtype and shape of source i matter.
  virtual bool reads(int /*src*/) const { return true; }
  // Where source i may be made in place inside destination 0, in bytes, or -1.
  virtual int64_t part_offset(int /*src*/) const { return -1; }
  // The same inputs may give other outputs, or the step is there for its fault: never folded, merged or dropped.
  virtual bool is_volatile() const { return false; }

  // With these shapes, all known, the destination equals source 0.
  virtual bool is_identity(Operands /*src*/) const { return false; }

  // What a neighbour's step may be merged into, bit for bit the same except where a library adds the bias in its own
  // order: the op that also adds a row, its source 2, to the last axis of the result; the op that also applies f to the
  // result. nullptr: not with this op.
  virtual std::shared_ptr<const Op> with_bias() const { return nullptr; }
  virtual std::shared_ptr<const Op> with_activation(kernels::Unary, const std::array<float, 3> &) const {
    return nullptr;
  }
  // What this op is, for such merging: an elementwise function, or a sum of two values.
  virtual bool is_unary(kernels::Unary * /*f*/, std::array<float, 3> * /*param*/) const { return false; }
  virtual bool is_add() const { return false; }

  // The op is scatter_add.
  virtual bool is_scatter_add() const { return false; }
  // Of an update of source 0 by a gradient, source 1: the same with these parts left out of the gradient; the ids and
  // rows of each follow as further sources. nullptr: the op wants all of the gradient.
  virtual std::shared_ptr<const Op> with_rows(std::vector<RowPart>) const { return nullptr; }
};

// One candidate of an op's kernel list: its name and a maker that gives nullptr where it does not apply.
struct Candidate {
  const char *name;
  std::function<std::unique_ptr<kernels::Kernel>()> make;
};
// The first candidate that is not switched off and applies; the last one always applies.
std::unique_ptr<kernels::Kernel> choose(const Site &site, std::initializer_list<Candidate> best_first);
// Names of all candidates that can be switched off: those that are not last.
const std::vector<std::string> &kernel_names();

}  // namespace dl4::ops

// A kernel whose slices are oneDNN primitives, shared by products, convolutions and LSTM.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/kernels/gemm/packed.hpp"
#include "backend/cpu/kernels/kernel.hpp"
#include "backend/cpu/kernels/onednn/dnnl_compat.hpp"
#include "backend/cpu/kernels/onednn/primitives.hpp"
#include "base/checked.hpp"

namespace dl4::kernels::onednn {

const dnnl::engine &engine();
// User-managed scratchpad: oneDNN's own aborts the process if a primitive runs on a thread other than its creator's.
const dnnl::primitive_attr &attributes();

Desc plain(const Dims &dims);  // row-major floats
Desc strided(const Dims &dims, const Dims &strides);
Desc any(const Dims &dims);  // the primitive chooses

// Location of a primitive's operand during a run.
struct Operand {
  static constexpr int in_scratch = -1, fixed = -2, first_out = 64;
  static constexpr int out(int i) { return first_out + i; }

  int name;  // DNNL_ARG_...
  Desc desc;
  int source = in_scratch;                   // of Run::in, an out(i), or one of the constants above
  int64_t offset = 0;                        // bytes
  int64_t instead = -1;                      // scratch offset to use if the argument is absent
  Memory memory = {};                        // if fixed
  std::shared_ptr<const Packed> owner = {};  // owns the bytes of `memory`
};

struct Call {
  dnnl::primitive primitive;
  std::vector<Operand> operands;
  std::shared_ptr<const void> owner = {};  // owns a shared primitive
};

using Calls = std::vector<Call>;
using Step = std::function<void(int64_t slice, const Run &r)>;  // must not throw

// Done by the slice that finishes last: `sum`, then the calls.
struct Finish {
  Step sum;
  Calls calls;
  Step after;
};

// Allocates scratch offsets, each aligned to 64 bytes.
class Scratch {
 public:
  int64_t take(int64_t bytes) {
    int64_t at = bytes_;
    bytes_ = checked_add(bytes_, round_up(bytes, 64));
    return at;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// Each slice runs `before`, its calls in order, `after`.
class DnnlKernel final : public Kernel {
 public:
  DnnlKernel(std::string name, std::vector<Calls> slices, int64_t scratch, Step before = {}, Step after = {},
             Finish finish = {});

  std::unique_ptr<Bound> bind() const override;
  void run(int64_t slice, const Run &r) const noexcept override;

 private:
  const std::vector<Calls> calls_;
  const Step before_, after_;
  const Finish finish_;
  const bool signals_wait_;
};

// Adds a scratchpad operand if the primitive needs one.
template <class PD>
void add_scratchpad(std::vector<Operand> &operands, const PD &pd, Scratch &scratch) {
  Desc d = pd.scratchpad_desc();
  if (auto bytes = static_cast<int64_t>(d.get_size()))
    operands.push_back({DNNL_ARG_SCRATCHPAD, d, Operand::in_scratch, scratch.take(bytes)});
}

template <class PD>
bool is_reference(const PD &pd) {
  return std::string(pd.impl_info_str()).find("ref") != std::string::npos;
}
// A convolution that lays out all taps of its pixels: for gradients of weights it takes ten times as long as ours.
template <class PD>
bool is_laid_out(const PD &pd) {
  return std::string(pd.impl_info_str()).starts_with("x64:gemm");
}

// A primitive and its descriptor; `primitive` is empty if only an unwanted reference implementation exists.
template <class P>
struct Made {
  typename P::primitive_desc pd;
  P primitive;
};

// The object stored under `key`, while someone holds it or a MakesPrimitives exists; else null.
std::shared_ptr<const void> find_made(const std::string &key);
void keep_made(const std::string &key, std::shared_ptr<const void> made);

// The primitive that `describe` describes, shared by all who pass the same key, which must identify all it depends on.
template <class P, class F>
std::shared_ptr<const Made<P>> share(const std::string &key, const F &describe, bool reference_too = false) {
  if (auto found = find_made(key)) return std::static_pointer_cast<const Made<P>>(found);
  auto pd = describe();
  P primitive = !reference_too && is_reference(pd) ? P() : P(pd);
  auto made = std::make_shared<const Made<P>>(Made<P>{std::move(pd), std::move(primitive)});
  keep_made(key, made);
  return made;
}

// Floats in a oneDNN layout: a packed weight.
struct PackedMemory final : Packed {
  Bytes data;
  Memory memory;  // of `data`
};

// Reorders `data` from layout `from` to `to`; shared through c.forms under a name made of `to` and `key`.
std::shared_ptr<const PackedMemory> pack(const Constant &c, int64_t offset, const Desc &from, const Desc &to,
                                         const std::string &key);

// A reorder within a run.
Call reorder(Operand from, Operand to, Scratch &scratch);

// Name of a layout: equal names mean equal bytes for equal contents. `key` must distinguish opaque layouts.
std::string name_of(const Desc &d, const std::string &key);

}  // namespace dl4::kernels::onednn

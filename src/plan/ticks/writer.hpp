// Writes a tick's Program: a value's counterpart in a tick, and what op handlers use to emit it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "ops/matched.hpp"
#include "ops/op.hpp"
#include "ops/program.hpp"
#include "plan/ticks/keys.hpp"
#include "plan/ticks/tick.hpp"

namespace dl4::plan::ticks {

inline constexpr int64_t together_steps = 32;        // combined ticks, or the maximum below
inline constexpr int64_t most_together_steps = 64;   // if all channels are few
inline constexpr int64_t least_together_steps = 16;  // minimum for the remainder
inline constexpr int64_t turned_channels = 16;       // most channels of a transposed ring

// A value of the whole Program in a tick.
struct Timed {
  enum class Kind {
    fixed,    // the same in every tick
    steps,    // `n` of its steps along `axis`
    running,  // its value over the steps so far
  };
  ops::Id v = ops::none;
  Kind kind = Kind::fixed;
  int axis = 0;
  bool rows = false;  // axis 0 combines batch and steps
  int64_t n = 0;
  // Steps: tick k has steps from k * n - late; negative ones are void. Running: number of ticks before the first with a
  // value.
  int64_t late = 0;
  // Steps: leading zeros that no tick outputs. A ring that keeps them starts with zeros.
  int64_t lead = 0;
  std::optional<Keys> keys{};  // of steps by steps

  bool has_steps() const { return kind == Kind::steps; }
};

// The tick takes too few steps; `steps` is the least that may suffice.
struct TooFew {
  int64_t steps;
};
// The tick's steps need more keys than assumed.
struct TooFewKeys {};
// Reach of the keys that each value of the whole Program introduces.
using Reaches = std::map<ops::Id, Reach>;
// The op does not give the same bits for several ticks combined.
struct Apart {};

class Writer {
  Tick result_;

 public:
  using Who = std::function<std::string(const std::string &)>;
  // at_once: number of ticks of `steps` combined, starting once all values exist.
  Writer(const ops::Program &p, size_t states, int64_t steps, int64_t at_once, const Cache &cache, Reaches &reaches,
         const Who &who);
  Tick write();

  // ---- the step being written

  ops::Emit e;
  const ops::Step &step() const { return *step_; }
  int sources() const { return static_cast<int>(step_->src.size()); }
  bool has(int i) const { return i < sources() && step_->src[static_cast<size_t>(i)] != ops::none; }
  const Timed &src(int i) const;                                                     // absent sources are fixed
  Shape shape(int i) const { return p_[step_->src[static_cast<size_t>(i)]].shape; }  // in the whole Program
  Shape result() const { return p_[step_->dst[0]].shape; }
  ops::Id now(int i) const { return has(i) ? src(i).v : ops::none; }
  // Emits the step's op on these values, or on its sources in the tick.
  std::vector<ops::Id> again(std::vector<ops::Id> src);
  std::vector<ops::Id> again();
  void set(Timed t, int dst = 0) { of_[step_->dst[static_cast<size_t>(dst)]] = t; }
  // Emits the op on its sources; the result has x's steps along that axis.
  void follows(const Timed &x, int axis);
  [[noreturn]] void refuse(const std::string &why) const;
  [[noreturn]] void refuse_mixing() const { refuse("its output at one step depends on other steps"); }
  void need_apart(bool apart = true) const {
    if (apart && at_once_ > 1) throw Apart{};
  }

  // Delays all sources with steps to the latest and returns the first; refuses different rates.
  Timed meet();
  // A source after meet().
  ops::Id met(int i) const { return met_[static_cast<size_t>(i)]; }
  // Emits the op on sources delayed to the same time; the steps of the result are along that axis.
  void on_met(int axis);
  // Refuses a source without steps whose axis `from_end` from the end is not 1.
  void need_same_at_all_steps(int i, int from_end) const;

  // ---- keys

  enum class Along { none, steps, keys, both };  // which of the result's axes a source has
  struct Met {
    Timed t;  // without a value
    std::vector<ops::Id> src;
  };
  // Delays the sources so that their steps and keys belong to the same tick; `from_end`: their axes in the result.
  Met meet_keys(const std::vector<Along> &along, int steps_from_end, int keys_from_end);
  // Requires source 0 to have all keys its steps see, with all others in this state; else refuses.
  void need_keys(Keys::Others others);
  double number(int i) const;                       // of a constant source with a single number; else NaN
  bool is_largest_of(ops::Id v, ops::Id of) const;  // for values of the whole Program
  ops::Id whole(int i) const { return step_->src[static_cast<size_t>(i)]; }

  // ---- delays

  int64_t each(const Timed &x) const { return x.n / at_once_; }  // its steps per single tick
  Timed delayed(const Timed &x, int64_t by);
  Timed aligned(const Timed &x);  // delayed so that ticks and sequence start together
  Timed without_lead(Timed x);    // with its leading zeros materialised
  // A window of `count` steps, `dilation` apart, ending one before the newest `skip` steps of x. from_zeros: steps
  // before the sequence are 0; x is aligned. by_channel: stores few channels transposed.
  ops::Id window(const Timed &x, int64_t count, int64_t dilation, int64_t skip, bool from_zeros,
                 bool by_channel = false);
  // Refuses a tick whose n is no multiple of `parts`.
  void need_parts(int64_t n, int64_t parts) const;
  ops::Id tick() {
    result_.counts = result_.counts_on = true;
    return tick_;
  }
  // int64: index of the tick's first step, for a value with n steps and this delay; 0 before there is one.
  ops::Id position(int64_t n, int64_t late);

  // ---- states

  // A ring of the latest `count` steps of x before each of the tick's. With combined ticks, the ring before all of them
  // and the new steps separately.
  struct Kept {
    ops::Id ring = ops::none, fresh = ops::none;
  };
  Kept kept(const Timed &x, int64_t count);
  const Cache &cache() const { return cache_; }
  void need_ticks_below(int64_t most) { result_.most = std::min(result_.most, most); }
  // Reads a new state; `becomes` sets its next value.
  ops::Id state(const char *name, DType dtype, const Shape &shape, double initial, Tick::State how);
  // Sets the next value of a carried state.
  void becomes(ops::Id state, ops::Id value);
  // Source i as carried state: a layer's carried value, initially one number or values constant over the steps. The
  // tick `begin` uses the initial values.
  ops::Id carried(int i, int64_t begin);
  bool is_carried(ops::Id v) const { return carried_.count(v) > 0; }

 private:
  void copy_values();
  void write_step(const ops::Step &step);
  void give_leads(const ops::Step &step);
  Tick finish();

  const ops::Program &p_;
  const size_t states_;
  const int64_t at_once_;
  const Cache cache_;
  Reaches &reaches_;
  const Who &who_;
  const ops::Step *step_ = nullptr;
  ops::PerValue<Timed> of_;
  std::vector<ops::Id> met_;
  std::vector<std::pair<ops::Id, Timed>> to_keep_;  // rings that store these when the step is written
  ops::Id tick_ = ops::none;
  std::map<ops::Id, size_t> carried_;  // inputs of the whole Program, index among the states
  std::map<ops::Id, ops::Id> next_;    // by state of the tick
  std::vector<ops::Id> made_;          // the tick's states, in order
  std::map<std::string, int> names_;
  std::map<ops::Id, ops::Id> given_;  // states by initial values given by a tick
  std::map<ops::Id, double> filled_;  // values of the whole Program that are a single repeated number
};

struct Row {
  std::type_index type;  // of the op's description (Op::description)
  void (*write)(Writer &, const void *);
  bool takes_keys;
};
template <class T, auto write>
Row row(bool takes_keys = false) {
  return {typeid(T), [](Writer &w, const void *op) { write(w, *static_cast<const T *>(op)); }, takes_keys};
}
// For ops with broadcasting. False if no source has keys.
template <class T>
bool by_keys(Writer &w, const T &op);
template <>
bool by_keys(Writer &w, const ops::MatMulOp &op);
std::span<const Row> attention_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> key_rows();
std::span<const Row> shape_rows();
std::span<const Row> window_rows();
std::span<const Row> running_rows();

}  // namespace dl4::plan::ticks

// Writes a tick's Program: what a value of the whole Program is in a tick, and what the rows of the ops ask for.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "ops/emit.hpp"
#include "ops/op.hpp"
#include "plan/ticks/keys.hpp"
#include "plan/ticks/tick.hpp"

namespace dl4::plan::ticks {

inline constexpr int64_t together_steps = 32;        // of ticks in one, or the most below
inline constexpr int64_t most_together_steps = 64;   // where all channels are few
inline constexpr int64_t least_together_steps = 16;  // of what is left
inline constexpr int64_t turned_channels = 16;       // of a ring, at most

// A value of the whole Program in a tick.
struct Timed {
  enum class Kind {
    fixed,    // the same in every tick
    steps,    // `n` of its steps along `axis`
    running,  // what it is of the steps so far
  };
  ops::Id v = ops::none;
  Kind kind = Kind::fixed;
  int axis = 0;
  bool rows = false;  // axis 0 is those of the batch and of the steps in one
  int64_t n = 0;
  // Of steps: the tick k has those from k * n - late on; the ones below 0 are nothing. Running: the ticks that come
  // before the first one that has a value.
  int64_t late = 0;
  // Of steps: the first ones are zeros that no tick gives. What reads them has zeros in its ring when the others begin.
  int64_t lead = 0;
  std::optional<Keys> keys{};  // of steps by other steps

  bool has_steps() const { return kind == Kind::steps; }
};

// The tick takes too few steps: this many are the least that might do.
struct TooFew {
  int64_t steps;
};
// The tick's steps need more keys than it was written with.
struct TooFewKeys {};
// How many those that begin with this value of the whole Program have.
using Reaches = std::map<ops::Id, Reach>;
// An op that computes the steps of several ticks in one has not the bits of so many ticks.
struct Apart {};

class Writer {
  Tick result_;

 public:
  using Who = std::function<std::string(const std::string &)>;
  // at_once: ticks of `steps` in one, which begins where all values are.
  Writer(const ops::Program &p, size_t states, int64_t steps, int64_t at_once, const Cache &cache, Reaches &reaches,
         const Who &who);
  Tick write();

  // ---- of the step that is being written

  ops::Emit e;
  const ops::Step &step() const { return *step_; }
  int sources() const { return static_cast<int>(step_->src.size()); }
  bool has(int i) const { return i < sources() && step_->src[static_cast<size_t>(i)] != ops::none; }
  const Timed &src(int i) const;                                                     // one that is absent is fixed
  Shape shape(int i) const { return p_[step_->src[static_cast<size_t>(i)]].shape; }  // in the whole Program
  Shape result() const { return p_[step_->dst[0]].shape; }
  ops::Id now(int i) const { return has(i) ? src(i).v : ops::none; }
  // The step's op on these values, or on what its sources are in the tick.
  std::vector<ops::Id> again(std::vector<ops::Id> src);
  std::vector<ops::Id> again();
  void set(Timed t, int dst = 0) { of_[step_->dst[static_cast<size_t>(dst)]] = t; }
  // The op on its sources as they are; the result has x's steps, along that axis.
  void follows(const Timed &x, int axis);
  [[noreturn]] void refuse(const std::string &why) const;
  [[noreturn]] void refuse_mixing() const { refuse("its output at one step depends on other steps"); }
  void need_apart(bool apart = true) const {
    if (apart && at_once_ > 1) throw Apart{};
  }

  // All sources that have steps, by what is later in the others' place; refuses different rates. Gives the first.
  Timed meet();
  // The sources that were delayed to meet.
  ops::Id met(int i) const { return met_[static_cast<size_t>(i)]; }
  // Refuses a source without steps that has an axis of its own `from_end` axes from the end.
  void need_same_at_all_steps(int i, int from_end) const;

  // ---- keys

  enum class Along { none, steps, keys, both };  // which axes of the result a source has
  struct Met {
    Timed t;  // without a value
    std::vector<ops::Id> src;
  };
  // The sources where their steps and keys are those of one tick. The result has them at these axes from the end.
  Met meet_keys(const std::vector<Along> &along, int steps_from_end, int keys_from_end);
  // Source 0 has all keys that its steps see, and those of all other steps are so; else refuses.
  void need_keys(Keys::Others others);
  double number(int i) const;                       // of a source that is one constant; else NaN
  bool is_largest_of(ops::Id v, ops::Id of) const;  // of values of the whole Program
  ops::Id whole(int i) const { return step_->src[static_cast<size_t>(i)]; }

  // ---- time

  int64_t each(const Timed &x) const { return x.n / at_once_; }  // its steps in one tick
  Timed delayed(const Timed &x, int64_t by);
  Timed aligned(const Timed &x);  // so that a tick begins where the sequence does
  Timed without_lead(Timed x);    // the zeros are given
  // The last of `count` steps, `dilation` apart, is the one before the newest `skip` of x. from_zeros: what lies before
  // the sequence is 0; x is aligned. by_channel: few channels lie one behind the other in what is kept.
  ops::Id window(const Timed &x, int64_t count, int64_t dilation, int64_t skip, bool from_zeros,
                 bool by_channel = false);
  // Refuses a tick that has no whole number of `parts` in n.
  void need_parts(int64_t n, int64_t parts) const;
  ops::Id tick() {
    result_.counts = result_.counts_on = true;
    return tick_;
  }
  // int64: the tick's first step of a value with n steps that is so late; 0 while there is none.
  ops::Id position(int64_t n, int64_t late);

  // ---- states

  // The ring of the latest `count` steps of x before each of the tick's. Several ticks in one find it as it was before
  // them, with their own steps beside it.
  struct Kept {
    ops::Id ring = ops::none, fresh = ops::none;
  };
  Kept kept(const Timed &x, int64_t count);
  const Cache &cache() const { return cache_; }
  void need_ticks_below(int64_t most) { result_.most = std::min(result_.most, most); }
  // What a tick finds; `becomes` follows.
  ops::Id state(const char *name, DType dtype, const Shape &shape, double initial, Tick::State how);
  // What a layer carries becomes what the layer says.
  void becomes(ops::Id state, ops::Id value);
  // Source i is what a layer carries, or at first a number throughout or values that are the same at all steps: what a
  // tick finds, with these in tick `begin`.
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
  std::vector<std::pair<ops::Id, Timed>> to_keep_;  // rings that take in these when the step is written
  ops::Id tick_ = ops::none;
  std::map<ops::Id, size_t> carried_;  // inputs of the whole Program, by number among the states
  std::map<ops::Id, ops::Id> next_;    // by state of the tick
  std::vector<ops::Id> made_;          // states of the tick, in order
  std::map<std::string, int> names_;
  std::map<ops::Id, ops::Id> given_;  // states, by what a tick finds that begins with given values
  std::map<ops::Id, double> filled_;  // values of the whole Program that are one number throughout
};

struct Row {
  std::type_index type;  // of what the op says of itself (Op::description)
  void (*write)(Writer &, const void *);
  bool takes_keys;
};
template <class T, auto write>
Row row(bool takes_keys = false) {
  return {typeid(T), [](Writer &w, const void *op) { write(w, *static_cast<const T *>(op)); }, takes_keys};
}
// Of an op with broadcasting. False: it does not meet steps with keys.
template <class T>
bool by_keys(Writer &w, const T &op);
std::span<const Row> attention_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> key_rows();
std::span<const Row> shape_rows();
std::span<const Row> window_rows();
std::span<const Row> running_rows();

}  // namespace dl4::plan::ticks

// What a session runs: a whole Program, one in stages if it computes sizes, or a stream's ticks.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/stages.hpp"
#include "runtime/stream.hpp"

namespace dl4::runtime {

// Receives outputs for which the caller passed no memory.
class Wanted {
 public:
  virtual bool has(size_t i) const = 0;
  // Takes output i and returns a view of it.
  virtual View take(size_t i, Tensor t) = 0;

 protected:
  ~Wanted() = default;
};

// Runs a core whose output shapes are known in advance: an Executable or a Stream. wanted: null if `out` is complete.
// Returns what its run() does.
template <class Core>
auto run_on(Core &core, size_t outputs, std::span<const View> in, std::span<View> out, Wanted *wanted,
            const Memory &memory, const std::atomic<int32_t> *cancel) {
  if (!wanted) return core.run(in, out, cancel);  // run() checks
  core.check(in);
  check_count(out, outputs);
  const std::vector<ops::Operand> expected = core.outputs(in, cancel);
  int64_t bytes = 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (wanted->has(i))
      bytes = checked_add(bytes, checked_mul(expected[i].shape.elements(), size_of(expected[i].dtype)));
  core.need_room(bytes);
  for (size_t i = 0; i < out.size(); ++i)
    if (wanted->has(i)) out[i] = wanted->take(i, memory.tensor(expected[i].dtype, expected[i].shape));
  return core.run(in, out, cancel);
}

// Thread-safe, unless the Program writes states.
class Runner {
 public:
  explicit Runner(std::shared_ptr<Executable> program) : program_(std::move(program)) {}
  virtual ~Runner() = default;
  // Inputs and outputs are those of the Program. wanted: null if `out` has memory for all outputs. Returns what keeps
  // the strings that the run made.
  virtual MadeStrings run(std::span<const View> in, std::span<View> out, Wanted *wanted, const Memory &memory,
                          const std::atomic<int32_t> *cancel) = 0;
  // Dtypes and shapes of the outputs for these input shapes; sizes computed by a run are free.
  virtual std::vector<ops::Operand> outputs(std::span<const Shape> in) const { return program_->outputs(in); }
  virtual std::vector<Executable *> executables() const { return {program_.get()}; }

 protected:
  const std::shared_ptr<Executable> program_;
};

// before: called before each run; may be null.
std::unique_ptr<Runner> as_whole(std::shared_ptr<Executable> program, std::function<void(Executable &)> before);
// program: the whole program, which provides the shapes.
std::unique_ptr<Runner> in_stages(std::shared_ptr<Executable> program, std::unique_ptr<const Stages> stages);
std::unique_ptr<Runner> as_stream(std::shared_ptr<Executable> program, const Ticks &ticks);

}  // namespace dl4::runtime

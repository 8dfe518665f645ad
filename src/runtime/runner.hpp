// What a session runs: a Program as a whole, in stages where it computes sizes, or as the ticks of a stream.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/stages.hpp"
#include "runtime/stream.hpp"

namespace dl4::runtime {

// The outputs that the caller brought no memory for.
class Wanted {
 public:
  virtual bool has(size_t i) const = 0;
  // Takes output i and gives a view of it.
  virtual View take(size_t i, Tensor t) = 0;

 protected:
  ~Wanted() = default;
};

// Runs a core whose outputs are known before it runs: an Executable or a Stream. wanted: null where `out` has them all.
template <class Core>
void run_on(Core &core, size_t outputs, std::span<const View> in, std::span<View> out, Wanted *wanted,
            const Memory &memory, const std::atomic<int32_t> *cancel) {
  if (!wanted) return core.run(in, out, cancel);  // which checks
  core.check(in);
  if (out.size() != outputs) fail(Code::invalid_argument, "expected ", outputs, " outputs, got ", out.size());
  const std::vector<ops::Operand> expected = core.outputs(in, cancel);
  int64_t bytes = 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (wanted->has(i))
      bytes = checked_add(bytes, checked_mul(expected[i].shape.elements(), size_of(expected[i].dtype)));
  core.need_room(bytes);
  for (size_t i = 0; i < out.size(); ++i)
    if (wanted->has(i)) out[i] = wanted->take(i, memory.tensor(expected[i].dtype, expected[i].shape));
  core.run(in, out, cancel);
}

// Any number of threads may run one at once, unless the Program writes states.
class Runner {
 public:
  virtual ~Runner() = default;
  // Inputs and outputs are those of the Program. wanted: null where `out` has memory for all outputs.
  virtual void run(std::span<const View> in, std::span<View> out, Wanted *wanted, const Memory &memory,
                   const std::atomic<int32_t> *cancel) = 0;
  // Dtypes and shapes of the outputs for inputs of these shapes; sizes that a run computes are free.
  virtual std::vector<ops::Operand> outputs(std::span<const Shape> in) const = 0;
  virtual std::vector<Executable *> executables() const = 0;
};

// before: called before each run, null where there is nothing to do.
std::unique_ptr<Runner> as_whole(std::shared_ptr<Executable> program, std::function<void(Executable &)> before);
// program: the same one as a whole, which knows its shapes.
std::unique_ptr<Runner> in_stages(std::shared_ptr<Executable> program, std::unique_ptr<const Stages> stages);
std::unique_ptr<Runner> as_stream(std::shared_ptr<Executable> program, const Ticks &ticks);

}  // namespace dl4::runtime

#include "runtime/runner.hpp"

#include <algorithm>

#include "base/float_mode.hpp"

namespace dl4::runtime {
namespace {

class Whole final : public Runner {
 public:
  Whole(std::shared_ptr<Executable> program, std::function<void(Executable &)> before)
      : Runner(std::move(program)), before_(std::move(before)) {}
  MadeStrings run(std::span<const View> in, std::span<View> out, Wanted *wanted, const Memory &memory,
                  const std::atomic<int32_t> *cancel) override {
    if (before_) before_(*program_);
    if (!wanted) return program_->run(in, out, cancel);  // the shortest path: calls of microseconds take it
    return run_on(*program_, program_->program().outputs.size(), in, out, wanted, memory, cancel);
  }

 private:
  const std::function<void(Executable &)> before_;
};

// Output sizes are known only after the run.
class InStages final : public Runner {
 public:
  InStages(std::shared_ptr<Executable> program, std::unique_ptr<const Stages> stages)
      : Runner(std::move(program)), stages_(std::move(stages)) {}
  MadeStrings run(std::span<const View> in, std::span<View> out, Wanted *wanted, const Memory &memory,
                  const std::atomic<int32_t> *cancel) override {
    const size_t outputs = program_->program().outputs.size();
    check_count(out, outputs);
    const auto is_wanted = [&](size_t i) { return wanted && wanted->has(i); };
    for (size_t i = 0; i < outputs; ++i)
      if (!is_wanted(i)) check_dense(i, out[i]);
    MadeStrings made;
    std::vector<Tensor> whole = stages_->run(in, memory, cancel, made);
    for (size_t i = 0; i < outputs; ++i)
      if (!is_wanted(i)) check_output(i, out[i], whole[i].dtype, whole[i].shape);
    for (size_t i = 0; i < outputs; ++i) {
      if (is_wanted(i))
        wanted->take(i, std::move(whole[i]));
      else
        std::ranges::copy(whole[i].memory(), static_cast<std::byte *>(out[i].data));
    }
    return made;
  }
  std::vector<Executable *> executables() const override {
    std::vector<Executable *> all;
    stages_->each([&](Executable &e) { all.push_back(&e); });
    return all;
  }

 private:
  const std::unique_ptr<const Stages> stages_;
};

// Runs all steps as a new stream.
class AsStream final : public Runner {
 public:
  AsStream(std::shared_ptr<Executable> program, const Ticks &ticks) : Runner(std::move(program)), ticks_(ticks) {}
  MadeStrings run(std::span<const View> in, std::span<View> out, Wanted *wanted, const Memory &memory,
                  const std::atomic<int32_t> *cancel) override {
    int64_t batch = 1;
    const std::vector<bool> &sequences = ticks_.how->sequences;
    for (size_t i = 0; i < std::min(sequences.size(), in.size()); ++i)
      if (sequences[i] && in[i].shape.rank() > 0) batch = std::max<int64_t>(1, in[i].shape[0]);
    FlushToZero flush;
    Stream whole(ticks_, batch);
    run_on(whole, whole.outputs_count(), in, out, wanted, memory, cancel);
    return {};  // a stream gives none
  }
  std::vector<ops::Operand> outputs(std::span<const Shape> in) const override {
    std::vector<ops::Operand> all = program_->outputs(in);
    int64_t steps = 0;
    for (size_t i = in.size(); i-- > 0;)
      if (ticks_.how->sequences[i]) steps = in[i][1];
    for (size_t j = 0; j < all.size(); ++j)
      if (ticks_.how->outputs[j].is_sequence) all[j].shape = all[j].shape.with(1, ticks_.how->given(j, steps));
    return all;
  }

 private:
  const Ticks ticks_;
};

}  // namespace

std::unique_ptr<Runner> as_whole(std::shared_ptr<Executable> program, std::function<void(Executable &)> before) {
  return std::make_unique<Whole>(std::move(program), std::move(before));
}
std::unique_ptr<Runner> in_stages(std::shared_ptr<Executable> program, std::unique_ptr<const Stages> stages) {
  return std::make_unique<InStages>(std::move(program), std::move(stages));
}
std::unique_ptr<Runner> as_stream(std::shared_ptr<Executable> program, const Ticks &ticks) {
  return std::make_unique<AsStream>(std::move(program), ticks);
}

}  // namespace dl4::runtime

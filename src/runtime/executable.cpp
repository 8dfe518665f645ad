// Checks a run's arguments, binds them to a plan and a frame, and calls execute().
#include "runtime/executable.hpp"

#include <cmath>

#include "base/float_mode.hpp"

namespace dl4::runtime {
namespace {

// Copies a strided view to dense memory.
void make_dense(const View &v, const void *data, std::byte *to) {
  kernels::copy_strided(size_of(v.dtype), v.shape.rank(), v.shape.begin(), data, v.strides, to,
                        dense_strides(v.shape).data());
}

}  // namespace

Executable::Executable(ops::Program program, std::vector<Tensor> states, std::shared_ptr<plan::Packs> packs,
                       Options options)
    : program_(std::move(program)),
      states_(std::move(states)),
      packs_(std::move(packs)),
      options_(std::move(options)),
      plans_(options_.memory, options_.plan_bytes) {
  states_.resize(program_.states.size());
  if (options_.fill_nan) options_.plan.guard_bytes = 64;
}

std::shared_ptr<Executable> Executable::make(ops::Program program, std::vector<Tensor> states,
                                             std::shared_ptr<plan::Packs> packs, const Options &options) {
  auto made = std::make_shared<Executable>(std::move(program), std::move(states), std::move(packs), options);
  if (options.executables) options.executables->add(made);
  return made;
}

PlanCache::Use Executable::use(std::span<const View> in, const std::atomic<int32_t> *cancel) {
  if (auto found = plans_.find(in)) return std::move(*found);
  std::lock_guard lock(specialise_);
  if (auto found = plans_.find(in)) return std::move(*found);
  std::vector<Shape> shapes;
  for (const View &v : in) shapes.push_back(v.shape);
  std::vector<const Tensor *> known;
  for (const Tensor &t : states_) known.push_back(options_.constant_states ? &t : nullptr);
  if (options_.run_counter) known[*options_.run_counter] = nullptr;
  plan::Options options = options_.plan;
  options.cancel = cancel;
  auto plan = plan::specialise(program_, shapes, known, options, packs_.get());
  need_alike(shapes, plan->outputs);
  return plans_.add(std::move(shapes), std::move(plan));
}

std::vector<ops::Operand> Executable::outputs(std::span<const View> in, const std::atomic<int32_t> *cancel) {
  return use(in, cancel)->plan->outputs;
}

std::vector<ops::Operand> Executable::outputs(std::span<const Shape> in) const {
  const ops::Program p = plan::resolve(program_, in);
  std::vector<ops::Operand> out;
  for (ops::Id v : p.outputs) out.push_back({p[v].dtype, p[v].shape});
  need_alike(in, out);
  return out;
}

void Executable::need_alike(std::span<const Shape> in, std::span<const ops::Operand> out) const {
  for (auto [i, j] : options_.alike)
    if (in[i] != out[j].shape)
      fail(Code::shape_mismatch, "input \"", program_[program_.inputs[i]].name, "\": expected shape ", out[j].shape,
           " as output ", j, " has, got ", in[i]);
}

void Executable::check(std::span<const View> in) const {
  const auto &p = program_;
  if (in.size() != p.inputs.size())
    fail(Code::invalid_argument, "expected ", p.inputs.size(), " inputs, got ", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const ops::Value &v = p[p.inputs[i]];
    if (in[i].dtype != v.dtype)
      fail(Code::shape_mismatch, "input \"", v.name, "\": expected ", v.dtype, ", got ", in[i].dtype);
  }
}

MadeStrings Executable::run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel) {
  Ready ready = prepare(in, out, cancel);
  Frame &frame = *ready.frame;
  const int64_t most = options_.plan.memory_limit - ready.cached->plan->arena_bytes;
  frame.strings_left = most;
  for (StringRoom *room : frame.rooms) room->left = &frame.strings_left;
  run(ready, in, out, cancel);
  MadeStrings made;
  for (StringRoom *room : frame.rooms) {
    if (room->made) made.blocks.push_back(std::move(room->made));
    room->left = nullptr;
  }
  made.bytes = most - frame.strings_left;
  finish(std::move(ready));
  return made;
}

void Executable::run(Ready &ready, std::span<const View> in, std::span<const View> out,
                     const std::atomic<int32_t> *cancel) {
  FlushToZero flush;
  kernels::SingleThreaded single;
  place(ready, in, out);
  bind_states(ready);
  run(ready, cancel);
}

void Executable::refuse_overlap(const CachedPlan &cached, std::span<const View> in, std::span<const View> out) const {
  for (size_t j = 0; j < out.size(); ++j) {
    // Outputs are written while inputs are still read; strided ones have been copied before.
    const int64_t n = cached.out_elements[j];
    for (size_t i = 0; i < in.size(); ++i)
      if (!in[i].strides && overlap(out[j], n, in[i], cached.in_elements[i]))
        fail(Code::invalid_argument, "output ", j, " overlaps input ", i, " (\"", program_[program_.inputs[i]].name,
             "\") in memory");
    for (size_t i = 0; i < j; ++i)
      if (overlap(out[j], n, out[i], cached.out_elements[i]))
        fail(Code::invalid_argument, "output ", j, " overlaps output ", i, " in memory");
  }
}

Executable::Ready Executable::prepare(std::span<const View> in, std::span<const View> out,
                                      const std::atomic<int32_t> *cancel, bool apart) {
  check(in);
  check_count(out, program_.outputs.size());
  PlanCache::Use cached = use(in, cancel);
  for (size_t j = 0; j < out.size(); ++j) {
    const ops::Operand &o = cached->plan->outputs[j];
    check_output(j, out[j], o.dtype, o.shape);
    check_dense(j, out[j]);
  }
  if (!apart) refuse_overlap(*cached, in, out);

  int64_t total = cached->plan->arena_bytes;
  for (const View &v : in)
    if (v.strides) total = checked_add(total, checked_mul(v.shape.elements(), size_of(v.dtype)));
  if (total > options_.plan.memory_limit)
    fail(Code::out_of_memory, "this run and dense copies of its inputs take ", total, " bytes, the memory limit is ",
         options_.plan.memory_limit);
  std::unique_ptr<Frame> frame = plans_.take_frame(cached);
  return {std::move(cached), std::move(frame)};
}

void Executable::place(Ready &ready, std::span<const View> in, std::span<const View> out) {
  Frame &frame = *ready.frame;
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i].strides)
      stage(ready, i, in[i], in[i].data);
    else
      frame.in[i] = static_cast<std::byte *>(in[i].data);
  for (size_t j = 0; j < out.size(); ++j) frame.out[j] = static_cast<std::byte *>(out[j].data);
}

void Executable::stage(Ready &ready, size_t i, const View &in, const void *data) {
  Frame &frame = *ready.frame;
  if (!frame.staging[i])
    frame.staging[i] = options_.memory->allocate(checked_mul(in.shape.elements(), size_of(in.dtype)));
  frame.in[i] = frame.staging[i].get();
  make_dense(in, data, frame.in[i]);
}

void Executable::bind_states(Ready &ready) {
  const CachedPlan &cached = *ready.cached;
  Frame &frame = *ready.frame;
  for (size_t k = cached.callers; k < cached.outside.size(); ++k) {
    const CachedPlan::Outside &o = cached.outside[k];
    const auto i = static_cast<size_t>(o.index);
    std::byte *base = options_.run_counter == i ? reinterpret_cast<std::byte *>(&frame.number) : states_[i].data.get();
    frame.args[o.arg] = base + o.offset;
  }
}

void Executable::need_room(int64_t bytes) const {
  if (bytes > options_.plan.memory_limit)
    fail(Code::out_of_memory, "the outputs take ", bytes, " bytes, the memory limit is ", options_.plan.memory_limit);
}

std::string Executable::describe() {
  std::string s = text("program\n", program_);
  std::lock_guard lock(specialise_);
  plans_.each([&](const CachedPlan &c) {
    s += "plan for";
    for (const Shape &shape : c.key) s += text(' ', shape);
    s += text(": ", c.plan->to_string());
    if (!options_.profile) return;
    for (size_t step = 0; step < c.plan->steps.size(); ++step) {
      int64_t runs = c.times[step].runs, each = runs ? c.times[step].nanoseconds / runs : 0;
      s += text("  ", each, " ns  ", c.plan->steps[step].text, '\n');
    }
  });
  return s;
}

Json Executable::plans() {
  Json all = Json::array();
  std::lock_guard lock(specialise_);
  plans_.each([&](const CachedPlan &c) {
    Json inputs = Json::array(), steps = Json::array();
    for (const Shape &shape : c.key) inputs.push_back(shape.dims());
    for (size_t i = 0; i < c.plan->steps.size(); ++i) {
      const plan::PlanStep &step = c.plan->steps[i];
      Json j{{"layer", step.scope}, {"kernel", step.kernel->name}, {"slices", step.kernel->slices}};
      if (!step.choices.empty()) {
        Json candidates = Json::array();
        for (const auto &[name, microseconds] : step.choices.back())
          if (std::isfinite(microseconds)) candidates.push_back({{"kernel", name}, {"microseconds", microseconds}});
        j["candidates"] = std::move(candidates);
      }
      if (options_.profile) {
        j["runs"] = c.times[i].runs.load();
        j["nanoseconds"] = c.times[i].nanoseconds.load();
      }
      steps.push_back(std::move(j));
    }
    all.push_back({{"inputs", std::move(inputs)}, {"arena_bytes", c.plan->arena_bytes}, {"steps", std::move(steps)}});
  });
  return all;
}

std::shared_ptr<Executable::Kept> Executable::make_kept() {
  auto made = std::make_shared<Kept>();
  std::lock_guard lock(kept_mutex_);
  if (kept_.size() == kept_.capacity()) std::erase_if(kept_, [](const auto &k) { return k.expired(); });
  kept_.push_back(made);
  return made;
}

void Executable::trim() {
  std::vector<std::shared_ptr<Kept>> kept;
  {
    std::lock_guard lock(kept_mutex_);
    for (const auto &weak : kept_)
      if (auto k = weak.lock()) kept.push_back(std::move(k));
  }
  for (const auto &k : kept) k->take();
  std::lock_guard lock(specialise_);
  plans_.trim();
}

void Executables::add(const std::shared_ptr<Executable> &executable) {
  std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const auto &s) { return s.expired(); });
  all_.push_back(executable);
}

void Executables::trim() {
  std::vector<std::shared_ptr<Executable>> live;
  {
    std::lock_guard lock(mutex_);
    for (const auto &weak : all_)
      if (auto s = weak.lock()) live.push_back(std::move(s));
  }
  for (const auto &s : live) s->trim();
}

}  // namespace dl4::runtime

// Plan cache, frames, and the loop over the steps.
#include "runtime/session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/float_mode.hpp"
#include "kernels/movement.hpp"
#include "kernels/single_threaded.hpp"

namespace dl4::runtime {
namespace {

constexpr size_t max_plans = 64, max_idle_frames = 16;
constexpr unsigned char guard_byte = 0xA5;
constexpr int64_t changing = INT64_MIN / 2;  // added to an entry's users while its plan is replaced

using Region = plan::Place::Region;

// Copies a strided view to dense memory.
void make_dense(const View &v, std::byte *to) {
  kernels::copy_strided(size_of(v.dtype), v.shape.rank(), v.shape.begin(), v.data, v.strides, to,
                        dense_strides(v.shape).data());
}

// Do two dense views share memory?
bool overlap(const View &a, const View &b) {
  const View &low = a.data < b.data ? a : b, &high = a.data < b.data ? b : a;
  const auto *end = static_cast<const std::byte *>(low.data) + low.shape.elements() * size_of(low.dtype);
  return high.data < end && high.shape.elements() > 0;
}

// Before step `next`, after step `last`: guards of buffers that ended in between must be whole, those that begin are
// set.
void move_guards(const std::vector<plan::Guard> &guards, int32_t last, int32_t next, std::byte *arena) {
  for (const plan::Guard &g : guards) {
    if (g.last < last || g.last >= next) continue;
    for (int64_t i = 0; i < g.size; ++i)
      if (static_cast<unsigned char>(arena[g.offset + i]) != guard_byte)
        fail(Code::internal, "a kernel wrote past its buffer, at arena offset ", g.offset + i, ", by step ", g.last);
  }
  for (const plan::Guard &g : guards)
    if (g.first > last && g.first <= next) std::memset(arena + g.offset, guard_byte, static_cast<size_t>(g.size));
}

}  // namespace

// One run in flight: arena, bound arguments, kernels' own objects.
struct Session::Frame {
  Frame(std::atomic<int64_t> &all, int64_t bytes) : all_(all), bytes_(bytes) {
    all_.fetch_add(bytes_, std::memory_order_relaxed);
  }
  ~Frame() { all_.fetch_sub(bytes_, std::memory_order_relaxed); }
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  Bytes arena;
  std::vector<void *> args;                            // of all steps, one after the other
  std::vector<std::unique_ptr<kernels::Bound>> bound;  // by step
  std::vector<Bytes> staging;                          // by input: where a strided one is made dense
  kernels::Report report;

 private:
  std::atomic<int64_t> &all_;
  const int64_t bytes_;
};

struct Session::Cached {
  // Runs that look at or hold this entry; below zero while it is being changed, and then it is no one's.
  std::atomic<int64_t> users{0};
  std::unique_ptr<const plan::Plan> plan;
  std::vector<Shape> key;
  std::vector<size_t> first_arg;  // by step
  struct Outside {
    size_t arg;
    Region region;
    int32_t index;
    int64_t offset;
  };
  std::vector<Outside> outside;  // arguments that lie in the caller's or the owner's memory
  std::array<std::atomic<Frame *>, max_idle_frames> idle{};
  std::unique_ptr<StepTime[]> times;
  std::atomic<int64_t> last_used{0};

  ~Cached() { drop_frames(); }
  void drop_frames() {
    for (auto &slot : idle) delete slot.exchange(nullptr);
  }

  std::unique_ptr<Frame> take(const Memory &memory, std::atomic<int64_t> &all) {
    for (auto &slot : idle)
      if (Frame *f = slot.load(std::memory_order_relaxed) ? slot.exchange(nullptr, std::memory_order_acquire) : nullptr)
        return std::unique_ptr<Frame>(f);
    auto frame = std::make_unique<Frame>(all, plan->arena_bytes);
    frame->arena = memory.allocate(plan->arena_bytes);
    for (const auto &step : plan->steps) {
      for (const auto &place : step.args) frame->args.push_back(address(*frame, place));
      frame->args.push_back(address(*frame, step.scratch));
    }
    NoFork whole;  // the libraries below have locks of their own
    for (const auto &step : plan->steps) frame->bound.push_back(step.kernel->bind());
    frame->staging.resize(key.size());
    return frame;
  }
  void give_back(std::unique_ptr<Frame> frame, bool one_is_enough) {
    for (auto &slot : idle) {
      Frame *none = nullptr;
      if (one_is_enough && &slot != &idle[0]) return;
      if (slot.compare_exchange_strong(none, frame.get(), std::memory_order_release, std::memory_order_relaxed)) {
        (void)frame.release();
        return;
      }
    }
  }
  void *address(const Frame &frame, const plan::Place &place) const {
    if (place.region == Region::arena) return frame.arena.get() + place.offset;
    if (place.region == Region::constant)
      return plan->constants[static_cast<size_t>(place.index)].data.get() + place.offset;
    return nullptr;
  }
};

// Keeps a cached plan from being changed, or owns one for which there was no room.
class Session::Use {
 public:
  explicit Use(Cached &c) : cached_(&c), held_(c.users.fetch_add(1, std::memory_order_acquire) >= 0) {}
  explicit Use(std::unique_ptr<Cached> own) : Use(*own) { own_ = std::move(own); }
  Use(Use &&o) noexcept : own_(std::move(o.own_)), cached_(o.cached_), held_(o.held_) { o.cached_ = nullptr; }
  ~Use() {
    if (cached_) cached_->users.fetch_sub(1, std::memory_order_release);
  }
  bool fits(std::span<const Shape> inputs) const {
    return held_ && cached_->plan && std::equal(inputs.begin(), inputs.end(), cached_->key.begin(), cached_->key.end());
  }
  Cached *operator->() const { return cached_; }
  Cached &operator*() const { return *cached_; }

 private:
  std::unique_ptr<Cached> own_;
  Cached *cached_;
  bool held_;
};

Session::Session(ops::Program program, std::vector<Tensor> states, std::shared_ptr<ops::Packs> packs, Options options)
    : program_(std::move(program)),
      states_(std::move(states)),
      packs_(std::move(packs)),
      options_(std::move(options)),
      plans_(std::make_unique<Cached[]>(max_plans)) {
  if (options_.fill_nan) options_.plan.guard_bytes = 64;
}

Session::~Session() = default;

std::shared_ptr<Session> Session::make(ops::Program program, std::vector<Tensor> states,
                                       std::shared_ptr<ops::Packs> packs, const Options &options) {
  auto s = std::make_shared<Session>(std::move(program), std::move(states), std::move(packs), options);
  if (options.sessions) options.sessions->add(s);
  return s;
}

Session::Use Session::use(std::span<const Shape> inputs) {
  auto find = [&]() -> std::optional<Use> {
    for (size_t i = 0; i < max_plans; ++i) {
      Use u(plans_[i]);
      if (u.fits(inputs)) return u;
      if (!u->last_used.load(std::memory_order_relaxed)) return std::nullopt;  // entries are filled in order
    }
    return std::nullopt;
  };
  std::optional<Use> found = find();
  if (!found) {
    std::lock_guard lock(specialise_);
    if (auto again = find()) found.emplace(std::move(*again));
    if (!found) {
      std::vector<const Tensor *> known;
      for (const Tensor &t : states_) known.push_back(options_.constant_states ? &t : nullptr);
      auto plan = plan::specialise(program_, inputs, known, options_.plan, packs_.get());
      std::vector<Shape> key(inputs.begin(), inputs.end());
      std::vector<size_t> first_arg;
      std::vector<Cached::Outside> outside;
      size_t arg = 0;
      for (const auto &step : plan->steps) {
        first_arg.push_back(arg);
        for (const auto &place : step.args) {
          if (place.region == Region::input || place.region == Region::output || place.region == Region::state)
            outside.push_back({arg, place.region, place.index, place.offset});
          ++arg;
        }
        ++arg;  // scratch
      }
      auto times = std::make_unique<StepTime[]>(plan->steps.size());
      Cached *room = make_room();
      auto own = room ? nullptr : std::make_unique<Cached>();
      Cached &c = room ? *room : *own;  // from here on nothing throws
      c.key = std::move(key);
      c.first_arg = std::move(first_arg);
      c.outside = std::move(outside);
      c.times = std::move(times);
      c.plan = std::move(plan);
      c.last_used.store(clock_.fetch_add(1) + 1, std::memory_order_relaxed);
      if (room) {
        c.users.fetch_add(1 - changing, std::memory_order_acq_rel);
        found.emplace(c);
        c.users.fetch_sub(1, std::memory_order_release);  // the one that kept it from being let go until here
      } else {
        found.emplace(std::move(own));
      }
    }
  }
  // The clock ticks once a plan, not once a call: callers of one plan then write nothing that they share here.
  int64_t now = clock_.load(std::memory_order_relaxed);
  if ((*found)->last_used.load(std::memory_order_relaxed) != now)
    (*found)->last_used.store(now, std::memory_order_relaxed);
  return std::move(*found);
}

// Marks an entry as being changed, unless it is in use.
bool Session::seize(Cached &c) {
  int64_t none = 0;
  return c.users.compare_exchange_strong(none, changing, std::memory_order_acq_rel);
}

// An entry that is free or, of those not in use, was least recently used, marked as being changed; null when all are in
// use.
Session::Cached *Session::make_room() {
  for (;;) {
    Cached *oldest = nullptr, *empty = nullptr;
    for (size_t i = 0; i < max_plans; ++i) {
      Cached &c = plans_[i];
      if (!c.plan) {
        if (!empty) empty = &c;
      } else if (c.users.load() == 0 && (!oldest || c.last_used.load() < oldest->last_used.load())) {
        oldest = &c;
      }
    }
    bool fits = frame_bytes_.load(std::memory_order_relaxed) <= options_.plan_bytes;
    if (empty && fits && seize(*empty)) return empty;
    if (!oldest) return empty && seize(*empty) ? empty : nullptr;
    if (!seize(*oldest)) continue;
    oldest->drop_frames();
    oldest->plan.reset();
    if (fits || !empty) return oldest;
    oldest->users.fetch_sub(changing, std::memory_order_release);
  }
}

std::vector<ops::Operand> Session::outputs(std::span<const Shape> inputs) { return use(inputs)->plan->outputs; }

void Session::check(std::span<const View> in) const {
  const auto &p = program_;
  if (in.size() != p.inputs.size())
    fail(Code::invalid_argument, "expected ", p.inputs.size(), " inputs, got ", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const ops::Value &v = p[p.inputs[i]];
    if (in[i].dtype != v.dtype)
      fail(Code::shape_mismatch, "input \"", v.name, "\": expected ", v.dtype, ", got ", in[i].dtype);
  }
}

void Session::run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel) {
  const auto &p = program_;
  check(in);
  if (out.size() != p.outputs.size())
    fail(Code::invalid_argument, "expected ", p.outputs.size(), " outputs, got ", out.size());
  std::array<Shape, 16> few;
  std::vector<Shape> many(in.size() > few.size() ? in.size() : 0);
  std::span<Shape> shapes = in.size() > few.size() ? std::span(many) : std::span(few).first(in.size());
  for (size_t i = 0; i < in.size(); ++i) shapes[i] = in[i].shape;
  Use cached = use(shapes);
  for (size_t j = 0; j < out.size(); ++j) {
    const ops::Operand &o = cached->plan->outputs[j];
    if (out[j].dtype != o.dtype || out[j].shape != o.shape)
      fail(Code::shape_mismatch, "output ", j, ": expected ", o.dtype, ' ', o.shape, ", got ", out[j].dtype, ' ',
           out[j].shape);
    if (out[j].strides) fail(Code::unsupported, "output ", j, ": expected a dense tensor, got a strided one");
    // Outputs are written while inputs are still read; a strided one has been copied by then.
    for (size_t i = 0; i < in.size(); ++i)
      if (!in[i].strides && overlap(out[j], in[i]))
        fail(Code::invalid_argument, "output ", j, " overlaps input ", i, " (\"", p[p.inputs[i]].name, "\") in memory");
    for (size_t i = 0; i < j; ++i)
      if (overlap(out[j], out[i])) fail(Code::invalid_argument, "output ", j, " overlaps output ", i, " in memory");
  }

  std::unique_ptr<Frame> frame = cached->take(*options_.memory, frame_bytes_);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].strides) continue;
    int64_t bytes = in[i].shape.elements() * size_of(in[i].dtype);
    if (!frame->staging[i]) frame->staging[i] = options_.memory->allocate(bytes);
    make_dense(in[i], frame->staging[i].get());
  }
  for (const Cached::Outside &o : cached->outside) {
    auto i = static_cast<size_t>(o.index);
    std::byte *base = nullptr;
    if (o.region == Region::state)
      base = states_[i].data.get();
    else if (o.region == Region::output)
      base = static_cast<std::byte *>(out[i].data);
    else
      base = in[i].strides ? frame->staging[i].get() : static_cast<std::byte *>(in[i].data);
    frame->args[o.arg] = base + o.offset;
  }
  if (options_.fill_nan) std::memset(frame->arena.get(), 0xFF, static_cast<size_t>(cached->plan->arena_bytes));
  execute(*cached, *frame, cancel);
  cached->give_back(std::move(frame), frame_bytes_.load(std::memory_order_relaxed) > options_.plan_bytes);
}

void Session::execute(const Cached &cached, Frame &frame, const std::atomic<int32_t> *cancel) {
  FlushToZero flush;
  kernels::SingleThreaded single;
  frame.report.fault.store(kernels::Fault::none, std::memory_order_relaxed);
  const auto &steps = cached.plan->steps;
  for (size_t s = 0; s < steps.size(); ++s) {
    const kernels::Kernel &kernel = *steps[s].kernel;
    void *const *args = frame.args.data() + cached.first_arg[s];
    const kernels::Run run{args, args[steps[s].args.size()], frame.bound[s].get(), &frame.report};
    if (options_.fill_nan)
      move_guards(cached.plan->guards, s ? steps[s - 1].number : -1, steps[s].number, frame.arena.get());
    std::chrono::steady_clock::time_point start;
    if (options_.profile) start = std::chrono::steady_clock::now();
    if (kernel.slices * kernel.phases == 1) {
      kernel.run(0, run);
    } else {
      auto slice = [&](int64_t i) noexcept { kernel.run(i, run); };
      options_.crew->run(kernel.slices, slice, kernel.phases);
    }
    if (options_.profile) {
      auto spent = std::chrono::steady_clock::now() - start;
      cached.times[s].nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
      ++cached.times[s].runs;
    }
    if (auto fault = frame.report.fault.load(std::memory_order_relaxed); fault != kernels::Fault::none) {
      int64_t value = frame.report.value.load(std::memory_order_relaxed);
      std::string who = steps[s].scope.empty() ? steps[s].kernel->name : "layer \"" + steps[s].scope + "\"";
      switch (fault) {
        case kernels::Fault::index_out_of_range:
          fail(Code::invalid_argument, who, ": index ", value, " is out of range, expected at least 0 and less than ",
               frame.report.end.load(std::memory_order_relaxed));
        case kernels::Fault::not_finite:
          fail(Code::numeric, who, " is NaN or infinite");
        default:
          fail(Code::internal, who, ": ", steps[s].kernel->name, " failed with status ", value);
      }
    }
    if (cancel && cancel->load(std::memory_order_relaxed))
      fail(Code::cancelled, "cancelled after step ", s + 1, " of ", steps.size());
  }
  if (options_.fill_nan && !steps.empty())
    move_guards(cached.plan->guards, steps.back().number, INT32_MAX, frame.arena.get());
}

std::string Session::describe() {
  std::string s = text("program\n", program_);
  std::lock_guard lock(specialise_);
  for (size_t i = 0; i < max_plans; ++i) {
    Use u(plans_[i]);
    if (!u->plan) continue;
    s += "plan for";
    for (const Shape &shape : u->key) s += text(' ', shape);
    s += text(": ", u->plan->to_string());
    if (!options_.profile) continue;
    for (size_t step = 0; step < u->plan->steps.size(); ++step) {
      int64_t runs = u->times[step].runs, each = runs ? u->times[step].nanoseconds / runs : 0;
      s += text("  ", each, " ns  ", u->plan->steps[step].text, '\n');
    }
  }
  return s;
}

void Session::trim() {
  std::lock_guard lock(specialise_);
  for (size_t i = 0; i < max_plans; ++i) {
    Cached &c = plans_[i];
    bool unused = seize(c);
    c.drop_frames();
    if (!unused) continue;
    c.plan.reset();
    c.users.fetch_sub(changing, std::memory_order_release);
  }
}

void Sessions::add(const std::shared_ptr<Session> &session) {
  std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const auto &s) { return s.expired(); });
  all_.push_back(session);
}

void Sessions::trim() {
  std::vector<std::shared_ptr<Session>> live;
  {
    std::lock_guard lock(mutex_);
    for (const auto &weak : all_)
      if (auto s = weak.lock()) live.push_back(std::move(s));
  }
  for (const auto &s : live) s->trim();
}

}  // namespace dl4::runtime

// Sessions: a model made ready to run.
#include <array>

#include "backend/cpu/dispatch/choose.hpp"
#include "batches.hpp"
#include "graph/lower.hpp"
#include "ops/range.hpp"
#include "options.hpp"
#include "tensors.hpp"

namespace dl4::capi {
namespace {

struct SessionOptions {
  bool profile = false, training = false, cotangents = false, states = false, streamable = false;
  int64_t cache = 0;
  enum class Full { refuse, slide } cache_full = Full::refuse;
  std::vector<std::string> gradients;
  kernels::WeightType weights = kernels::WeightType::float32;
  void fields(kinds::Fields &f) {
    f("training", training).doc("run as a training step does: dropout draws");
    f("gradients", gradients).doc("inputs and weights: their gradients are outputs behind those of the model");
    f("cotangents", cotangents)
        .doc("gradients of the outputs times cotangents, which are inputs behind those of the model");
    f("states", states).doc("what recurrent layers carry is inputs and outputs behind those of the model");
    f("streamable", streamable)
        .doc("streams can be made, and a run computes as they do: whole sequences give their bits");
    f("cache", cache).at_least(0).at_most(max_dim / 4).doc("steps that causal attention keeps of a stream; 0: none");
    f("cache_full", cache_full, {"refuse", "slide"}).doc("of a stream of more steps: it is refused, or the oldest go");
    f("profile", profile).doc("keep times per step");
    f("weights", weights, {"float32", "bfloat16", "int8", "int4"})
        .doc("what products keep constant weights in where that is faster");
  }
};

SessionOptions session_options(const char *options) {
  auto o = read_options<SessionOptions>(options);
  if (o.cotangents && o.gradients.empty())
    throw Error(Code::invalid_argument, "\"cotangents\": true needs \"gradients\", got none")
        .with("attribute", "cotangents");
  if (o.weights != kernels::WeightType::float32 && (o.training || !o.gradients.empty()))
    throw Error(Code::unsupported,
                text("\"weights\": expected \"float32\" with ", o.training ? "\"training\": true" : "\"gradients\"",
                     ", got \"", kernels::weight_type_names[static_cast<size_t>(o.weights)], '"'))
        .with("attribute", "weights");
  return o;
}

// An audio thread runs a stream: other libraries' kernels are left out.
dl4_session::Streams streams_of(graph::Pinned &p, runtime::Options run) {
  dl4_session::Streams streams{{}, std::move(p.why_no_tick)};
  if (!p.tick) return streams;
  for (const std::string &name : dispatch::library_kernels()) run.plan.kernels_off.push_back(name);
  run.plan.cutting.by_row = !p.tick->together.empty();
  const auto packs = std::make_shared<plan::Packs>();
  runtime::Ticks &ticks = streams.ticks;
  ticks.one = runtime::Executable::make(std::move(p.tick->program), p.states, packs, run);
  for (plan::Tick::Together &t : p.tick->together)
    ticks.together.push_back(runtime::Executable::make(std::move(t.program), p.states, packs, run));
  ticks.how = std::make_shared<const plan::Tick>(std::move(*p.tick));
  return streams;
}

// Of the first input that is a sequence.
int64_t steps_of(const dl4_session &s, const std::vector<Shape> &in) {
  for (size_t i = 0; i < in.size(); ++i)
    if (s.streams.ticks.how->sequences[i]) return in[i][1];
  return 0;
}

// All steps as those of a stream that begins, as run_tensors() wants it.
class AsStream {
 public:
  explicit AsStream(const runtime::Ticks &ticks) : ticks_(ticks) {}
  void check(std::span<const runtime::View> in) { stream(in).check(in); }
  auto outputs(std::span<const runtime::View> in, const std::atomic<int32_t> *cancel) {
    return stream(in).outputs(in, cancel);
  }
  void need_room(int64_t bytes) const { ticks_.one->need_room(bytes); }
  void run(std::span<const runtime::View> in, std::span<const runtime::View> out, const std::atomic<int32_t> *cancel) {
    FlushToZero flush;
    stream(in).run(in, out, cancel);
  }

 private:
  runtime::Stream &stream(std::span<const runtime::View> in) {
    if (stream_) return *stream_;
    int64_t batch = 1;
    const std::vector<bool> &sequences = ticks_.how->sequences;
    for (size_t i = 0; i < std::min(sequences.size(), in.size()); ++i)
      if (sequences[i] && in[i].shape.rank() > 0) batch = std::max<int64_t>(1, in[i].shape[0]);
    return stream_.emplace(ticks_, batch);
  }

  const runtime::Ticks &ticks_;
  std::optional<runtime::Stream> stream_;
};

// What a stream of the session runs. One that gives no states has them in streams alone.
dl4_session::Streams streams_of(const dl4_model &model, const SessionOptions &given, graph::InferenceOptions how,
                                const runtime::Options &run, graph::Pinned &p) {
  if (!given.streamable) return streams_of(p, run);
  if (given.states)
    throw Error(Code::invalid_argument, "\"streamable\" can't be combined with \"states\", which allows streams too")
        .with("attribute", "streamable");
  how.states = true;
  graph::Pinned streamed = graph::pinned(*model.core, how, run.plan.passes_off);
  if (!streamed.tick) fail(Code::unsupported, "\"streamable\": ", streamed.why_no_tick);
  dl4_session::Streams streams = streams_of(streamed, run);
  streams.alone = true;
  return streams;
}

// Where numbers become sizes: the Program in parts.
std::unique_ptr<const runtime::Stages> stages_of(const graph::Pinned &p, const runtime::Options &run) {
  const ops::Step *range = ops::sized_by_numbers(p.in.program);
  if (!range) return nullptr;
  const char *with = !p.in.written.empty()             ? "assigning weights"
                     : p.run_counter                   ? "drawing random numbers"
                     : !p.alike.empty() && p.in.states ? "\"states\": true"
                     : !p.alike.empty()                ? "\"cotangents\": true"
                                                       : nullptr;
  if (with)
    fail(Code::unsupported, ops::who(range->scope), ": its size is computed by the run, which is not supported with ",
         with);
  return std::make_unique<const runtime::Stages>(p.in.program, p.states, run);
}

// Sizes are known once it has run.
void run_stages(const dl4_session &s, const InAndOut &given, const std::atomic<int32_t> *cancel) {
  const auto sources = array(given.in, given.n_in, "in");
  std::vector<runtime::View> from;
  for (size_t i = 0; i < sources.size(); ++i) from.push_back(element(sources[i], "in", i).view());
  const auto slots = array(given.out, given.n_out, "out");
  const std::vector<Ref<dl4_tensor>> yours = yours_of(slots, s.core->program().outputs.size());
  give_whole(s.stages->run(from, *s.context->memory, cancel), yours, slots);
}

// What Executables keep; null ones are left out.
struct Kept {
  int64_t cached_bytes = 0, packed_bytes = 0;
  Json plans = Json::array();
};
Kept kept_by(std::span<runtime::Executable *const> all) {
  Kept k;
  for (runtime::Executable *e : all) {
    if (!e) continue;
    k.cached_bytes += e->cached_bytes(), k.packed_bytes += e->packed_bytes();  // bounded: memory that is there
    for (const Json &plan : e->plans()) k.plans.push_back(plan);
  }
  return k;
}

}  // namespace

Json describe_session_options() { return kinds::describe_fields<SessionOptions>(); }

std::string describe(dl4_session &s, int32_t format) {
  std::vector<runtime::Executable *> running{s.core.get()};
  if (s.stages) running.clear(), s.stages->each([&](runtime::Executable &e) { running.push_back(&e); });
  if (format == DL4_FORMAT_TEXT) {
    std::string all;
    for (runtime::Executable *e : running) all += e->describe();
    return all;
  }
  if (format != DL4_FORMAT_JSON) refuse_format(Tag::session, format);
  auto side = [&](int32_t which) {
    Json list = Json::array();
    for (int64_t i = 0; i < dl4_port_count(&s, which); ++i) {
      const Port port = port_of(s, which, i);
      Json one{{"name", port.name}, {"dtype", to_string(port.dtype)}, {"shape", port.shape.dims()}};
      const auto at = static_cast<size_t>(i);
      if (which == DL4_OUTPUTS) one["masked"] = at < s.masked.size() && s.masked[at];
      list.push_back(std::move(one));
    }
    return list;
  };
  Kept kept = kept_by(running);
  Json all{{"inputs", side(DL4_INPUTS)},
           {"outputs", side(DL4_OUTPUTS)},
           {"steps", s.core->program().steps.size()},
           {"cached_bytes", kept.cached_bytes},
           {"packed_bytes", kept.packed_bytes},
           {"plans", std::move(kept.plans)}};
  if (const plan::Tick *tick = s.streams.ticks.how.get()) {
    Json outputs = Json::array();
    for (const auto &o : tick->outputs) outputs.push_back({{"steps", o.steps}, {"late", o.late}});
    std::vector<runtime::Executable *> ticks{s.streams.ticks.one.get()};
    for (const auto &e : s.streams.ticks.together) ticks.push_back(e.get());
    Kept stream = kept_by(ticks);
    int64_t most = 1;
    for (const auto &t : tick->together) most = std::max(most, t.ticks);
    all["stream"] = {{"steps", tick->steps},
                     {"steps_at_once", checked_mul(tick->steps, most)},
                     {"outputs", std::move(outputs)},
                     {"cached_bytes", stream.cached_bytes},
                     {"plans", std::move(stream.plans)}};
  }
  return dump(all);
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_session_create(const dl4_model *m, const char *options, dl4_session **out) {
  clear(out);
  return guard(__func__, [&](Entry &entry) {
    const dl4_model &model = object(m, "m");
    dl4_session *&to = needed(out, "out");
    const SessionOptions given = session_options(options);
    entry.owes(model.context->log);
    Gate::Reading reading(*model.weights, "model");
    runtime::Options run = model.context->options();
    graph::InferenceOptions how{given.training,
                                given.gradients,
                                given.cotangents,
                                given.states,
                                {given.cache, given.cache_full == SessionOptions::Full::slide}};
    graph::Pinned p = graph::pinned(*model.core, how, run.plan.passes_off);
    run.constant_states = p.in.written.empty();
    if (!run.constant_states && given.weights != kernels::WeightType::float32)
      throw Error(Code::unsupported, "\"weights\": expected \"float32\", as the model assigns weights")
          .with("attribute", "weights");
    run.plan.weights = given.weights;
    run.profile = given.profile;
    run.run_counter = p.run_counter;
    auto stages = stages_of(p, run);
    dl4_session::Streams streams = streams_of(model, given, how, run, p);
    for (auto [input, output] : p.alike) run.alike.push_back({input, output});
    auto core =
        runtime::Executable::make(std::move(p.in.program), std::move(p.states), std::make_shared<plan::Packs>(), run);
    to = new dl4_session(model, std::move(core), std::move(stages), std::move(p.in), std::move(streams));
  });
}

dl4_error *dl4_session_output_shape(const dl4_session *s, const int32_t *ranks, const int64_t *in_dims, int64_t n_in,
                                    int64_t i, int64_t *dims, int64_t cap, int32_t *rank) {
  clear(rank);
  return guard(__func__, [&] {
    const dl4_session &session = object(s, "s");
    needed(rank, "rank");
    std::vector<Shape> in;
    for (int32_t r : array(ranks, n_in, "ranks")) {
      in.push_back(shape_of(r, in_dims, "in_dims"));
      if (in_dims) in_dims += r;
    }
    need_index(i, dl4_port_count(s, DL4_OUTPUTS));
    const auto at = static_cast<size_t>(i);
    Shape shape = session.core->outputs(in)[at].shape;
    if (!shape.known())
      fail(Code::unsupported, "output ", at, " has the shape ", shape, ", whose sizes a run computes");
    if (session.streams.alone && session.streams.ticks.how->outputs[at].is_sequence)
      shape = shape.with(1, session.streams.ticks.how->given(at, steps_of(session, in)));
    give_shape(shape, dims, cap, rank);
  });
}

dl4_error *dl4_session_run(dl4_session *s, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out, int64_t n_out,
                           dl4_cancel *cancel) {
  return guard(__func__, [&](Entry &entry) {
    dl4_session &session = object(s, "s");
    dl4_cancel *flag = object_or_null(cancel, "cancel");
    entry.owes(session.context->log);
    std::optional<Gate::Alone> alone;
    if (session.live) {
      alone.emplace(*session.weights, "model");
      session.live->get_ready([&](size_t i, const Tensor &value) { session.core->bind(i, value); });
    }
    const std::atomic<int32_t> *stop = flag ? &flag->triggered : nullptr;
    const size_t outputs = session.core->program().outputs.size();
    if (session.stages) return run_stages(session, {in, n_in, out, n_out}, stop);
    if (session.streams.alone) {
      AsStream core(session.streams.ticks);
      return run_tensors(core, outputs, *session.context->memory, {in, n_in, out, n_out}, stop);
    }
    run_tensors(*session.core, outputs, *session.context->memory, {in, n_in, out, n_out}, stop);
  });
}

dl4_error *dl4_session_predict(dl4_session *s, dl4_dataset *d, dl4_cancel *cancel, dl4_tensor **out, int64_t n_out) {
  return guard(__func__, [&](Entry &entry) {
    dl4_session &session = object(s, "s");
    dl4_dataset &data = object(d, "d");
    if (session.live) fail(Code::unsupported, "the model assigns weights: its session runs one batch at a time");
    if (session.stages) fail(Code::unsupported, "a model whose sizes are computed runs one batch at a time");
    Ref<dl4_cancel> keep(object_or_null(cancel, "cancel"));
    if (session.streams.alone) fail(Code::unsupported, "a session with \"streamable\" runs one batch at a time");
    const auto slots = array(out, n_out, "out");
    const auto &p = session.core->program();
    const std::vector<Ref<dl4_tensor>> yours = yours_of(slots, p.outputs.size());
    Ref<dl4_session> keep_session(&session);
    entry.owes(session.context->log);
    Batches batches(data, p.inputs.size(), p.outputs.size(), false);
    give_whole(train::predict(*session.core, *data.core, *session.context->memory, flag(keep)), yours, slots);
  });
}

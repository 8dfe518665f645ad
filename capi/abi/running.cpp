#include "running.hpp"

#include "backend/backend.hpp"
#include "graph/lower.hpp"
#include "ops/matched.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

// Options that a session refuses, by runner. The documentation of dl4_session_create() has the same table.
struct Rule {
  const char *option;
  bool (*is_given)(const SessionOptions &);
  bool assigning, sized, streamed;
};
constexpr Rule rules[] = {
    {"training", [](const SessionOptions &o) { return o.training; }, false, false, true},
    {"gradients", [](const SessionOptions &o) { return !o.gradients.empty(); }, true, false, true},
    {"cotangents", [](const SessionOptions &o) { return o.cotangents; }, true, true, true},
    {"states", [](const SessionOptions &o) { return o.states; }, true, true, true},
    {"streamable", [](const SessionOptions &o) { return o.streamable; }, true, true, false},
    {"weights", [](const SessionOptions &o) { return o.weights != kernels::WeightType::float32; }, true, false, false},
};

void refuse(const SessionOptions &given, Running how, const std::string &why) {
  for (const Rule &r : rules) {
    const bool refused = how == Running::assigning  ? r.assigning
                         : how == Running::sized    ? r.sized
                         : how == Running::streamed ? r.streamed
                                                    : false;
    if (refused && r.is_given(given))
      throw Error(Code::unsupported, text('"', r.option, "\": ", why)).with("attribute", r.option);
  }
}

dl4_session::Streams streams_of(graph::Pinned &p, const runtime::Options &run) {
  dl4_session::Streams streams{{}, std::move(p.why_no_tick)};
  if (p.tick) streams.ticks = runtime::ticks_of(std::move(*p.tick), p.states, run);
  return streams;
}

// A session without `states` still has streams, which keep the states.
dl4_session::Streams streams_alone(const dl4_model &model, graph::InferenceOptions how, const runtime::Options &run) {
  how.states = true;
  graph::Pinned streamed = graph::pinned(*model.core, how, run.plan.passes_off);
  if (!streamed.tick) fail(Code::unsupported, "\"streamable\": ", streamed.why_no_tick);
  return streams_of(streamed, run);
}

std::unique_ptr<runtime::Runner> runner_of(Running how, std::shared_ptr<runtime::Executable> program,
                                           std::unique_ptr<const runtime::Stages> stages,
                                           const dl4_session::Streams &streams, const dl4_model &model,
                                           std::vector<bool> written) {
  if (how == Running::sized) return runtime::in_stages(std::move(program), std::move(stages));
  if (how == Running::streamed) return runtime::as_stream(std::move(program), streams.ticks);
  if (how == Running::whole) return runtime::as_whole(std::move(program), nullptr);
  const auto live = std::make_shared<graph::Live>(model.core->held(), std::move(written));
  return runtime::as_whole(std::move(program), [live](runtime::Executable &e) {
    live->get_ready([&](size_t i, const Tensor &value) { e.bind(i, value); });
  });
}

}  // namespace

void SessionOptions::fields(kinds::Fields &f) {
  f("training", training, "run as a training step does: dropout draws");
  f("gradients", gradients, "inputs and weights: their gradients are outputs behind those of the model");
  f("cotangents", cotangents, "gradients of the outputs times cotangents, which are inputs behind those of the model");
  f("states", states, "what recurrent layers carry is inputs and outputs behind those of the model");
  f("streamable", streamable, "streams can be made, and a run computes as they do: whole sequences give their bits");
  f("cache", cache, "steps that causal attention keeps of a stream; 0: none").within(0, max_dim / 4);
  f("cache_full", cache_full, {"refuse", "slide"}, "of a stream of more steps: it is refused, or the oldest go");
  f("profile", profile, "keep times per step");
  f("weights", weights, {"float32", "bfloat16", "int8", "int4"},
    "what products keep constant weights in where that is faster");
}

Json describe_session_options() { return kinds::describe_fields<SessionOptions>(); }

dl4_session *make_session(const dl4_model &model, const SessionOptions &given) {
  const bool assigns = model.core->assigns();
  if (assigns) refuse(given, Running::assigning, "the model assigns weights");
  if (given.streamable) refuse(given, Running::streamed, "not together with \"streamable\": true");
  runtime::Options run = model.context->options();
  graph::InferenceOptions how{given.training,
                              given.gradients,
                              given.cotangents,
                              given.states,
                              {given.cache, given.cache_full == SessionOptions::Full::slide}};
  graph::Pinned p = graph::pinned(*model.core, how, run.plan.passes_off);
  run.constant_states = !assigns;
  run.plan.weights = given.weights;
  run.profile = given.profile;
  run.run_counter = p.run_counter;
  const ops::Step *range = ops::sized_by_numbers(p.in.program);
  const Running running = range              ? Running::sized
                          : assigns          ? Running::assigning
                          : given.streamable ? Running::streamed
                                             : Running::whole;
  std::unique_ptr<const runtime::Stages> stages;
  if (range) {
    const std::string why = text(ops::who(range->scope), ": its size is computed by the run");
    refuse(given, Running::sized, why);
    if (assigns || p.run_counter)
      fail(Code::unsupported, why, ", which is not supported with ",
           assigns ? "assigning weights" : "drawing random numbers");
    stages = std::make_unique<const runtime::Stages>(p.in.program, p.states, run);
  }
  dl4_session::Streams streams = given.streamable ? streams_alone(model, how, run) : streams_of(p, run);
  for (auto [input, output] : p.alike) run.alike.push_back({input, output});
  auto program =
      runtime::Executable::make(std::move(p.in.program), std::move(p.states), std::make_shared<plan::Packs>(), run);
  auto runner = runner_of(running, program, std::move(stages), streams, model, p.in.written);
  constexpr const char *no_batches[] = {nullptr, "the model assigns weights", "the model computes sizes",
                                        "the session was made with \"streamable\": true"};
  const char *why = no_batches[static_cast<size_t>(running)];
  for (ops::Id v : program->program().outputs)
    if (program->program()[v].dtype == DType::string) why = "the model gives strings";
  return new dl4_session(model, why, std::move(program), std::move(runner), std::move(p.in), std::move(streams));
}

}  // namespace dl4::capi

// Options and checks of a trainer, and its Programs by kind of batch.
#include "train/training.hpp"

#include "base/float_mode.hpp"

namespace dl4::train {
namespace {

void need_excluded(const std::vector<std::string> &words, const graph::Model &model) {
  for (const std::string &word : words)
    if (word.empty() ||
        std::ranges::none_of(model.weights(), [&](const auto &w) { return kinds::excludes(word, w->name); }))
      kinds::refuse_attribute("exclude_from_weight_decay", "no weight of the model is meant by \"", word, '"');
}

const graph::Model &untrained(const graph::Model &model) {
  if (model.assigns())
    fail(Code::unsupported, "the model assigns weights itself: run it by a session, not by a trainer");
  if (model.in_training()) fail(Code::busy, "the model, or one that shares weights with it, has a trainer already");
  return model;
}

// A step changes everything or nothing.
runtime::Options for_steps(runtime::Options run, bool profile) {
  run.profile = profile;
  run.ends_writes = true;
  return run;
}

std::vector<int32_t> readings(const std::vector<runtime::View> &views) {
  std::vector<int32_t> all;
  for (const runtime::View &v : views) all.push_back(reading(v));
  return all;
}

}  // namespace

void Training::Setup::fields(kinds::Fields &f) {
  objective.fields(f);
  f("optimizer", optimizer, "a name or {\"class_name\", \"config\"}").required();
  f("exclude_from_weight_decay", undecayed,
    "weights that weight_decay leaves alone: whole names such as \"dense/bias\", or parts of the last one, "
    "such as \"bias\"");
  f("nan_guard", nan_guard, {"off", "loss", "gradients"}, "what must be finite for an update to be made");
  f("profile", profile, "keep the time of every step");
  f("shards", shards,
    "parts that a batch is cut into, a power of two: each part's gradients are computed alone and added up as a "
    "tree, so that any number of workers that divides it gives the same bits; null: 8 for workers where "
    "reproducible is \"strict\", else 1")
      .within(1, Workers::most_shards);
}

Training::Setup Training::Setup::parse(const Json &options) {
  FlushToZero flush;
  Setup s;
  kinds::read_fields(s, options.is_null() ? Json::object() : options);
  if (!s.optimizer) fail(Code::invalid_argument, "\"optimizer\": expected an optimizer, got null");
  return s;
}

Training::Training(std::shared_ptr<graph::Model> trained, const Json &options, const runtime::Options &run)
    : model(std::move(trained)),
      setup(Setup::parse(options)),
      objective(Objective::parse(setup.objective, *model)),
      targets(objective.targets()),
      run(for_steps(run, setup.profile)),
      results(objective, *model),
      state(untrained(*model).held(), run.plan.memory_limit) {
  FlushToZero flush;
  need_excluded(setup.undecayed, *model);
  state.number(kept::iterations, DType::i64, 0);
  state.number(kept::draws, DType::i64, 0);
  state.number(kept::learning_rate, DType::f32, static_cast<double>(setup.optimizer->learning_rate.at(0)));
  if (setup.optimizer->gradient_accumulation_steps.value_or(0)) state.number(kept::updates, DType::i64, 0);
  make_slots({*this, state});
  model->set_in_training(true);
}

void Training::need_weights() const {
  if (model->parameters(true) == 0)
    fail(Code::invalid_argument, "the model has no trainable weight: it can be evaluated, not trained");
}

void Training::check(const Batch &b, bool in_parts) const {
  auto count = [](const char *what, size_t expected, size_t got) {
    if (expected != got) fail(Code::invalid_argument, "expected ", expected, ' ', what, ", got ", got);
  };
  count("inputs", model->inputs().size(), b.x.size());
  count("targets", targets.size(), b.y.size());
  if (!b.w.empty()) count("sample weights", targets.size(), b.w.size());
  const int64_t size = b.size();
  if (b.sample && in_parts)
    fail(Code::unsupported, "workers and shards need batches: a sample without an axis of the batch can't be cut");
  auto rows = [&](const char *what, size_t i, const runtime::View &v) {
    if (b.sample) return;
    if (v.shape.rank() == 0 || v.shape[0] != size)
      fail(Code::shape_mismatch, what, ' ', i, ": expected ", size, " rows as in input 0, got shape ", v.shape);
  };
  for (size_t i = 0; i < b.x.size(); ++i) rows("input", i, b.x[i]);
  if (size == 0 && !in_parts && !b.sample) fail(Code::invalid_argument, "an empty batch");
  for (size_t i = 0; i < b.w.size(); ++i) {
    if (is_absent(b.w[i])) continue;
    rows("sample weight", i, b.w[i]);
    if (b.w[i].dtype != DType::f32)
      fail(Code::invalid_argument, "sample weight ", i, ": expected float32, got ", b.w[i].dtype);
  }
  for (size_t i = 0; i < b.y.size(); ++i) {
    if (b.y[i].shape.rank() > 0) rows("target", i, b.y[i]);
    const auto &o = objective.outputs[targets[i]];
    const Shape &prediction = model->graph().shape(model->outputs()[targets[i]]);
    // A scalar is the target of every prediction, as in Keras's train_on_batch().
    Shape got = b.y[i].shape.rank() > 0 ? b.y[i].shape : prediction;
    Shape expected = o.loss->target_shape(prediction, got), bare = expected;
    while (got.rank() > expected.rank() && got.last() == 1) got = got.without(-1);
    while (bare.rank() > got.rank() && bare.last() == 1) bare = bare.without(-1);
    if (!compatible(bare, got))
      fail(Code::shape_mismatch, "target of output \"", objective.names[targets[i]], "\": expected shape ", expected,
           " for predictions of shape ", prediction, ", got ", b.y[i].shape);
  }
}

void Training::follow() {
  if (state.parameters.is_current()) return;
  FlushToZero flush;
  State next = state.followed();
  make_slots({*this, next});
  forget_compiled();
  state = std::move(next);
}

void Training::make_writable() {
  follow();
  state.parameters.collect();
  state.parameters.make_writable();
}

void Training::schedule_rate() {
  if (!setup.optimizer->learning_rate.schedule) return;
  FlushToZero flush;
  state.learning_rate() = setup.optimizer->learning_rate.at(state.count(kept::iterations));
}

void Training::get_ready(Task task) {
  follow();
  state.parameters.collect();
  if (task == Task::step) {
    state.parameters.make_writable();
    schedule_rate();
  }
  state.parameters.make_others_writable(task == Task::evaluate);
}

Training::Compiled Training::compile(const Routine &routine, const Batch &b, Turn turn, Parts *parts) {
  FlushToZero flush;
  Written written = write(routine, {*this, state, turn, parts}, b);
  if (parts && written.layout.size > 0) parts->layout = std::move(written.layout);
  if (parts && parts->exchange) parts->exchange->make_room(written.program);
  return {&routine,
          turn,
          readings(b.y),
          readings(b.w),
          runtime::Executable::make(std::move(written.program), {}, nullptr, run),
          std::move(written.no_gradient)};
}

const Training::Compiled &Training::compiled(const Routine &routine, const Batch &b, Parts *parts) {
  const Turn turn = routine.updates ? next_turn(*setup.optimizer, state) : Turn{};
  const auto fits = [](const std::vector<int32_t> &as, const std::vector<runtime::View> &views) {
    return std::ranges::equal(as, views, {}, {}, reading);
  };
  auto found = std::ranges::find_if(compiled_, [&](const Compiled &c) {
    return c.routine == &routine && c.turn == turn && fits(c.y, b.y) && fits(c.w, b.w);
  });
  if (found == compiled_.end()) found = compiled_.insert(found, compile(routine, b, turn, parts));
  if (found->version != state.version()) {
    found->executable->bind([&](const std::string &name) -> const Tensor & { return state.bound(name); });
    found->version = state.version();
  }
  if (routine.trains) last_ = &*found;
  return *found;
}

void Training::forget_compiled() {
  compiled_.clear();
  last_ = nullptr;
}

std::vector<std::string> Training::trainable() const {
  std::vector<std::string> names;
  state.parameters.each([&](const graph::Weight &w, int64_t, int64_t) { names.push_back(w.name); });
  return names;
}

std::string Training::describe() {
  std::string s = text("optimizer ", kinds::to_json(setup.optimizer.get()).dump(), '\n');
  for (const Compiled &c : compiled_) s += text("---- ", c.routine->name, '\n', c.executable->describe());
  return s;
}

}  // namespace dl4::train

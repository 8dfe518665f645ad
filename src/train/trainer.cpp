// The trainer's life: options, batches in, measures out.
#include "train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/float_mode.hpp"
#include "graph/lower.hpp"
#include "kinds/field.hpp"
#include "train/joint.hpp"

namespace dl4::train {

namespace {

void need_excluded(const std::vector<std::string> &words, const graph::Model &model) {
  for (const std::string &word : words)
    if (word.empty() || std::ranges::none_of(model.weights(), [&](const auto &w) { return excludes(word, w->name); }))
      throw Error(Code::invalid_argument,
                  text("\"exclude_from_weight_decay\": no weight of the model is meant by \"", word, '"'))
          .with("attribute", "exclude_from_weight_decay");
}

const graph::Model &untrained(const graph::Model &model) {
  if (model.in_training()) fail(Code::busy, "the model has a trainer already, or one that shares weights with it has");
  return model;
}

}  // namespace

void Trainer::Setup::fields(kinds::Fields &f) {
  objective.fields(f);
  f("optimizer", optimizer).required().doc("a name or {\"class_name\", \"config\"}");
  f("exclude_from_weight_decay", undecayed)
      .doc(
          "weights that weight_decay leaves alone: whole names such as \"dense/bias\", or parts of the last one, "
          "such as \"bias\"");
  f("nan_guard", nan_guard, {"off", "loss", "gradients"}).doc("what must be finite for an update to be made");
  f("profile", profile).doc("keep the time of every step");
  f("shards", shards)
      .at_least(1)
      .at_most(Joint::most_shards)
      .doc(
          "parts that a batch is cut into, a power of two: each part's gradients are computed alone and added up as a "
          "tree, so that any number of workers that divides it gives the same bits; null: 8 for workers where "
          "reproducible is \"strict\", else 1");
}

Json Trainer::describe_options() { return kinds::describe_fields<Setup>(); }

Trainer::Setup Trainer::Setup::parse(const Json &options) {
  FlushToZero flush;
  Setup s;
  kinds::read_fields(s, options.is_null() ? Json::object() : options);
  if (!s.optimizer) fail(Code::invalid_argument, "\"optimizer\": expected an optimizer, got null");
  return s;
}

Trainer::Trainer(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run)
    : model_(std::move(model)),
      options_(options),
      setup_(Setup::parse(options)),
      objective_(Objective::parse(setup_.objective, *model_)),
      results_(objective_, *model_),
      targets_(objective_.targets()),
      run_(run),
      state_(untrained(*model_).held(), run.plan.memory_limit) {
  FlushToZero flush;
  need_excluded(setup_.undecayed, *model_);
  run_.profile = setup_.profile;
  state_.number(kept::iterations, DType::i64, 0);
  state_.number(kept::draws, DType::i64, 0);
  state_.number(kept::learning_rate, DType::f32, static_cast<double>(setup_.optimizer->learning_rate.at(0)));
  if (setup_.optimizer->gradient_accumulation_steps.value_or(0)) state_.number(kept::updates, DType::i64, 0);
  make_slots(recipe(state_));
  set_workers(0, 1, nullptr, nullptr);
  model_->set_in_training(true);
}

Trainer::~Trainer() { model_->set_in_training(false); }

void Trainer::check(const Batch &b) const {
  auto count = [](const char *what, size_t expected, size_t got) {
    if (expected != got) fail(Code::invalid_argument, "expected ", expected, ' ', what, ", got ", got);
  };
  count("inputs", model_->inputs().size(), b.x.size());
  count("targets", targets_.size(), b.y.size());
  if (!b.w.empty()) count("sample weights", targets_.size(), b.w.size());
  const int64_t size = b.size();
  if (b.sample && joint_)
    fail(Code::unsupported, "workers and shards need batches: a sample without an axis of the batch can't be cut");
  auto rows = [&](const char *what, size_t i, const runtime::View &v) {
    if (b.sample) return;
    if (v.shape.rank() == 0 || v.shape[0] != size)
      fail(Code::shape_mismatch, what, ' ', i, ": expected ", size, " rows as in input 0, got shape ", v.shape);
  };
  for (size_t i = 0; i < b.x.size(); ++i) rows("input", i, b.x[i]);
  if (size == 0 && !joint_ && !b.sample) fail(Code::invalid_argument, "an empty batch");
  for (size_t i = 0; i < b.w.size(); ++i) {
    if (is_absent(b.w[i])) continue;
    rows("sample weight", i, b.w[i]);
    if (b.w[i].dtype != DType::f32)
      fail(Code::invalid_argument, "sample weight ", i, ": expected float32, got ", b.w[i].dtype);
  }
  for (size_t i = 0; i < b.y.size(); ++i) {
    if (b.y[i].shape.rank() > 0) rows("target", i, b.y[i]);
    const auto &o = objective_.outputs[targets_[i]];
    const Shape &prediction = model_->graph().shape(model_->outputs()[targets_[i]]);
    // A scalar is the target of every prediction, as in Keras's train_on_batch().
    Shape got = b.y[i].shape.rank() > 0 ? b.y[i].shape : prediction;
    Shape expected = o.loss->target_shape(prediction, got), bare = expected;
    while (got.rank() > expected.rank() && got.last() == 1) got = got.without(-1);
    while (bare.rank() > got.rank() && bare.last() == 1) bare = bare.without(-1);
    if (!compatible(bare, got))
      fail(Code::shape_mismatch, "target of output \"", objective_.names[targets_[i]], "\": expected shape ", expected,
           " for predictions of shape ", prediction, ", got ", b.y[i].shape);
  }
}

Written Trainer::written(Entry entry, const Recipe &how, const Batch &b) const {
  switch (entry) {
    case Entry::step:
      return step_program(how, b);
    case Entry::accumulate:
      return accumulate_program(how, b);
    case Entry::apply:
      return apply_program(how);
    case Entry::evaluate:
      return evaluate_program(how, b);
    case Entry::divisors:
      return divisors_program(how, b);
    case Entry::part:
    case Entry::measure:
      return part_program(how, b, entry == Entry::part);
    default:
      return joined_program(how, layout_, entry == Entry::collect);
  }
}

Recipe Trainer::recipe(State &state, Turn turn) const {
  Recipe how{*model_, objective_, *setup_.optimizer, setup_.nan_guard, setup_.undecayed, state, turn};
  // Shards are computed one behind the other: none can wait in mid-run for the sums of the next.
  if (joint_ && joint_->workers.shards() == 1) how.collective = joint_->exchange;
  return how;
}

Trainer::Compiled Trainer::compile(Entry entry, const Batch &b) {
  FlushToZero flush;
  const Recipe how = recipe(state_, turn(entry));
  Written written = this->written(entry, how, b);
  if (entry == Entry::part) {
    int64_t size = 0;
    for (ops::Id output : written.program.outputs) size = checked_add(size, written.program[output].shape.elements());
    layout_ = {state_.parameters.block().elements(), static_cast<int64_t>(results_.sums() - results_.losses()), size,
               written.writes};
  }
  if (joint_) joint_->exchange->make_room(written.program);
  std::vector<Tensor> states;
  for (ops::Id id : written.program.states) states.push_back(state_.bound(written.program[id].name));
  return {entry,
          {b.y.begin(), b.y.end()},
          {b.w.begin(), b.w.end()},
          runtime::Executable::make(std::move(written.program), std::move(states), nullptr, run_),
          state_.version(),
          std::move(written.no_gradient),
          how.turn};
}

Turn Trainer::turn(Entry entry) {
  const bool updates = entry == Entry::step || entry == Entry::apply || entry == Entry::update;
  return updates ? next_turn(*setup_.optimizer, state_) : Turn{};
}

void Trainer::schedule_rate() {
  if (!setup_.optimizer->learning_rate.schedule) return;
  FlushToZero flush;
  *state_.number(kept::learning_rate, DType::f32, 0).as<float>() =
      setup_.optimizer->learning_rate.at(state_.count(kept::iterations));
}

void Trainer::follow() {
  if (state_.parameters.is_current()) return;
  FlushToZero flush;
  State next = state_.followed();
  make_slots(recipe(next));
  compiled_.clear();
  last_ = SIZE_MAX;
  state_ = std::move(next);
}

// After the first call with batches of these shapes nothing is allocated here.
Trainer::Compiled &Trainer::compiled(Entry entry, const Batch &b) {
  auto fits = [](const std::vector<Column> &columns, const std::vector<runtime::View> &views) {
    return std::equal(columns.begin(), columns.end(), views.begin(), views.end(),
                      [](const Column &c, const runtime::View &v) { return c == Column(v); });
  };
  const Turn now = turn(entry);
  auto found = std::find_if(compiled_.begin(), compiled_.end(), [&](const Compiled &c) {
    return c.entry == entry && c.turn == now && fits(c.y, b.y) && fits(c.w, b.w);
  });
  if (found == compiled_.end()) found = compiled_.insert(found, compile(entry, b));
  if (found->version != state_.version()) {  // bound to what is kept now
    found->session->bind([&](const std::string &name) -> const Tensor & { return state_.bound(name); });
    found->version = state_.version();
  }
  return *found;
}

void Trainer::get_ready(Entry entry) {
  follow();
  state_.parameters.collect();
  if (entry == Entry::step) {
    state_.parameters.make_writable();
    schedule_rate();
  }
  state_.parameters.make_others_writable(entry == Entry::evaluate);
}

const Sums &Trainer::run(Entry entry, const Batch &b, const std::atomic<int32_t> *cancel) {
  if (joint_) return run_jointly(entry, b, cancel);
  check(b);
  get_ready(entry);
  in_.clear();
  for (const auto *views : {&b.x, &b.y, &b.w})
    std::copy_if(views->begin(), views->end(), std::back_inserter(in_),
                 [](const runtime::View &v) { return !is_absent(v); });
  const Compiled &c = compiled(entry, b);
  if (entry != Entry::evaluate) last_ = static_cast<size_t>(&c - compiled_.data());
  runtime::Executable &s = *c.session;
  if (cancel) s.plan(in_, cancel);  // a step that has begun is ended

  // The losses, then the sums of the metrics.
  values_.resize(results_.sums() - results_.losses());
  out_.clear();
  float *to = values_.data();
  for (ops::Id output : s.program().outputs) {
    out_.push_back({DType::f32, s.program()[output].shape, to, nullptr});
    to += s.program()[output].shape.elements();
  }
  try {
    s.run(in_, out_);
  } catch (Error &error) {
    in_step(error);
    throw;
  }
  return told(values_.data(), static_cast<double>(b.size()));
}

Error &Trainer::in_step(Error &error) const {
  const auto done = static_cast<int64_t>(get("iterations"));
  if (error.code != Code::numeric) return error;
  return error.in(text("training step ", done + 1)).with("iteration", std::to_string(done));
}

// The sums of a batch of so many rows: of its losses their totals, then those of the metrics.
const Sums &Trainer::told(const float *values, double rows) {
  FlushToZero flush;
  sums_.values.clear();
  for (size_t i = 0; i < results_.sums() - results_.losses(); ++i) {
    const auto value = static_cast<double>(values[i]);
    sums_.values.push_back(i < results_.losses() ? value * rows : value);
    if (i < results_.losses()) sums_.values.push_back(rows);
  }
  return sums_;
}

const std::vector<double> &Trainer::results(const Sums &sums) {
  numbers_.resize(results_.names().size());
  results_.of(sums, numbers_);
  return numbers_;
}

void Trainer::need_weights() const {
  if (model_->parameters(true) == 0)
    fail(Code::invalid_argument, "the model has no trainable weight: it can be evaluated, not trained");
}

const Sums &Trainer::step(const Batch &b, const std::atomic<int32_t> *cancel) {
  need_weights();
  return run(Entry::step, b, cancel);
}

const Sums &Trainer::evaluate(const Batch &b, const std::atomic<int32_t> *cancel) {
  return run(Entry::evaluate, b, cancel);
}

const Sums &Trainer::accumulate(const Batch &b) {
  need_weights();
  return run(Entry::accumulate, b);
}

void Trainer::apply() {
  need_weights();
  const Tensor *count = state_.find(kept::accumulated);
  if (!count || *count->as<int64_t>() == 0) fail(Code::invalid_argument, "apply without accumulate before it");
  follow();
  state_.parameters.collect();
  state_.parameters.make_writable();
  schedule_rate();
  compiled(Entry::apply, {}).session->run({}, {});
}

Tensor Trainer::gradient(const std::string &weight) const {
  const Tensor *count = state_.find(kept::accumulated);
  if (!count || *count->as<int64_t>() == 0) fail(Code::invalid_argument, "no gradients: call accumulate first");
  FlushToZero flush;
  const auto n = static_cast<float>(*count->as<int64_t>());
  const float *sums = state_.find(kept::gradients)->as<float>();
  const bool all = weight == "*";
  const graph::Weight *one = all ? nullptr : model_->weight(weight).get();
  Tensor mean;
  if (all) mean = make_tensor(DType::f32, Shape{state_.parameters.elements()});
  state_.parameters.each([&](const graph::Weight &w, int64_t offset, int64_t flat) {
    if (!all && &w != one) return;
    if (!all) mean = make_tensor(DType::f32, w.spec.shape);
    float *to = mean.as<float>() + (all ? flat : 0);
    for (int64_t i = 0, size = w.spec.shape.elements(); i < size; ++i) to[i] = sums[offset + i] / n;
  });
  if (!mean.data) fail(Code::invalid_argument, "weight \"", weight, "\" is not trainable");
  return mean;
}

void Trainer::set_gradient(const std::string &weight, const Tensor &v, bool add) {
  need_weights();
  follow();
  const bool all = weight == "*";
  const graph::Weight *one = all ? nullptr : model_->weight(weight).get();
  if (one && !one->trainable()) fail(Code::invalid_argument, "weight \"", weight, "\" is not trainable");
  const Shape expected = all ? Shape{state_.parameters.elements()} : one->spec.shape;
  if (v.dtype != DType::f32 || v.shape != expected)
    throw Error(Code::shape_mismatch, text("gradient of ", all ? "all trainable weights" : "weight \"" + weight + '"',
                                           ": expected float32 ", expected, ", got ", v.dtype, ' ', v.shape))
        .with("weight", weight);
  FlushToZero flush;
  Tensor &sums = state_.per_weight(kept::gradients, 0);
  int64_t &count = *state_.number(kept::accumulated, DType::i64, 0).as<int64_t>();
  if (count == 0) std::fill_n(sums.as<float>(), sums.elements(), 0.0f);
  if (count == 0 || (all && !add)) count = 1;
  const auto n = static_cast<float>(count);
  state_.parameters.each([&](const graph::Weight &w, int64_t offset, int64_t flat) {
    if (!all && &w != one) return;
    const float *from = v.as<float>() + (all ? flat : 0);
    float *to = sums.as<float>() + offset;
    for (int64_t i = 0, size = w.spec.shape.elements(); i < size; ++i) to[i] = (add ? to[i] : 0) + from[i] * n;
  });
}

void Trainer::zero_gradients() {
  if (state_.find(kept::accumulated)) state_.count(kept::accumulated) = 0;
}

void Trainer::take_averages() {
  const Tensor *average = state_.find(kept::average);
  if (!average || *state_.find(kept::iterations)->as<int64_t>() == 0) return;
  follow();
  state_.parameters.collect();
  state_.parameters.make_writable();
  std::copy_n(average->as<float>(), average->elements(), state_.parameters.block().as<float>());
}

void Trainer::swap_averages() {
  if (!setup_.optimizer->use_ema)
    fail(Code::invalid_argument, "there are no averages of the weights: the optimizer has \"use_ema\" false");
  if (*state_.find(kept::iterations)->as<int64_t>() == 0) return;
  follow();
  state_.parameters.collect();
  state_.parameters.make_writable();
  Tensor &average = state_.per_weight(kept::average, 0);
  std::swap_ranges(average.as<float>(), average.as<float>() + average.elements(),
                   state_.parameters.block().as<float>());
}

void Trainer::settle_averages() {
  if (!setup_.optimizer->use_ema) return;
  follow();
  state_.parameters.collect();
  const Tensor &block = state_.parameters.block();
  std::copy_n(block.as<float>(), block.elements(), state_.per_weight(kept::average, 0).as<float>());
}

namespace {

constexpr char copy_prefix[] = "kept:";
std::string copy_name(size_t number, const std::string &weight) { return text(copy_prefix, number, ':', weight); }

}  // namespace

void Trainer::keep_weights(size_t number) {
  for (const auto &w : model_->weights()) copies_[copy_name(number, w->name)] = clone(w->value);
}

void Trainer::restore_weights(size_t number) {
  for (const auto &w : model_->weights())
    if (auto it = copies_.find(copy_name(number, w->name)); it != copies_.end())
      model_->set_weight(w->name, it->second);
}

std::map<std::string, Tensor> Trainer::state() const {
  std::map<std::string, Tensor> all = state_.tensors();
  all.insert(copies_.begin(), copies_.end());
  return all;
}

double Trainer::get(const std::string &key) const {
  auto count = [&](const char *name) { return *state_.find(name)->as<int64_t>(); };
  const auto &rate = setup_.optimizer->learning_rate;
  if (key == "learning_rate" && rate.schedule) return static_cast<double>(rate.at(count(kept::iterations)));
  if (key == "learning_rate") return static_cast<double>(*state_.find(kept::learning_rate)->as<float>());
  if (key == "iterations")
    return static_cast<double>(count(state_.find(kept::updates) ? kept::updates : kept::iterations));
  if (key == "epoch") return static_cast<double>(position.epoch);
  if (key == "batch") return static_cast<double>(position.batch);
  throw Error(Code::not_found, text("a trainer has no value \"", key, '"'))
      .suggest(key, {"learning_rate", "iterations", "epoch", "batch"});
}

void Trainer::set(const std::string &key, double v) {
  get(key);
  if (key == "iterations") fail(Code::invalid_argument, '"', key, "\" can be read but not set");
  if (key != "learning_rate") {
    if (fitting) fail(Code::busy, '"', key, "\" is counted by the fit under way");
    if (!(v >= 0 && v <= static_cast<double>(most_epochs)) || v != std::floor(v))
      fail(Code::invalid_argument, '"', key, "\": expected an integer of at least 0 and at most 2^53 - 1, got ", v);
    const auto n = static_cast<int64_t>(v);
    position.move_to(key == "epoch" ? n : position.epoch, key == "epoch" ? 0 : n);
    return;
  }
  if (const auto &schedule = setup_.optimizer->learning_rate.schedule)
    fail(Code::invalid_argument, "\"learning_rate\" can't be set: ", schedule->entry().name, " tells it");
  if (!std::isfinite(v) || v < 0)
    fail(Code::invalid_argument, "\"learning_rate\": expected a finite number of at least 0, got ", v);
  FlushToZero flush;
  *state_.number(kept::learning_rate, DType::f32, 0).as<float>() = static_cast<float>(v);
}

std::vector<std::string> Trainer::trainable() const {
  std::vector<std::string> names;
  state_.parameters.each([&](const graph::Weight &w, int64_t, int64_t) { names.push_back(w.name); });
  return names;
}

std::vector<std::string> Trainer::no_gradient() const {
  return last_ < compiled_.size() ? compiled_[last_].no_gradient : std::vector<std::string>();
}

Json Trainer::position_json() const {
  Json j = position.to_json();
  j["trainable"] = trainable();
  if (const int64_t n = workers() ? workers()->shards() : 1; n > 1) j["shards"] = n;
  return j;
}

void Trainer::restore(const std::map<std::string, Tensor> &state, const Json &j) {
  follow();
  Position p = Position::from_json(j, results_.sums());
  const Json *names = j.find("trainable");
  if (!names || !names->is_array()) fail(Code::corrupt_file, "the checkpoint does not say which weights are trainable");
  if (*names != Json(trainable()))
    fail(Code::shape_mismatch, "the checkpoint was saved while other weights were trainable");
  const Json *saved = j.find("shards");
  if (const int64_t n = workers() ? workers()->shards() : 1, was = saved ? saved->get<int64_t>() : 1; n != was)
    fail(Code::shape_mismatch, "\"shards\": expected ", was, " as in the checkpoint, got ", n);
  std::map<std::string, Tensor> kept, copies;
  for (const auto &[name, t] : state) (name.starts_with(copy_prefix) ? copies : kept)[name] = t;
  for (const auto &[name, t] : copies) {
    const size_t colon = name.find(':', sizeof copy_prefix - 1);
    if (colon == std::string::npos) fail(Code::corrupt_file, "the checkpoint has a tensor \"", name, '"');
    model_->need_fit(name.substr(colon + 1), t.dtype, t.shape);
  }
  state_.restore(kept);
  copies_ = std::move(copies);
  position = std::move(p);
}

std::string Trainer::describe() {
  std::string s = text("optimizer ", kinds::to_json(setup_.optimizer.get()).dump(), '\n');
  constexpr const char *names[] = {
      "step", "accumulate",         "apply",           "evaluate",        "divisors of a part",
      "part", "measures of a part", "update by parts", "accumulate parts"};
  for (Compiled &c : compiled_) s += text("---- ", names[static_cast<size_t>(c.entry)], '\n', c.session->describe());
  return s;
}

}  // namespace dl4::train

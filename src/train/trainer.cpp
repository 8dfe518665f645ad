// Options, steps, evaluation and checkpoints of a trainer, and what it keeps beside the weights. Gradients are sums in a
// block like the weights'.
#include "train/trainer.hpp"

#include <cmath>

#include "base/float_mode.hpp"

namespace dl4::train {

bool Gradients::empty() const {
  const Tensor *count = t_.state.find(kept::accumulated);
  return !count || *count->as<int64_t>() == 0;
}

Tensor Gradients::mean(const std::string &weight) const {
  if (empty()) fail(Code::invalid_argument, "no gradients: call accumulate first");
  FlushToZero flush;
  const auto n = static_cast<float>(t_.state.count(kept::accumulated));
  const float *sums = t_.state.find(kept::gradients)->as<float>();
  const bool all = weight == "*";
  const graph::Weight *one = all ? nullptr : t_.model->weight(weight).get();
  Tensor mean;
  if (all) mean = make_tensor(DType::f32, Shape{t_.state.parameters.elements()});
  t_.state.parameters.each([&](const graph::Weight &w, int64_t offset, int64_t flat) {
    if (!all && &w != one) return;
    if (!all) mean = make_tensor(DType::f32, w.spec.shape);
    float *to = mean.as<float>() + (all ? flat : 0);
    for (int64_t i = 0, size = w.spec.shape.elements(); i < size; ++i) to[i] = sums[offset + i] / n;
  });
  if (!mean.data) fail(Code::invalid_argument, "weight \"", weight, "\" is not trainable");
  return mean;
}

void Gradients::set(const std::string &weight, const Tensor &v, bool add) {
  t_.need_weights();
  t_.follow();
  const bool all = weight == "*";
  const graph::Weight *one = all ? nullptr : t_.model->weight(weight).get();
  if (one && !one->trainable()) fail(Code::invalid_argument, "weight \"", weight, "\" is not trainable");
  const Shape expected = all ? Shape{t_.state.parameters.elements()} : one->spec.shape;
  if (v.dtype != DType::f32 || v.shape != expected)
    throw Error(Code::shape_mismatch, text("gradient of ", all ? "all trainable weights" : "weight \"" + weight + '"',
                                           ": expected float32 ", expected, ", got ", v.dtype, ' ', v.shape))
        .with("weight", weight);
  FlushToZero flush;
  Tensor &sums = t_.state.per_weight(kept::gradients, 0);
  int64_t &count = *t_.state.number(kept::accumulated, DType::i64, 0).as<int64_t>();
  if (count == 0) std::fill_n(sums.as<float>(), sums.elements(), 0.0f);
  if (count == 0 || (all && !add)) count = 1;
  const auto n = static_cast<float>(count);
  t_.state.parameters.each([&](const graph::Weight &w, int64_t offset, int64_t flat) {
    if (!all && &w != one) return;
    const float *from = v.as<float>() + (all ? flat : 0);
    float *to = sums.as<float>() + offset;
    for (int64_t i = 0, size = w.spec.shape.elements(); i < size; ++i) to[i] = (add ? to[i] : 0) + from[i] * n;
  });
}

void Gradients::zero() {
  if (!empty()) t_.state.count(kept::accumulated) = 0;
}

void Averages::take() {
  if (!kept() || t_.state.count(kept::iterations) == 0) return;
  t_.make_writable();
  std::ranges::copy(t_.state.per_weight(kept::average, 0).memory(), t_.state.parameters.block().data.get());
}

void Averages::swap() {
  if (!kept())
    fail(Code::invalid_argument, "there are no averages of the weights: the optimizer has \"use_ema\" false");
  if (t_.state.count(kept::iterations) == 0) return;
  t_.make_writable();
  std::ranges::swap_ranges(t_.state.per_weight(kept::average, 0).memory(), t_.state.parameters.block().memory());
}

void Averages::settle() {
  if (!kept()) return;
  t_.follow();
  t_.state.parameters.collect();
  std::ranges::copy(t_.state.parameters.block().memory(), t_.state.per_weight(kept::average, 0).data.get());
}

namespace {

constexpr char prefix[] = "kept:";
std::string name_of(size_t number, const std::string &weight) { return text(prefix, number, ':', weight); }

}  // namespace

void WeightCopies::keep(size_t number) {
  for (const auto &w : t_.model->weights()) tensors[name_of(number, w->name)] = clone(w->value());
}

void WeightCopies::restore(size_t number) {
  for (const auto &w : t_.model->weights())
    if (auto it = tensors.find(name_of(number, w->name)); it != tensors.end())
      t_.model->set_weight(w->name, it->second);
}

WeightCopies::Tensors WeightCopies::taken_from(Tensors &saved) const {
  Tensors copies;
  for (auto it = saved.lower_bound(prefix); it != saved.end() && it->first.starts_with(prefix);)
    copies.insert(saved.extract(it++));
  for (const auto &[name, t] : copies) {
    const size_t colon = name.find(':', sizeof prefix - 1);
    if (colon == std::string::npos) fail(Code::corrupt_file, "the checkpoint has a tensor \"", name, '"');
    t_.model->need_fit(name.substr(colon + 1), t.dtype, t.shape);
  }
  return copies;
}

namespace {

// Steps on whole batches: one Program computes gradients and updates the weights.
class Local final : public Steps {
 public:
  explicit Local(Training &t) : Steps(t), measured_(t.results.measured()) {}
  const Sums &run(Task task, const Batch &b, const std::atomic<int32_t> *cancel) override {
    t_.check(b, false);
    t_.get_ready(task);
    in_.clear();
    for (const auto *views : {&b.x, &b.y, &b.w})
      std::ranges::copy_if(*views, std::back_inserter(in_), [](const auto &v) { return !is_absent(v); });
    runtime::Executable &e = *t_.compiled(task == Task::step         ? routines::step
                                          : task == Task::accumulate ? routines::accumulate
                                                                     : routines::evaluate,
                                          b)
                                  .executable;
    bind_outputs(e.program(), measured_.data());
    t_.in_step([&] { e.run(in_, out_, cancel); });
    t_.results.add_up(measured_.data(), static_cast<double>(b.size()), sums_);
    return sums_;
  }

 private:
  std::vector<float> measured_;
};

}  // namespace

Json Trainer::describe_options() { return kinds::describe_fields<Training::Setup>(); }

Trainer::Trainer(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run)
    : options_(options), training_(std::move(model), options, run) {
  set_workers(0, 1, nullptr, nullptr);
}

void Trainer::set_workers(int64_t rank, int64_t size, Workers::Reduce reduce,
                          const std::function<void(Workers &)> &start) {
  const bool alone = !reduce;
  auto workers = std::make_unique<Workers>(rank, size, std::move(reduce));
  const bool whole = workers->jointly([&] {
    workers->cut(training_.setup.shards.value_or(!alone && training_.run.plan.cutting.strict ? 8 : 1));
    if (alone && workers->shards() == 1) return true;
    for (const auto &w : training_.model->held())
      if (w->spec.kept)
        fail(Code::unsupported, "\"", w->name,
             "\" is the state of a stateful layer: its batches can't be cut into parts");
    if (start) start(*workers);
    return false;
  });
  if (whole)
    steps_ = std::make_unique<Local>(training_);
  else
    steps_ = std::make_unique<Joint>(training_, *workers);
  workers_ = std::move(workers);
  training_.forget_compiled();  // Programs contain sums over the previous workers
}

bool Trainer::meet(Workers::Place place, int32_t flags) {
  Workers::Word word = word_at(training_, place);
  word.flags = flags;
  return workers_->meet(word);
}

const Sums &Trainer::step(const Batch &b, const std::atomic<int32_t> *cancel) {
  need_weights();
  return steps_->run(Task::step, b, cancel);
}

const Sums &Trainer::accumulate(const Batch &b) {
  need_weights();
  return steps_->run(Task::accumulate, b, nullptr);
}

const Sums &Trainer::evaluate(const Batch &b, const std::atomic<int32_t> *cancel) {
  return steps_->run(Task::evaluate, b, cancel);
}

void Trainer::apply() {
  need_weights();
  if (gradients.empty()) fail(Code::invalid_argument, "apply without accumulate before it");
  training_.make_writable();
  training_.schedule_rate();
  training_.compiled(routines::apply, {}).executable->run({}, {});
}

double Trainer::get(const std::string &key) const {
  const auto &rate = training_.setup.optimizer->learning_rate;
  if (key == "learning_rate" && rate.schedule)
    return static_cast<double>(rate.at(training_.state.count(kept::iterations)));
  if (key == "learning_rate") return static_cast<double>(training_.state.learning_rate());
  if (key == "iterations") return static_cast<double>(training_.updates());
  if (key == "epoch") return static_cast<double>(training_.position.epoch);
  if (key == "batch") return static_cast<double>(training_.position.batch);
  throw Error(Code::not_found, text("a trainer has no value \"", key, '"'))
      .suggest(key, {"learning_rate", "iterations", "epoch", "batch"});
}

void Trainer::set(const std::string &key, double v) {
  get(key);
  if (key == "iterations") fail(Code::invalid_argument, '"', key, "\" can be read but not set");
  if (key != "learning_rate") {
    if (training_.fitting) fail(Code::busy, '"', key, "\" is counted by the fit under way");
    if (!(v >= 0 && v <= static_cast<double>(most_epochs)) || v != std::floor(v))
      fail(Code::invalid_argument, '"', key, "\": expected an integer of at least 0 and at most 2^53 - 1, got ", v);
    const auto n = static_cast<int64_t>(v);
    position().move_to(key == "epoch" ? n : position().epoch, key == "epoch" ? 0 : n);
    return;
  }
  if (const auto &schedule = training_.setup.optimizer->learning_rate.schedule)
    fail(Code::invalid_argument, "\"learning_rate\" can't be set: ", schedule->entry().name, " determines it");
  if (!std::isfinite(v) || v < 0)
    fail(Code::invalid_argument, "\"learning_rate\": expected a finite number of at least 0, got ", v);
  FlushToZero flush;
  training_.state.learning_rate() = static_cast<float>(v);
}

std::map<std::string, Tensor> Trainer::state() const {
  std::map<std::string, Tensor> all = training_.state.tensors();
  all.insert(copies.tensors.begin(), copies.tensors.end());
  return all;
}

Json Trainer::position_json() const {
  Json j = training_.position.to_json();
  j["trainable"] = training_.trainable();
  if (const int64_t n = workers_->shards(); n > 1) j["shards"] = n;
  return j;
}

void Trainer::restore(const std::map<std::string, Tensor> &state, const Json &j) {
  training_.follow();
  Position p = Position::from_json(j, training_.results.sums());
  const Json *names = j.find("trainable");
  if (!names || !names->is_array()) fail(Code::corrupt_file, "the checkpoint does not say which weights are trainable");
  if (*names != Json(training_.trainable()))
    fail(Code::shape_mismatch, "the checkpoint was saved while other weights were trainable");
  const Json *saved = j.find("shards");
  if (const int64_t n = workers_->shards(), was = saved ? saved->get<int64_t>() : 1; n != was)
    fail(Code::shape_mismatch, "\"shards\": expected ", was, " as in the checkpoint, got ", n);
  std::map<std::string, Tensor> rest = state, copied = copies.taken_from(rest);
  training_.state.restore(rest);
  copies.tensors = std::move(copied);
  position() = std::move(p);
}

}  // namespace dl4::train

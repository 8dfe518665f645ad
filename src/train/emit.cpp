// The Programs of the trainer's entries, from one emission: forward, loss, backward, clipping, update.
#include "graph/lower.hpp"
#include "kinds/initializer.hpp"
#include "plan/differentiate.hpp"
#include "train/trainer.hpp"

namespace dl4::train {

using namespace ops;

namespace {

Id next(Emit &e, Id counter) {
  Tensor one = make_tensor(DType::i64, {});
  *one.as<int64_t>() = 1;
  return add(e, counter, e.constant(std::move(one)));
}

Id integer(Emit &e, int64_t v) {
  Tensor t = make_tensor(DType::i64, {});
  *t.as<int64_t>() = v;
  return e.constant(std::move(t));
}

}  // namespace

// One gradient per trainable weight in; the new block, slots and counters are written.
void Trainer::emit_update(Emit &e, Id w, const std::vector<Id> &gradients, std::vector<std::string> &states) {
  auto state = [&](const std::string &name) {
    states.push_back(name);
    const Tensor &t = slots_.at(name);
    return e.state(name, t.dtype, t.shape);
  };
  const std::string optimizer = text("optimizer \"", optimizer_->entry().name, '"');
  e.scope = optimizer;
  std::vector<Id> clipped = kinds::clip(e, *optimizer_, gradients);
  std::vector<int64_t> offsets;
  for (int64_t offset : offsets_)
    if (offset >= 0) offsets.push_back(offset);
  Id g = pack(e, clipped, offsets, block_.shape[0]);
  if (nan_guard_ == "gradients") {
    e.scope = "\"gradients\"";
    check_finite(e, g);
    e.scope = optimizer;
  }
  Id iterations = state("iterations"), t = next(e, iterations);
  e.write(iterations, t);
  kinds::Update u{e, w, g, state("learning_rate"), t, [&](const std::string &name, float start) {
                    slot("optimizer/" + name, DType::f32, block_.shape, static_cast<double>(start));
                    return state("optimizer/" + name);
                  }};
  Id updated = optimizer_->update(u);

  bool constrained = false;
  for (const auto &weight : model_->weights()) constrained |= weight->trainable && weight->spec.constraint;
  if (constrained) {
    std::vector<Id> parts;
    for (size_t i = 0; i < model_->weights().size(); ++i) {
      const auto &weight = *model_->weights()[i];
      if (offsets_[i] < 0) continue;
      Id part = view(e, updated, offsets_[i], weight.spec.shape);
      parts.push_back(weight.spec.constraint ? weight.spec.constraint->apply(e, part) : part);
    }
    updated = pack(e, parts, offsets, block_.shape[0]);
  }
  e.write(w, updated);
  e.scope.clear();
}

Program Trainer::emit(Entry entry, const Batch &b, std::vector<std::string> &states) {
  Program p;
  Emit e(p);
  auto state = [&](const std::string &name, DType dtype, const Shape &shape) {
    states.push_back(name);
    return e.state(name, dtype, shape);
  };
  Id block = state("weights", DType::f32, block_.shape);
  const auto &weights = model_->weights();

  if (entry == Entry::apply) {
    Id sum = state("gradients", DType::f32, block_.shape), count = state("accumulated", DType::i64, {});
    Id mean = div(e, sum, cast(e, count, DType::f32));
    std::vector<Id> gradients;
    for (size_t i = 0; i < weights.size(); ++i)
      if (offsets_[i] >= 0) gradients.push_back(view(e, mean, offsets_[i], weights[i]->spec.shape));
    emit_update(e, block, gradients, states);
    e.write(count, integer(e, 0));
    return p;
  }

  bool training = entry != Entry::evaluate;
  std::vector<Id> values, trainable;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto &w = *weights[i];
    values.push_back(offsets_[i] < 0 ? state(w.name, DType::f32, w.spec.shape)
                                     : view(e, block, offsets_[i], w.spec.shape));
    if (offsets_[i] >= 0) trainable.push_back(values.back());
  }
  Id draws = state("draws", DType::i64, {});
  graph::Lowered lowered = graph::lower(e, *model_, values, draws, training);

  auto targets = objective_.targets();
  auto data = [&](const char *what, const std::vector<runtime::View> &views) {
    std::vector<Id> ids;
    for (size_t i = 0; i < views.size(); ++i) {
      std::vector<int64_t> any(static_cast<size_t>(views[i].shape.rank()), free_dim);
      if (is_column(views[i].shape)) any.back() = 1;
      ids.push_back(e.input(text(what, " of ", model_->output_name(targets[i])), views[i].dtype, Shape(any)));
    }
    return ids;
  };
  std::vector<Id> y = data("target", b.y), w = data("sample weight", b.w);
  std::vector<Id> penalties = std::move(lowered.penalties);
  for (size_t i = 0; i < weights.size(); ++i) {
    e.scope = text("weight \"", weights[i]->name, '"');
    if (weights[i]->spec.regularizer && weights[i]->trainable)
      penalties.push_back(weights[i]->spec.regularizer->penalty(e, values[i]));
  }
  Measures m = train::emit(e, objective_, lowered.outputs, y, w, penalties);
  e.output(m.loss);
  for (const kinds::Mean &mean : m.means) {
    e.output(mean.total);
    if (mean.count != none) e.output(mean.count);
  }
  if (!training) return p;

  if (nan_guard_ != "off") {
    e.scope = "\"loss\"";
    check_finite(e, m.loss);
    e.scope.clear();
  }
  std::vector<Id> gradients = plan::differentiate(e, m.loss, trainable);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i] == none) gradients[i] = fill(e, DType::f32, 0, trainable[i], e.rank(trainable[i]), {});

  if (entry == Entry::step) {
    emit_update(e, block, gradients, states);
  } else {
    std::vector<int64_t> offsets;
    for (int64_t offset : offsets_)
      if (offset >= 0) offsets.push_back(offset);
    Id sum = state("gradients", DType::f32, block_.shape), count = state("accumulated", DType::i64, {});
    Id g = pack(e, gradients, offsets, block_.shape[0]);
    if (nan_guard_ == "gradients") {
      e.scope = "\"gradients\"";
      check_finite(e, g);
      e.scope.clear();
    }
    // The first one is taken as it is, so that accumulate and apply equal a step bit for bit.
    Id first = binary(e, Binary::equal, count, integer(e, 0));
    e.write(sum, select(e, first, g, add(e, sum, g)));
    e.write(count, next(e, count));
  }
  // Last: what was refused before it draws the same when it is tried again.
  e.write(draws, next(e, draws));
  return p;
}

}  // namespace dl4::train

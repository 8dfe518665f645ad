// One writer for all of the trainer's Programs.
#include "train/programs.hpp"

#include "graph/lower.hpp"
#include "kinds/constraint.hpp"
#include "kinds/regularizer.hpp"
#include "plan/differentiate.hpp"

namespace dl4::train {

using namespace ops;

namespace {

class Writer {
 public:
  explicit Writer(const Recipe &recipe) : recipe_(recipe), state_(recipe.state), e_(written_.program) {
    for (int64_t offset : parameters().offsets())
      if (offset >= 0) offsets_.push_back(offset);
  }

  // Outputs of the losses and the metrics' sums; gives the loss.
  Id forward(const Batch &b, bool training) {
    block_ = state(kept::weights);
    for (size_t i = 0; i < weights().size(); ++i) {
      const graph::Weight &w = *weights()[i];
      const int64_t offset = parameters().offsets()[i];
      values_.push_back(offset < 0 ? e_.state(kept::frozen(w.name), DType::f32, w.spec.shape)
                                   : view(e_, block_, offset, w.spec.shape));
      if (offset >= 0) trainable_.push_back(values_.back());
    }
    draws_ = state(kept::draws);
    graph::Lowered lowered = graph::lower(e_, recipe_.model, values_, draws_, training);
    std::vector<Id> y = inputs("target", b.y), w = inputs("sample weight", b.w);
    std::vector<Id> penalties = std::move(lowered.penalties);
    writes_ = std::move(lowered.writes);
    for (size_t i = 0; i < weights().size(); ++i) {
      e_.scope = text("weight \"", weights()[i]->name, '"');
      if (weights()[i]->spec.regularizer && weights()[i]->trainable())
        penalties.push_back(weights()[i]->spec.regularizer->penalty(e_, values_[i]));
    }
    Measures m = emit(e_, recipe_.objective, lowered.outputs, y, w, penalties);
    e_.output(m.loss);
    for (Id loss : m.losses) e_.output(loss);
    for (Id sum : m.sums) e_.output(sum);
    if (training && recipe_.nan_guard != NanGuard::off) {
      e_.scope = "\"loss\"";
      check_finite(e_, m.loss);
      e_.scope.clear();
    }
    return m.loss;
  }

  // One for each trainable weight.
  std::vector<Id> backward(Id loss) {
    std::vector<Id> gradients = plan::differentiate(e_, loss, trainable_);
    size_t at = 0;
    parameters().each([&](const graph::Weight &w, int64_t, int64_t) {
      Id &g = gradients[at];
      if (g == none) {
        written_.no_gradient.push_back(w.name);
        g = fill(e_, DType::f32, 0, trainable_[at], e_.rank(trainable_[at]), {});
      }
      ++at;
    });
    return gradients;
  }

  // The new block, slots and counters are written.
  void update(const std::vector<Id> &gradients) {
    const kinds::Optimizer &optimizer = recipe_.optimizer;
    const std::string scope = text("optimizer \"", optimizer.entry().name, '"');
    e_.scope = scope;
    Id g = packed(kinds::clip(e_, optimizer, gradients));
    e_.scope = scope;
    Id iterations = state(kept::iterations), t = next(iterations);
    e_.write(iterations, t);
    kinds::Update u{e_, block_, g, state(kept::learning_rate), t, [&](const std::string &name, float start) {
                      state_.per_weight(kept::slot(name), static_cast<double>(start));
                      return state(kept::slot(name));
                    }};
    e_.write(block_, constrained(optimizer.update(u)));
    e_.scope.clear();
  }

  // Adds to the sums of gradients.
  void accumulate(const std::vector<Id> &gradients) {
    Id sum = state(kept::gradients), count = state(kept::accumulated);
    Id g = packed(gradients);
    e_.scope.clear();
    // The first one is taken as it is, so that accumulate and apply equal a step bit for bit.
    Id first = binary(e_, Binary::equal, count, integer(0));
    e_.write(sum, select(e_, first, g, add(e_, sum, g)));
    e_.write(count, next(count));
  }

  // The mean of what was accumulated, for each trainable weight; then nothing is.
  std::vector<Id> take_mean() {
    block_ = state(kept::weights);
    Id sum = state(kept::gradients), count = state(kept::accumulated);
    Id mean = div(e_, sum, cast(e_, count, DType::f32));
    std::vector<Id> gradients;
    parameters().each([&](const graph::Weight &w, int64_t offset, int64_t) {
      gradients.push_back(view(e_, mean, offset, w.spec.shape));
    });
    accumulated_ = count;
    return gradients;
  }
  void forget() { e_.write(accumulated_, integer(0)); }

  // Last: what was refused before it leaves the weights that layers write, and draws the same when it is tried again.
  void finish() {
    for (size_t i = 0; i < writes_.size(); ++i)
      if (writes_[i] != none) e_.write(values_[i], copy(e_, writes_[i]));
    e_.write(draws_, next(draws_));
  }

  // Gradients from nowhere, for an update that is never run.
  std::vector<Id> pretended() {
    block_ = state(kept::weights);
    std::vector<Id> gradients;
    parameters().each([&](const graph::Weight &w, int64_t, int64_t) {
      gradients.push_back(e_.input("gradient", DType::f32, w.spec.shape));
    });
    return gradients;
  }

  Written take() { return std::move(written_); }

 private:
  const graph::Parameters &parameters() const { return state_.parameters; }
  const graph::Parameters::Weights &weights() const { return parameters().weights(); }

  Id state(const std::string &name) {
    const Tensor &t = state_.bound(name);
    return e_.state(name, t.dtype, t.shape);
  }

  Id integer(int64_t v) {
    Tensor t = make_tensor(DType::i64, {});
    *t.as<int64_t>() = v;
    return e_.constant(std::move(t));
  }
  Id next(Id counter) { return add(e_, counter, integer(1)); }

  std::vector<Id> inputs(const char *what, const std::vector<runtime::View> &views) {
    const auto targets = recipe_.objective.targets();
    std::vector<Id> ids;
    for (size_t i = 0; i < views.size(); ++i) {
      if (is_absent(views[i])) {
        ids.push_back(none);
        continue;
      }
      std::vector<int64_t> any(static_cast<size_t>(views[i].shape.rank()), free_dim);
      if (is_column(views[i].shape)) any.back() = 1;
      ids.push_back(e_.input(text(what, " of ", recipe_.model.output_name(targets[i])), views[i].dtype, Shape(any)));
    }
    return ids;
  }

  // All in one block, looked at if they are guarded.
  Id packed(std::vector<Id> gradients) {
    Id g = pack(e_, std::move(gradients), offsets_, parameters().block().shape[0]);
    if (recipe_.nan_guard == NanGuard::gradients) {
      e_.scope = "\"gradients\"";
      check_finite(e_, g);
    }
    return g;
  }

  // The updated block as the weights' constraints want it.
  Id constrained(Id updated) {
    bool any = false;
    std::vector<Id> parts;
    parameters().each([&](const graph::Weight &w, int64_t, int64_t) { any |= w.spec.constraint != nullptr; });
    if (!any) return updated;
    parameters().each([&](const graph::Weight &w, int64_t offset, int64_t) {
      Id part = view(e_, updated, offset, w.spec.shape);
      parts.push_back(w.spec.constraint ? w.spec.constraint->apply(e_, part) : part);
    });
    return pack(e_, parts, offsets_, parameters().block().shape[0]);
  }

  const Recipe &recipe_;
  State &state_;
  Written written_;
  Emit e_;
  std::vector<int64_t> offsets_;     // of the trainable weights
  std::vector<Id> trainable_;        // their values
  std::vector<Id> values_, writes_;  // of all weights; what layers wrote instead
  Id block_ = none, draws_ = none, accumulated_ = none;
};

}  // namespace

Written step_program(const Recipe &recipe, const Batch &b) {
  Writer w(recipe);
  w.update(w.backward(w.forward(b, true)));
  w.finish();
  return w.take();
}

Written accumulate_program(const Recipe &recipe, const Batch &b) {
  recipe.state.per_weight(kept::gradients, 0);
  recipe.state.number(kept::accumulated, DType::i64, 0);
  Writer w(recipe);
  w.accumulate(w.backward(w.forward(b, true)));
  w.finish();
  return w.take();
}

Written apply_program(const Recipe &recipe) {
  Writer w(recipe);
  w.update(w.take_mean());
  w.forget();
  return w.take();
}

Written evaluate_program(const Recipe &recipe, const Batch &b) {
  Writer w(recipe);
  w.forward(b, false);
  return w.take();
}

void make_slots(const Recipe &recipe) {
  if (recipe.state.parameters.elements() == 0) return;
  Writer w(recipe);
  w.update(w.pretended());
}

}  // namespace dl4::train

// Writes the trainer's Programs.
#include "train/programs.hpp"

#include "plan/differentiate.hpp"
#include "plan/passes.hpp"
#include "train/training.hpp"

namespace dl4::train {

using namespace ops;

class Writer final : kinds::Slots {
 public:
  explicit Writer(const Recipe &recipe)
      : t_(recipe.training), turn_(recipe.turn), parts_(recipe.parts), state_(recipe.state), e_(written_.program) {
    for (int64_t offset : parameters().offsets())
      if (offset >= 0) offsets_.push_back(offset);
  }
  Writer(const Writer &) = delete;

  // Emits losses and metrics as outputs; returns the loss.
  Id forward(const Batch &b, bool training) {
    draws_ = state(kept::draws);
    const Lowered of = lowered(b, training);
    const Id loss = measured(of, nullptr);
    if (training) guard(loss);
    return loss;
  }

  // The same for a part of a batch.
  Id part(const Batch &b, bool training) {
    const Common common = parts_inputs();
    return measured(lowered(b, training), &common);
  }

  void divisors(const Batch &b) {
    parts_inputs();
    const Lowered of = lowered(b, true);
    for (Id v : emit_divisors(e_, t_.objective, of.outputs, of.y, of.w)) e_.output(v);
    plan::leave_unread_sums(e_.program);
  }

  // Adds outputs before and after those of part().
  void give(std::vector<Id> gradients) {
    std::vector<Id> &outputs = e_.program.outputs;
    Layout &layout = written_.layout;
    layout.block = parameters().block().elements();
    for (Id v : outputs) layout.results += e_.program[v].shape.elements();
    layout.size = checked_add(layout.block, layout.results);
    outputs.insert(outputs.begin(), pack(e_, std::move(gradients), offsets_, layout.block));
    for (size_t i = 0; i < writes_.size(); ++i) {
      if (writes_[i] == none) continue;
      layout.writes.push_back(i);
      layout.size = checked_add(layout.size, e_.program[writes_[i]].shape.elements());
      e_.output(writes_[i]);
    }
  }

  // The gradients summed over all parts.
  std::vector<Id> joined() {
    const Layout &layout = parts_->layout;
    draws_ = state(kept::draws);
    hold();
    Id all = e_.input("parts", DType::f32, {layout.size}), each = e_.input("1 / parts", DType::f32, {});
    guard(view(e_, all, layout.block, {}));
    writes_.assign(weights().size(), none);
    int64_t at = layout.block + layout.results;
    for (size_t i : layout.writes) {
      const Shape &shape = weights()[i]->spec.shape;
      writes_[i] = mul(e_, view(e_, all, at, shape), each);
      at += shape.elements();
    }
    parameters().each([&](const graph::Weight &w, int64_t offset, int64_t) {
      joined_.push_back(view(e_, all, offset, w.spec.shape));
    });
    joined_block_ = view(e_, all, 0, {layout.block});
    return joined_;
  }

  // One gradient per trainable weight.
  std::vector<Id> backward(Id loss) {
    const auto factor = optimizer().loss_scale_factor;
    if (factor) loss = scale(e_, loss, static_cast<float>(*factor));
    std::vector<Id> gradients = plan::differentiate(e_, loss, trainable_);
    size_t at = 0;
    parameters().each([&](const graph::Weight &w, int64_t, int64_t) {
      Id &g = gradients[at];
      if (g == none) {
        written_.no_gradient.push_back(w.name);
        g = fill(e_, DType::f32, 0, trainable_[at], e_.rank(trainable_[at]), {});
      }
      if (factor) g = div(e_, g, e_.scalar(*factor));
      ++at;
    });
    return gradients;
  }

  // Writes the new block, slots and counters.
  void update(std::vector<Id> gradients) {
    const std::string scope = text("optimizer \"", optimizer().entry().name, '"');
    e_.scope = scope;
    Id done = state(kept::iterations), t = next(done);
    e_.write(done, t);
    Id w = none;
    if (const int64_t steps = optimizer().gradient_accumulation_steps.value_or(0)) {
      done = number(kept::updates, DType::i64, 0);
      t = next(done);
      if (turn_.updates) e_.write(done, t);
      gradients = accumulated(std::move(gradients), steps);
    }
    if (turn_.updates) {
      Id g = packed(kinds::clip(e_, optimizer(), std::move(gradients)));
      e_.scope = scope;
      const std::vector<kinds::Part> all = parts();
      kinds::Update u{e_, current(), g, state(kept::learning_rate), t, all, *this};
      w = optimizer().update(u);
    } else {
      w = current();
    }
    if (optimizer().use_ema) w = averaged(w, done);
    if (Id last = constrained(w); last != block_) e_.write(block_, last);
    e_.scope.clear();
  }

  // Adds to the gradient sums.
  void accumulate(const std::vector<Id> &gradients) {
    state_.per_weight(kept::gradients, 0);
    state_.number(kept::accumulated, DType::i64, 0);
    Id sum = state(kept::gradients), count = state(kept::accumulated);
    Id g = packed(gradients);
    e_.scope.clear();
    // The first one is copied, so that accumulate plus apply equals a step bit for bit.
    Id first = binary(e_, Binary::equal, count, integer(0));
    e_.write(sum, select(e_, first, g, add(e_, sum, g)));
    e_.write(count, next(count));
    if (Id w = current(); w != block_) e_.write(block_, w);
  }

  // The mean of the accumulated gradients of each trainable weight; resets the sums.
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

  // Last: a step that was refused before leaves weights written by layers unchanged, and draws the same numbers when
  // retried.
  void finish(bool training) {
    for (size_t i = 0; i < writes_.size(); ++i)
      if (writes_[i] != none && parameters().offsets()[i] < 0) e_.write(values_[i], copy(e_, writes_[i]));
    if (training) e_.write(draws_, next(draws_));
  }

  // Placeholder gradients, for an update that never runs.
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
  struct Lowered {
    std::vector<kinds::Symbol> outputs;
    std::vector<Id> y, w, penalties;
  };

  // Reads the values of all weights.
  void hold() {
    block_ = state(kept::weights);
    for (size_t i = 0; i < weights().size(); ++i) {
      const graph::Weight &w = *weights()[i];
      const int64_t offset = parameters().offsets()[i];
      values_.push_back(offset < 0 ? e_.state(kept::frozen(w.name), w.spec.dtype, w.spec.shape)
                                   : view(e_, block_, offset, w.spec.shape));
      if (offset >= 0) trainable_.push_back(values_.back());
    }
  }

  Common parts_inputs() {
    draws_ = e_.input("draws", DType::i64, {3});
    const auto n = static_cast<int64_t>(t_.objective.trained().size());
    const Id numbers = e_.input("divisors", DType::f32, {n + 1});
    Common common;
    for (int64_t i = 0; i < n; ++i) common.divisors.push_back(view(e_, numbers, i, {}));
    common.share = view(e_, numbers, n, {});
    return common;
  }

  Lowered lowered(const Batch &b, bool training) {
    hold();
    graph::Lowered of = graph::lower(e_, *t_.model, values_, draws_,
                                     {.training = training, .collective = parts_ ? parts_->exchange : nullptr});
    writes_ = std::move(of.writes);
    return {std::move(of.outputs), inputs("target", b.y), inputs("sample weight", b.w), std::move(of.penalties)};
  }

  Id measured(Lowered of, const Common *common) {
    for (size_t i = 0; i < weights().size(); ++i) {
      e_.scope = text("weight \"", weights()[i]->name, '"');
      if (weights()[i]->spec.regularizer && weights()[i]->trainable())
        of.penalties.push_back(weights()[i]->spec.regularizer->penalty(e_, now(i)));
    }
    Measures m = emit(e_, t_.objective, of.outputs, of.y, of.w, of.penalties, common);
    e_.output(m.loss);
    for (Id loss : m.losses) e_.output(loss);
    for (Id sum : m.sums) e_.output(sum);
    return m.loss;
  }

  void guard(Id loss) {
    if (t_.setup.nan_guard == NanGuard::off) return;
    e_.scope = "\"loss\"";
    check_finite(e_, loss);
    e_.scope.clear();
  }

  Id block(const std::string &name, float start) override {
    state_.per_weight(kept::slot(name), static_cast<double>(start));
    return state(kept::slot(name));
  }
  Id number(const std::string &name, float start) override {
    return number(kept::slot(name), DType::f32, static_cast<double>(start));
  }
  Id of(const kinds::Part &part, const std::string &name, const Shape &shape) override {
    state_.of_weight(part.name, name, shape);
    return state(kept::slot_of(part.name, name));
  }
  Id number(const std::string &name, DType dtype, double start) {
    state_.number(name, dtype, start);
    return state(name);
  }

  std::vector<kinds::Part> parts() const {
    std::vector<kinds::Part> list;
    parameters().each([&](const graph::Weight &w, int64_t offset, int64_t) {
      const bool decays =
          std::ranges::none_of(t_.setup.undecayed, [&](const auto &s) { return kinds::excludes(s, w.name); });
      list.push_back({w.name, w.spec.shape, offset, decays});
    });
    return list;
  }

  // The mean with the gradients of previous steps, if an update is due; else they are stored.
  std::vector<Id> accumulated(std::vector<Id> gradients, int64_t steps) {
    Id sum = block("gradient_accumulator", 0);
    if (!turn_.updates) {
      e_.write(sum, add(e_, packed(std::move(gradients)), sum));
      return {};
    }
    size_t at = 0;
    parameters().each([&](const graph::Weight &w, int64_t offset, int64_t) {
      Id &g = gradients[at++];
      g = div(e_, add(e_, g, view(e_, sum, offset, w.spec.shape)), e_.scalar(static_cast<double>(steps)));
    });
    e_.write(sum, fill(e_, DType::f32, 0, sum, 1, {}));
    return gradients;
  }

  // Moves the average towards the new weights, starting from them; returns the final weights.
  Id averaged(Id w, Id updates_before) {
    Id average = block(kinds::average_slot, 0);
    const auto rest = static_cast<float>(1 - optimizer().ema_momentum);
    Id first = binary(e_, Binary::equal, updates_before, integer(0));
    Id rate = select(e_, first, e_.scalar(1), e_.scalar(static_cast<double>(rest)));
    Id now = ops::update(e_, ops::Average{}, {.w = average, .g = w, .lr = rate})[0];
    e_.write(average, now);
    return turn_.overwrites ? copy(e_, now) : w;
  }

  // A weight's value after the calls.
  Id now(size_t i) const { return writes_[i] == none ? values_[i] : writes_[i]; }
  // The current block of trained weights.
  Id current() {
    bool any = false;
    std::vector<Id> parts;
    for (size_t i = 0; i < writes_.size(); ++i) {
      if (parameters().offsets()[i] < 0) continue;
      any |= writes_[i] != none;
      parts.push_back(now(i));
    }
    return any ? pack(e_, std::move(parts), offsets_, parameters().block().shape[0]) : block_;
  }

  const kinds::Optimizer &optimizer() const { return *t_.setup.optimizer; }
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
    const auto targets = t_.objective.targets();
    std::vector<Id> ids;
    for (size_t i = 0; i < views.size(); ++i) {
      if (is_absent(views[i])) {
        ids.push_back(none);
        continue;
      }
      std::vector<int64_t> any(static_cast<size_t>(views[i].shape.rank()), free_dim);
      if (is_column(views[i].shape)) any.back() = 1;
      ids.push_back(e_.input(text(what, " of ", t_.model->output_name(targets[i])), views[i].dtype, Shape(any)));
    }
    return ids;
  }

  // All gradients in one block, checked if they are guarded.
  Id packed(std::vector<Id> gradients) {
    const bool lie_so = !joined_.empty() && gradients == joined_;
    Id g = lie_so ? joined_block_ : pack(e_, std::move(gradients), offsets_, parameters().block().shape[0]);
    if (t_.setup.nan_guard == NanGuard::gradients) {
      e_.scope = "\"gradients\"";
      check_finite(e_, g);
    }
    return g;
  }

  // The updated block after the weights' constraints.
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

  const Training &t_;
  const Turn turn_;
  const Parts *const parts_;
  State &state_;
  Written written_;
  Emit e_;
  std::vector<int64_t> offsets_;     // of the trainable weights
  std::vector<Id> trainable_;        // their values
  std::vector<Id> values_, writes_;  // of all weights; values written by layers
  std::vector<Id> joined_;           // gradients of all parts, as parts of their block
  Id block_ = none, draws_ = none, accumulated_ = none, joined_block_ = none;
};

Written write(const Routine &routine, const Recipe &recipe, const Batch &b) {
  Writer w(recipe);
  routine.write(w, b);
  return w.take();
}

namespace routines {

const Routine step{"step",
                   [](Writer &w, const Batch &b) {
                     w.update(w.backward(w.forward(b, true)));
                     w.finish(true);
                   },
                   true, true};
const Routine accumulate{"accumulate",
                         [](Writer &w, const Batch &b) {
                           w.accumulate(w.backward(w.forward(b, true)));
                           w.finish(true);
                         },
                         true};
const Routine evaluate{"evaluate", [](Writer &w, const Batch &b) {
                         w.forward(b, false);
                         w.finish(false);
                       }};
const Routine apply{"apply",
                    [](Writer &w, const Batch &) {
                      w.update(w.take_mean());
                      w.forget();
                    },
                    false, true};
const Routine divide{"divisors of a part", [](Writer &w, const Batch &b) { w.divisors(b); }};
const Routine compute{"part", [](Writer &w, const Batch &b) { w.give(w.backward(w.part(b, true))); }, true};
const Routine measure{"measures of a part", [](Writer &w, const Batch &b) { w.part(b, false); }};
const Routine update{"update by parts",
                     [](Writer &w, const Batch &) {
                       w.update(w.joined());
                       w.finish(true);
                     },
                     false, true};
const Routine collect{"accumulate parts", [](Writer &w, const Batch &) {
                        w.accumulate(w.joined());
                        w.finish(true);
                      }};

}  // namespace routines

Turn next_turn(const kinds::Optimizer &optimizer, State &state) {
  Turn turn;
  int64_t updates = state.count(kept::iterations);
  if (const int64_t steps = optimizer.gradient_accumulation_steps.value_or(0)) {
    turn.updates = (updates + 1) % steps == 0;
    updates = state.count(kept::updates);
  }
  const int64_t every = optimizer.ema_overwrite_frequency.value_or(0);
  turn.overwrites = optimizer.use_ema && every > 0 && (updates + 1) % every == 0;
  return turn;
}

void make_slots(const Recipe &recipe) {
  if (recipe.state.parameters.elements() == 0) return;
  Writer w(recipe);
  w.update(w.pretended());
}

}  // namespace dl4::train

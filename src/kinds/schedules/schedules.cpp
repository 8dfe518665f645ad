// The schedules.
#include "kinds/optimizer.hpp"

#include <cmath>
#include <numbers>

#include "base/math.hpp"

namespace dl4::kinds {
namespace {

float f32(double v) { return static_cast<float>(v); }

void want_above_0(const char *key, double v) {
  if (!(v > 0)) refuse_attribute(key, "expected above 0, got ", Json(v).dump());
}

// With an initial rate and a number of steps.
struct Decay : Schedule {
  double initial = 0, steps = 0;
  void fields(Fields &f) override {
    f("initial_learning_rate", initial, "learning rate at step 0").required("0.1").at_least(0);
    f("decay_steps", steps, "steps of the decay, above 0").required("10");
  }
  void check() override { want_above_0("decay_steps", steps); }

 protected:
  // step / decay_steps.
  float done(int64_t step, bool staircase) const {
    const float p = static_cast<float>(step) / f32(steps);
    return staircase ? std::floor(p) : p;
  }
};

struct Falling : Decay {
  double rate = 0;
  bool staircase = false;
  void fields(Fields &f) override {
    Decay::fields(f);
    f("decay_rate", rate, "strength of the decay").required("0.5");
    f("staircase", staircase, "decay at whole multiples of decay_steps only");
  }
};

struct ExponentialDecay : Falling {
  static constexpr const char *doc = "initial_learning_rate * decay_rate^(step / decay_steps)";
  float at(int64_t step) const override { return f32(initial) * math::pow(f32(rate), done(step, staircase)); }
};

struct InverseTimeDecay : Falling {
  static constexpr const char *doc = "initial_learning_rate / (1 + decay_rate * step / decay_steps)";
  float at(int64_t step) const override { return f32(initial) / (1 + f32(rate) * done(step, staircase)); }
};

struct PiecewiseConstantDecay : Schedule {
  static constexpr const char *doc = "values[0] up to and at step boundaries[0], then values[1], and so on";
  std::vector<double> boundaries, values;
  void fields(Fields &f) override {
    f("boundaries", boundaries, "steps, ascending; a fraction is cut off").required("[10]");
    f("values", values, "one more than there are boundaries").required("[0.1, 0.2]").at_least(0);
  }
  void check() override {
    if (boundaries.empty() || values.size() != boundaries.size() + 1)
      fail(Code::invalid_argument, "expected one more \"values\" than \"boundaries\", and at least one of those, got ",
           values.size(), " and ", boundaries.size());
    for (size_t i = 1; i < boundaries.size(); ++i)
      if (!(boundaries[i] > boundaries[i - 1]))
        refuse_attribute("boundaries", "expected them ascending, got ", boundaries[i], " after ", boundaries[i - 1]);
  }
  float at(int64_t step) const override {
    size_t i = 0;
    while (i < boundaries.size() && static_cast<double>(step) > std::trunc(boundaries[i])) ++i;
    return f32(values[i]);
  }
};

struct PolynomialDecay : Decay {
  static constexpr const char *doc =
      "(initial_learning_rate - end_learning_rate) * (1 - step / decay_steps)^power + end_learning_rate";
  double end = 0.0001, power = 1;
  bool cycle = false;
  void fields(Fields &f) override {
    Decay::fields(f);
    f("end_learning_rate", end, "learning rate after decay_steps").at_least(0);
    f("power", power, "exponent");
    f("cycle", cycle, "start again with as many times decay_steps as step needs, instead of staying at the end");
  }
  float at(int64_t step) const override {
    auto now = static_cast<float>(step);
    float last = f32(steps);
    if (cycle)
      last *= step == 0 ? 1 : std::ceil(now / last);
    else
      now = std::min(now, last);
    return (f32(initial) - f32(end)) * math::pow(1 - now / last, f32(power)) + f32(end);
  }
};

struct CosineDecay : Decay {
  static constexpr const char *doc =
      "half a cosine from initial_learning_rate to alpha times that; with warmup_target first linearly up to it, then "
      "from there";
  double alpha = 0, warmup_steps = 0;
  std::optional<double> warmup_target;
  void fields(Fields &f) override {
    Decay::fields(f);
    f("alpha", alpha, "what is left at the end, as a part of where the decay started");
    f("warmup_target", warmup_target, "where a warm-up ends; null: none").at_least(0);
    f("warmup_steps", warmup_steps, "steps of the warm-up, before those of the decay").at_least(0);
  }
  float at(int64_t step) const override {
    const auto now = static_cast<float>(step);
    const float first = f32(initial);
    if (!warmup_target) return decayed(std::min(now, f32(steps)), first);
    const float target = f32(*warmup_target), warm = f32(warmup_steps), at = std::min(now, f32(steps) + warm);
    if (at < warm) return (target - first) * (at / warm) + first;
    return decayed(at - warm, target);
  }

 private:
  float decayed(float step, float from) const {
    const float cosine = 0.5f * (1 + math::cos(std::numbers::pi_v<float> * (step / f32(steps))));
    return from * (f32(1 - alpha) * cosine + f32(alpha));
  }
};

struct CosineDecayRestarts : Schedule {
  static constexpr const char *doc =
      "cosine decay that starts again, each period t_mul times as long, m_mul times as high";
  double initial = 0, first_steps = 0, t_mul = 2, m_mul = 1, alpha = 0;
  void fields(Fields &f) override {
    f("initial_learning_rate", initial, "learning rate at step 0").required("0.1").at_least(0);
    f("first_decay_steps", first_steps, "steps of the first period, above 0").required("10");
    f("t_mul", t_mul, "a period's length over that of the one before");
    f("m_mul", m_mul, "a period's initial rate over that of the one before");
    f("alpha", alpha, "what is left at the end of a period, as a part of initial_learning_rate");
  }
  void check() override { want_above_0("first_decay_steps", first_steps); }
  float at(int64_t step) const override {
    const float longer = f32(t_mul);
    float done = static_cast<float>(step) / f32(first_steps), restarts = 0;
    if (longer == 1) {
      restarts = std::floor(done);
      done -= restarts;
    } else {
      restarts = std::floor(math::log(1 - done * (1 - longer)) / math::log(longer));
      const float length = math::pow(longer, restarts);
      done = (done - (1 - length) / (1 - longer)) / length;
    }
    const float cosine = 0.5f * math::pow(f32(m_mul), restarts) * (1 + math::cos(std::numbers::pi_v<float> * done));
    return f32(initial) * ((1 - f32(alpha)) * cosine + f32(alpha));
  }
};

}  // namespace

DL4_KINDS(schedules, ExponentialDecay, PiecewiseConstantDecay, PolynomialDecay, InverseTimeDecay, CosineDecay,
          CosineDecayRestarts)

}  // namespace dl4::kinds

// A trainer with one batch, and how a case asks for it.
#pragma once

#include "run_case.hpp"

namespace golden {

// Targets, sample weights and options of a trainer, as the case has them.
struct Training {
  Json options;
  std::vector<Array> y, w;
};
Training training(const Case &c);

// A trainer with one batch.
class Trained {
 public:
  Trained(dl4_model *m, const Training &t, const std::vector<Array> &x)
      : x_(tensors(x)), y_(tensors(t.y)), w_(tensors(t.w)) {
    must(dl4_trainer_create(m, t.options.dump().c_str(), trainer_.out()));
    for (int64_t i = 0; i < dl4_port_count(trainer_, DL4_METRICS); ++i)
      names_.emplace_back(dl4_port_name(trainer_, DL4_METRICS, i));
  }

  operator dl4_trainer *() const { return trainer_; }
  const std::vector<std::string> &names() const { return names_; }
  float step() { return batch(dl4_trainer_step); }
  float rate() const {
    double v = 0;
    must(dl4_trainer_get_number(trainer_, "learning_rate", &v));
    return static_cast<float>(v);
  }
  float accumulate() { return batch(dl4_trainer_accumulate); }

  Own<dl4_dataset> dataset(const Json &options, bool weighted = true) {
    Own<dl4_dataset> d;
    auto x = pointers(x_), y = pointers(y_), w = weighted ? pointers(w_) : std::vector<dl4_tensor *>();
    must(dl4_dataset_from_tensors(nullptr, x.data(), size(x), y.data(), size(y), w.data(), size(w),
                                  options.dump().c_str(), d.out()));
    return d;
  }

  std::map<std::string, float> evaluate(dl4_dataset *d) {
    std::vector<double> metrics(names_.size());
    int64_t n = 0;
    must(dl4_trainer_evaluate(trainer_, d, nullptr, metrics.data(), size(metrics), &n));
    if (n != size(names_)) throw Refused(-1, "the number of metrics is not that of the ports");
    std::map<std::string, float> found;
    for (size_t i = 0; i < names_.size(); ++i) found[names_[i]] = static_cast<float>(metrics[i]);
    return found;
  }

  Array gradient(const std::string &weight) const {
    Own<dl4_tensor> g;
    must(dl4_trainer_get_gradient(trainer_, weight.c_str(), g.out()));
    return as_filed(array(g));
  }

 private:
  template <class T>
  static int64_t size(const T &v) {
    return static_cast<int64_t>(v.size());
  }
  template <class F>
  float batch(F call) {
    double loss = 0;
    auto x = pointers(x_), y = pointers(y_), w = pointers(w_);
    must(call(trainer_, x.data(), size(x), y.data(), size(y), w.data(), size(w), &loss, 1, nullptr));
    return static_cast<float>(loss);
  }

  std::vector<Own<dl4_tensor>> x_, y_, w_;
  Own<dl4_trainer> trainer_;
  std::vector<std::string> names_;
};

// The value of a weight, as the files keep it.
Array weight(const dl4_model *m, const std::string &name);

Array one(float v);
Array list(const std::vector<float> &v);

}  // namespace golden

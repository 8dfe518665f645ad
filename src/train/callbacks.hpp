// The callbacks of a fit, called in order. Their states are part of the fit's position.
#pragma once

#include "kinds/callback.hpp"
#include "train/trainer.hpp"

namespace dl4::train {

// Files and the log, for callbacks; implemented by the C API.
class Outside {
 public:
  virtual ~Outside() = default;
  virtual void say(const std::string &message) = 0;
  // Refuses paths whose suffix is no model format's.
  virtual void expect_model(const std::string &path) const = 0;
  // In the format of the path's suffix; Keras's files include the compile config.
  virtual void save_model(const Trainer &t, const std::string &path) = 0;
  virtual void save_checkpoint(const Trainer &t, const std::string &path) = 0;
  virtual bool load_checkpoint(Trainer &t, const std::string &path) = 0;  // false: no such file
  virtual void remove(const std::string &path) = 0;
  virtual void write(const std::string &path, const std::string &text, bool append) = 0;
  virtual bool has_text(const std::string &path) const = 0;
};

using CallbackList = std::vector<kinds::Of<kinds::Callback>>;

class Callbacks final : kinds::Fit {
 public:
  // outside: null if no callback needs it.
  Callbacks(Trainer &t, const CallbackList &list, Outside *outside) : t_(t), list_(list), outside_(outside) {}

  // Before the position of the fit is determined, which a callback may restore.
  void prepare();
  void train_begin(bool resumed, int64_t epochs, bool validates);
  void epoch_begin();
  void batch_end(const std::vector<double> &means);
  void test_begin();
  void test_end();
  // For the epoch that has ended; adds to the logs.
  void epoch_end(kinds::Logs &logs);
  void epoch_settled();
  void train_end();

  bool stopped = false;
  bool failed = false;  // a callback failed: the fit keeps its position

 private:
  void stop() override { stopped = true; }
  double learning_rate() const override { return t_.get("learning_rate"); }
  void set_learning_rate(double v) override { t_.set("learning_rate", v); }
  bool has_schedule() const override { return t_.optimizer().learning_rate.schedule != nullptr; }
  void swap_averages() override { t_.averages.swap(); }
  void settle_averages() override { t_.averages.settle(); }
  bool has_averages() const override { return t_.averages.kept(); }
  void keep_weights() override { t_.copies.keep(at_); }
  void restore_weights() override { t_.copies.restore(at_); }
  const std::vector<std::string> &names() const override { return names_; }
  std::optional<bool> rises(const std::string &name) const override;
  void say(const std::string &message) override { outside().say(message); }
  void expect_model(const std::string &path) const override { outside().expect_model(path); }
  void save_model(const std::string &path) override { outside().save_model(t_, path); }
  void save_place(const std::string &path) override { outside().save_checkpoint(t_, path); }
  bool restore_place(const std::string &path) override { return outside().load_checkpoint(t_, path); }
  void remove(const std::string &path) override { outside().remove(path); }
  void write(const std::string &path, const std::string &text, bool append) override {
    outside().write(path, text, append);
  }
  bool has_text(const std::string &path) const override { return outside().has_text(path); }

  Outside &outside() const;

  // f(callback, its state) for each.
  template <class F>
  void each(F f);
  kinds::Moment moment() const { return {t_.position().epoch, t_.position().batch, epochs_, false}; }

  Trainer &t_;
  const CallbackList &list_;
  Outside *outside_;
  std::vector<std::string> names_;
  int64_t epochs_ = 0;
  size_t at_ = 0;       // index of the running callback
  bool begun_ = false;  // the fit has its position
};

}  // namespace dl4::train

// Files and the log for a fit's callbacks.
#pragma once

#include "objects.hpp"
#include "train/fit.hpp"

namespace dl4::capi {

class Files final : public train::Outside {
 public:
  // writes: true on one of several workers.
  Files(Context &context, bool writes) : context_(context), writes_(writes) {}
  void say(const std::string &message) override;
  void expect_model(const std::string &path) const override;
  void save_model(const train::Trainer &t, const std::string &path) override;
  void save_checkpoint(const train::Trainer &t, const std::string &path) override;
  bool load_checkpoint(train::Trainer &t, const std::string &path) override;
  void remove(const std::string &path) override;
  void write(const std::string &path, const std::string &text, bool append) override;
  bool has_text(const std::string &path) const override;

 private:
  Context &context_;
  const bool writes_;
};

}  // namespace dl4::capi

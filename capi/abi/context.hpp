// Shared resources: threads, seed, memory, logger, switches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "graph/graph.hpp"
#include "kinds/field.hpp"
#include "runtime/executable.hpp"

namespace dl4::capi {

class Context {
 public:
  // options: a context's keys as JSON.
  explicit Context(const Json &options);

  graph::Settings settings() const;
  // Options for sessions and trainers; starts the crew in the first call.
  runtime::Options options();
  Json describe() const;
  // For later graphs.
  void set_seed(int64_t seed);

  // Frees caches of sessions and trainers.
  void trim() { executables_->trim(); }

  const std::shared_ptr<Memory> memory = std::make_shared<Memory>();
  Log log;

  struct Options {
    std::optional<int64_t> threads, memory_limit;
    int64_t seed = 0, step_limit = 100'000'000;
    graph::SeedScheme seed_scheme = graph::SeedScheme::dl4;
    enum class Reproducible { threads, strict, portable } reproducible = Reproducible::threads;
    kernels::Math math = kernels::Math::float32;
    bool emulate_bfloat16 = false;
    std::vector<std::string> passes_off, kernels_off;
    bool arena_fill_nan = false;
    enum class LogLevel { trace, debug, info, warning, error, off, unset } log_level = LogLevel::unset;
    std::optional<std::string> log_to, tuning;
    void fields(kinds::Fields &f);
  };

 private:
  void open_log();

  Options options_;
  std::shared_ptr<const Machine> machine_;  // of the option "tuning"
  bool limited_ = false;                    // memory_limit was set explicitly
  mutable Mutex mutex_;   // guards the seed and the crew
  std::shared_ptr<Crew> crew_;
  const std::shared_ptr<runtime::Executables> executables_ = std::make_shared<runtime::Executables>();
};

}  // namespace dl4::capi

// Contexts: their options, their crew, and settings of graphs and sessions.
#include "context.hpp"

#include <algorithm>

#include "backend/backend.hpp"
#include "base/cpu.hpp"
#include "base/float_mode.hpp"
#include "base/os/memory.hpp"
#include "kinds/field.hpp"
#include "options.hpp"
#include "plan/passes.hpp"
#include "tuning.hpp"

namespace dl4::capi {
namespace {

constexpr int64_t most_threads = 1024;

void need_known(const char *key, const std::vector<std::string> &given, const std::vector<std::string> &known) {
  for (const std::string &name : given) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    try {
      kinds::expected_one_of(known, name);
    } catch (Error &error) {
      throw error.with("attribute", key).in(text('"', key, '"'));
    }
  }
}

void need_portable() {
  const char *missing = FloatMode::flushing == FloatMode::plain ? "a mode that takes denormal numbers for 0"
                        : !cpu::has_fused_operations()          ? "fused multiply-add"
                                                                : nullptr;
  if (!missing) return;
  throw Error(Code::unsupported, text("\"reproducible\": expected a processor with ", missing,
                                      " for \"portable\", got ", cpu::name(), " (", cpu::isa(), ')'))
      .with("attribute", "reproducible");
}

void need_tiles(Context::Options::Reproducible reproducible) {
  if (reproducible == Context::Options::Reproducible::portable)
    throw Error(Code::invalid_argument, "\"math\": expected \"float32\" where bits are portable, got \"float32x3\"")
        .with("attribute", "math");
  if (backend::has_bfloat16_tiles()) return;
  throw Error(Code::unsupported, text("\"math\": expected a processor with AMX, and a system that gives it, for "
                                      "\"float32x3\", got ",
                                      cpu::name(), " (", cpu::isa(), ')'))
      .with("attribute", "math");
}

}  // namespace

void Context::Options::fields(kinds::Fields &f) {
  f("threads", threads, "threads that work on one run").within(1, most_threads);
  f("seed", seed, "start of all random numbers");
  f("seed_scheme", seed_scheme, {"dl4", "tensorflow"},
    "what random numbers follow from: the layers' names, or as in TensorFlow the order of creation");
  f("reproducible", reproducible, {"threads", "strict", "portable"}, "how far bits are the same");
  f("math", math, {"float32", "float32x3"}, "what large products are computed in");
  f("emulate_bfloat16", emulate_bfloat16,
    "train layers of dtype mixed_bfloat16 on a processor without products of bfloat16, slowly");
  f("memory_limit", memory_limit, "bytes for one load, model, trainer or plan").at_least(0);
  f("step_limit", step_limit, "steps that all loops of one run may take together").at_least(0);
  f("passes_off", passes_off, "passes of the planner to leave out");
  f("kernels_off", kernels_off, "kernels never to choose");
  f("tuning", tuning, "file of dl4 tune, or its text: what kernels are chosen by");
  f("arena_fill_nan", arena_fill_nan, "fill working memory with NaN before each run");
  f("log_level", log_level, {"trace", "debug", "info", "warning", "error", "off"},
    "what is logged; null: info where log_to is given, else off")
      .null_means(LogLevel::unset);
  f("log_to", log_to, "where that is written: stderr, the default, or a file");
}

Json describe_context_options() { return kinds::describe_fields<Context::Options>(); }

Context::Context(const Json &options) {
  if (!cpu::is_supported())
    throw Error(Code::unsupported, text("expected a processor with SSE4.2, got ", cpu::name(), " (", cpu::isa(), ')'));
  kinds::read_fields(options_, options);
  need_known("passes_off", options_.passes_off, plan::pass_names());
  need_known("kernels_off", options_.kernels_off, dispatch::kernel_names());
  if (options_.reproducible == Options::Reproducible::portable) need_portable();
  if (options_.math == kernels::Math::float32x3) need_tiles(options_.reproducible);
  if (options_.tuning) {
    if (options_.reproducible == Options::Reproducible::portable)
      throw Error(Code::invalid_argument, "\"tuning\": expected none where bits are portable")
          .with("attribute", "tuning");
    machine_ = read_tuning(*options_.tuning);
  }
  if (!options_.threads) options_.threads = cpu::cores_available();
  open_log();
  limited_ = options_.memory_limit.has_value();
  if (!limited_) options_.memory_limit = os::physical_memory() / 2;
}

void Context::open_log() {
  using Level = Options::LogLevel;
  const Level level = options_.log_level != Level::unset ? options_.log_level
                      : options_.log_to                  ? Level::info
                                                         : Level::off;
  if (options_.log_to && options_.log_to->empty())
    throw Error(Code::invalid_argument, "\"log_to\": expected \"stderr\" or a file, got \"\"")
        .with("attribute", "log_to");
  if (level == Level::off) return;
  try {
    log.open(static_cast<Log::Level>(level), options_.log_to.value_or("stderr"));
  } catch (Error &error) {
    throw error.with("attribute", "log_to").in("\"log_to\"");
  }
  log.write(Log::info, "libdl4 ", version_text(), ", ", cpu::name(), ", ", cpu::isa(), ", ", *options_.threads,
            *options_.threads == 1 ? " thread" : " threads");
}

graph::Settings Context::settings() const {
  std::lock_guard lock(mutex_);
  graph::Settings s;
  s.seed = static_cast<uint64_t>(options_.seed);
  s.scheme = options_.seed_scheme;
  s.memory_limit = *options_.memory_limit;
  s.limited = limited_;
  s.emulate_bfloat16 = options_.emulate_bfloat16;
  return s;
}

runtime::Options Context::options() {
  runtime::Options o;
  {
    std::lock_guard lock(mutex_);
    if (!crew_) {
      for (const backend::Library &l : backend::libraries())
        if (!l.unused.empty()) log.write(Log::info, l.name, ' ', l.description, " is not used, ", l.unused);
      crew_ = std::make_shared<Crew>(static_cast<int>(*options_.threads), kernels::stay_single_threaded);
      if (crew_->threads() < *options_.threads)
        log.write(Log::warning, "the system allows ", crew_->threads(), " of ", *options_.threads, " threads");
    }
    o.crew = crew_;
  }
  o.plan.cutting.threads = static_cast<int>(*options_.threads);
  o.plan.cutting.strict = options_.reproducible != Options::Reproducible::threads;
  o.plan.cutting.machine = machine_;
  o.plan.cutting.portable = options_.reproducible == Options::Reproducible::portable;
  o.plan.math = options_.math;
  o.plan.passes_off = options_.passes_off;
  o.plan.kernels_off = options_.kernels_off;
  if (o.plan.cutting.portable)
    for (const std::string &name : dispatch::unportable_kernels()) o.plan.kernels_off.push_back(name);
  o.plan.memory_limit = *options_.memory_limit;
  o.plan.log = &log;
  o.step_limit = options_.step_limit;
  o.fill_nan = options_.arena_fill_nan;
  o.memory = memory;
  o.executables = executables_;
  return o;
}

Json Context::describe() const {
  std::lock_guard lock(mutex_);
  return kinds::write_fields(options_);
}

void Context::set_seed(int64_t seed) {
  std::lock_guard lock(mutex_);
  options_.seed = seed;
}

dl4_context &context(dl4_context *handle) {
  if (handle) return object(handle, "context");
  // Never freed: its objects may outlive static destruction.
  static dl4_context *const process = new dl4_context(Json::object());
  return *process;
}

std::string describe(const dl4_context &c, int32_t format) {
  Json j = c.core->describe();
  if (format == DL4_FORMAT_JSON) return dump(j);
  if (format != DL4_FORMAT_TEXT) refuse_format(Tag::context, format);
  std::string s;
  for (const auto &[key, value] : j.items()) s += text(key, ": ", dump(value), '\n');
  return s;
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_context_create(const char *options, dl4_context **out) {
  return produce(__func__, out, [&] { return new dl4_context(json_options(options)); });
}

dl4_error *dl4_context_set_logger(dl4_context *c, int32_t min_level, dl4_log_fn fn, void *user) {
  return guard(__func__, [&] {
    dl4_context &context = capi::context(c);
    if (fn && (min_level < DL4_LOG_TRACE || min_level > DL4_LOG_ERROR))
      refuse_argument("min_level", text("expected 0 to 4, got ", min_level));
    context.core->log.set(min_level, fn, user);
  });
}

dl4_error *dl4_context_set_seed(dl4_context *c, int64_t seed) {
  return guard(__func__, [&] { capi::context(c).core->set_seed(seed); });
}

dl4_error *dl4_context_set_allocator(dl4_context *c, dl4_alloc_fn alloc, dl4_free_fn release, void *user) {
  return guard(__func__, [&] {
    dl4_context &context = capi::context(c);
    if (!alloc != !release) refuse_argument(alloc ? "release" : "alloc", "expected both functions or none, got NULL");
    context.core->memory->set(alloc, release, user);
  });
}

dl4_error *dl4_context_trim(dl4_context *c) {
  return guard(__func__, [&] {
    capi::context(c).core->trim();
    release_idle();
    os::trim();
  });
}

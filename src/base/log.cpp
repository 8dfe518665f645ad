// spdlog filters, formats and writes. The user's logger is one more sink, with a queue.
#include "base/log.hpp"

#define SPDLOG_NO_TLS            // a library with thread-local storage can't always be loaded with dlopen
#define SPDLOG_PREVENT_CHILD_FD  // child processes of the host must not inherit the file
// A line consists of a time, a level and a text. fmt's floating-point formatting and locales would add 30 kB of unused
// code.
#define FMT_USE_FLOAT 0
#define FMT_USE_DOUBLE 0
#define FMT_USE_LONG_DOUBLE 0
#define FMT_USE_INT128 0
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
// Private namespaces: a program that links libdl4.a may use other versions of fmt and spdlog, or with floating point.
#define fmt dl4_fmt
#define spdlog dl4_spdlog
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/os/file.hpp"
#include "base/utf8.hpp"

namespace dl4 {
namespace {

constexpr size_t most_kept = 1000;       // for a logger that is never called
constexpr size_t most_bytes = 10 << 20;  // of a file before it is rotated
constexpr size_t older_files = 3;

constexpr spdlog::level::level_enum levels[] = {spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
                                                spdlog::level::warn,  spdlog::level::err,   spdlog::level::off};

spdlog::sink_ptr sink_to(const std::string &to) {
  if (to == "stderr") return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  try {
    // An absolute path, since the process may change its directory before the file is rotated.
    return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(std::filesystem::absolute(os::path(to)).native(),
                                                                  most_bytes, older_files);
  } catch (const std::exception &e) {
    const std::string all = e.what();
    fail(Code::io, "cannot open \"", to, "\": ", all.substr(all.rfind(": ") + 2));
  }
}

class Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::pair<int, std::string>> take() {
    NoFork whole;
    std::lock_guard lock(mutex_);
    return std::exchange(kept_, {});
  }

 private:
  void sink_it_(const spdlog::details::log_msg &m) override {
    if (kept_.size() < most_kept)
      kept_.emplace_back(static_cast<int>(m.level), std::string(m.payload.data(), m.payload.size()));
  }
  void flush_() override {}
  std::vector<std::pair<int, std::string>> kept_;
};

}  // namespace

// A recursive lock for one thread at a time. Not a mutex: the user's function runs inside, and a fork by another thread
// must not wait for it. A child takes over from a thread that it does not have.
class Turn {
 public:
  void lock() {
    while (!try_lock()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  void unlock() {
    std::lock_guard lock(mutex_);
    if (owner_ == std::this_thread::get_id() && depth_ > 0) --depth_;
  }

 private:
  bool try_lock() {
    std::lock_guard lock(mutex_);
    if (owner_ != std::this_thread::get_id()) {
      if (depth_ > 0 && process_ == forks()) return false;
      depth_ = 0;
    }
    owner_ = std::this_thread::get_id();
    process_ = forks();
    ++depth_;
    return true;
  }
  Mutex mutex_;
  std::thread::id owner_;
  uint32_t process_ = 0;
  int depth_ = 0;
};

struct Log::Queue {
  std::shared_ptr<Sink> sink = std::make_shared<Sink>();
  spdlog::logger logger{"dl4", sink};
  Turn turn;  // for delivering messages or setting the logger, which the logger may do itself
  Deliver deliver = nullptr;
  void *user = nullptr;
};

Log::Log() : queue_(std::make_shared<Queue>()) {
  queue_->sink->set_level(spdlog::level::off);
  queue_->logger.set_level(spdlog::level::off);
  queue_->logger.flush_on(spdlog::level::trace);
  queue_->logger.set_error_handler([](const std::string &) {});
}
Log::~Log() = default;

void Log::open(Level level, const std::string &to) {
  NoFork whole;
  spdlog::sink_ptr sink = sink_to(to);
  sink->set_level(levels[level]);
  queue_->logger.sinks().push_back(std::move(sink));
  queue_->logger.set_level(levels[level]);
  opened_ = level;
  least_.store(level, std::memory_order_relaxed);
}

void Log::set(int32_t min_level, Deliver deliver, void *user) {
  const int level = deliver ? std::clamp<int>(min_level, trace, off) : off;
  std::lock_guard turn(queue_->turn);
  queue_->sink->take();
  queue_->deliver = deliver;
  queue_->user = user;
  queue_->sink->set_level(levels[level]);
  queue_->logger.set_level(levels[std::min(level, opened_)]);
  least_.store(std::min(level, opened_), std::memory_order_relaxed);
}

void Log::write(Queue &queue, Level level, const std::string &message) {
  NoFork whole;  // covers the sinks' locks
  const std::string line = printable(message);
  queue.logger.log(levels[level], spdlog::string_view_t(line.data(), line.size()));
}

void Log::deliver(std::shared_ptr<Queue> queue) {
  auto kept = queue->sink->take();
  if (kept.empty()) return;
  std::lock_guard turn(queue->turn);
  try {
    for (const auto &[level, message] : kept)
      if (queue->deliver)
        call_host("logger", [&, level = level, text = message.c_str()] { queue->deliver(queue->user, level, text); });
  } catch (const std::exception &) {
  }
}

}  // namespace dl4

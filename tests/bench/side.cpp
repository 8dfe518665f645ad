// libdl4's side of the comparison: reads a request as a JSON line, does it, answers with a JSON line. The peers' sides
// (peers/protocol.py) speak the same.
#include <malloc.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "model.hpp"
#include "row.hpp"

namespace {

using namespace bench;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Seconds of all threads of this process.
double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

Json describe(const Row &r) {
  Json j = {{"name", r.name}, {"outputs", r.outputs}, {"threads", r.threads}, {"runs", r.runs}, {"training", nullptr}};
  if (r.trains()) j["training"] = {{"optimizer", r.training.optimizer}, {"loss", r.training.loss}};
  for (const Input &i : r.inputs) j["inputs"].push_back({{"name", i.name}, {"shape", i.shape}, {"ids", i.ids}});
  for (const Layer &l : r.layers)
    j["layers"].push_back(
        {{"kind", l.kind}, {"name", l.name}, {"inputs", l.inputs}, {"attributes", Json::parse(l.attributes)}});
  return j;
}

// Of this process, in bytes: "VmRSS" or its peak, "VmHWM".
int64_t memory(const std::string &what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(what + ":")) return std::stoll(line.substr(what.size() + 1)) * 1024;
  return -1;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// The row's numbers for the peers: one file of bytes, and arrays.json that says what lies where.
class Arrays {
 public:
  explicit Arrays(const std::string &folder) : folder_(folder), bytes_(folder + "/arrays.bin", std::ios::binary) {}
  template <class T>
  void add(const std::string &name, const std::vector<int64_t> &shape, const T *values, size_t count) {
    index_[name] = {{"shape", shape}, {"type", std::is_same_v<T, float> ? "float32" : "int32"}, {"offset", offset_}};
    bytes_.write(reinterpret_cast<const char *>(values), static_cast<std::streamsize>(count * sizeof(T)));
    offset_ += count * sizeof(T);
  }
  void finish() {
    std::ofstream index(folder_ + "/arrays.json");
    index << index_;
    if (!index.flush() || !bytes_.flush()) throw std::runtime_error("cannot write into " + folder_);
  }

 private:
  std::string folder_;
  std::ofstream bytes_;
  Json index_;
  size_t offset_ = 0;
};

class Side {
 public:
  Json answer(const Json &request) {
    std::string what = request.at("do");
    if (what == "rows") return rows();
    if (what == "prepare") return prepare(request);
    if (what == "first") return first(request);
    if (what == "time") return {{"us", times(request.at("seconds"), request.value("cpu", false))}};
    if (what == "latency") return latency(request.at("calls"));
    if (what == "callers") return {{"per_second", throughput(request.at("callers"), request.at("seconds"))}};
    if (what == "memory") return {{"growth", memory("VmHWM") - memory("RssFile") - before_}, {"peak", memory("VmHWM")}};
    throw std::runtime_error("unknown request " + what);
  }

 private:
  Json rows() {
    Json j = {{"build", Json::parse(build_info())}};
    for (const Row &r : table()) j["rows"].push_back(describe(r));
    return j;
  }

  Json prepare(const Json &request) {
    model_.reset();
    data_.reset();
    const std::string name = request.at("row").at("name");
    auto row = std::ranges::find(table(), name, &Row::name);
    if (row == table().end()) throw std::runtime_error("no row " + name);
    training_ = request.at("training");
    data_.emplace(*row);
    malloc_trim(0);  // what is free already must not hide what the row takes
    reset_peak();
    before_ = memory("VmRSS") - memory("RssFile");  // code that is read from files is no memory of the row
    auto start = Clock::now();
    model_ = std::make_unique<Model>(*row, *data_, request.at("threads"), training_);
    call();
    double ready = since(start);
    if (request.contains("folder")) {
      // The call above was a step: the numbers are those of a model that starts anew.
      Model fresh(*row, *data_, request.at("threads"), training_);
      write_row(*row, fresh, request.at("folder"));
    }
    auto warm = Clock::now();
    int64_t calls = 0;
    do call(), ++calls;
    while (since(warm) < 0.05);
    chunk_ = std::max<int64_t>(1, std::llround(0.002 / (since(warm) / static_cast<double>(calls))));
    return {{"ready_ms", ready * 1e3}, {"creation_ms", model_->creation() * 1e3}, {"difference", 0.0}};
  }

  void write_row(const Row &row, Model &fresh, const std::string &folder) {
    Arrays arrays(folder);
    fresh.save(folder + "/model.safetensors");
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      const Input &in = row.inputs[i];
      if (in.ids)
        arrays.add("input " + in.name, in.shape, data_->ids[i].data(), data_->ids[i].size());
      else
        arrays.add("input " + in.name, in.shape, data_->inputs[i].data(), data_->inputs[i].size());
    }
    for (const auto &[name, w] : fresh.weights())
      arrays.add("weight " + name, w.shape, w.values.data(), w.values.size());
    if (training_) {
      auto shape = target_shape(row);
      if (shape.size() == 1)
        arrays.add("target", shape, data_->labels.data(), data_->labels.size());
      else
        arrays.add("target", shape, data_->targets.data(), data_->targets.size());
      std::vector<float> losses;
      for (int i = 0; i < 3; ++i) losses.push_back(static_cast<float>(fresh.step()));
      arrays.add("expected 0", {3}, losses.data(), losses.size());
    } else {
      fresh.run();
      for (size_t o = 0; o < row.outputs.size(); ++o)
        arrays.add("expected " + std::to_string(o), {static_cast<int64_t>(fresh.output(o).size())},
                   fresh.output(o).data(), fresh.output(o).size());
    }
    arrays.finish();
  }

  // Milliseconds from a saved model in memory to the first result, in fresh processes that have the library loaded.
  static Json first(const Json &request) {
    const std::string name = request.at("row").at("name"), folder = request.at("folder");
    const Row &row = *std::ranges::find(table(), name, &Row::name);
    std::ifstream in(folder + "/model.safetensors", std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), {}};
    Data data(row);
    Json ms = Json::array();
    for (int64_t i = request.at("starts"); i > 0; --i) {
      int ends[2];
      if (pipe(ends) != 0) throw std::runtime_error("no pipe");
      pid_t child = fork();
      if (child == 0) {
        double spent = -1;
        try {
          auto start = Clock::now();
          Model model(row, data, request.at("threads"), request.at("training"), file);
          request.at("training") ? static_cast<void>(model.step()) : model.run();
          spent = since(start) * 1e3;
        } catch (const std::exception &) {  // told by the time
        }
        _exit(write(ends[1], &spent, sizeof spent) == sizeof spent ? 0 : 1);
      }
      double spent = -1;
      close(ends[1]);
      if (read(ends[0], &spent, sizeof spent) != sizeof spent || spent < 0) throw std::runtime_error("no first result");
      close(ends[0]);
      waitpid(child, nullptr, 0);
      ms.push_back(spent);
    }
    return {{"ms", ms}, {"difference", 0.0}};
  }

  void call() { training_ ? static_cast<void>(model_->step()) : model_->run(); }

  // Microseconds of a call: means of chunks of about 2 ms. What brings the caches back doesn't count.
  std::vector<double> times(double seconds, bool cpu) {
    auto warm = Clock::now();
    do call();
    while (since(warm) < 0.01);
    std::vector<double> us;
    auto start = Clock::now();
    do {
      auto begin = Clock::now();
      double used = processor_time();
      for (int64_t i = 0; i < chunk_; ++i) call();
      double spent = cpu ? processor_time() - used : since(begin);
      us.push_back(spent * 1e6 / static_cast<double>(chunk_));
    } while (since(start) < seconds);
    return us;
  }

  Json latency(int64_t calls) {
    std::vector<double> us(static_cast<size_t>(calls));
    for (int i = 0; i < 100; ++i) call();
    for (double &one : us) {
      auto begin = Clock::now();
      call();
      one = since(begin) * 1e6;
    }
    std::ranges::sort(us);
    auto at = [&](double q) { return us[static_cast<size_t>(q * static_cast<double>(calls - 1))]; };
    return {{"p50", at(0.5)}, {"p99", at(0.99)}, {"p99.9", at(0.999)}, {"max", us.back()}};
  }

  // Calls per second of so many threads on the one session.
  double throughput(int callers, double seconds) {
    if (training_) throw std::runtime_error("a trainer is for one thread at a time");
    std::atomic<bool> go = false, stop = false;
    std::atomic<int64_t> calls = 0;
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < callers; ++i)
      threads.emplace_back([&, out = model_->new_outputs()]() mutable {
        while (!go) std::this_thread::yield();
        int64_t own = 0;
        try {
          for (; !stop; ++own) model_->run(out);
        } catch (const std::exception &) {
          ++failed;
        }
        calls += own;
      });
    auto start = Clock::now();
    go = true;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    for (std::thread &t : threads) t.join();
    double spent = since(start);
    if (failed) throw std::runtime_error(std::to_string(failed) + " threads failed");
    return static_cast<double>(calls) / spent;
  }

  std::optional<Data> data_;
  std::unique_ptr<Model> model_;
  bool training_ = false;
  int64_t chunk_ = 1, before_ = 0;
};

// "0,1": the cores this process may use.
void pin(const std::string &cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::istringstream list(cores);
  for (std::string core; std::getline(list, core, ',');) CPU_SET(std::stoul(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string(argv[i]) == "--cores") pin(argv[i + 1]);
  Side side;
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      Json request = Json::parse(line);
      if (request.at("do") == "stop") break;
      answer = side.answer(request);
    } catch (const std::exception &e) {
      answer = {{"error", e.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

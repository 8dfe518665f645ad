// Times every row of the table against its floor; see README.md for the options.
#include <benchmark/benchmark.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "allocations.hpp"
#include "base/float_mode.hpp"
#include "direct.hpp"
#include "measure.hpp"
#include "model.hpp"
#include "report.hpp"
#include "row.hpp"

namespace {

using namespace bench;

struct Options {
  std::string rows, json, markdown;
  bool smoke = false, scaling = false, busy = false, describe = false;
  int threads = 0;
  Pace pace;
};

Options parse(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (a == "--smoke")
      o.smoke = true;
    else if (a == "--scaling")
      o.scaling = true;
    else if (a == "--busy")
      o.scaling = o.busy = true;
    else if (a == "--describe")
      o.describe = true;
    else if (a == "--cpu")
      o.pace.cpu = true, o.threads = 1;
    else if (a == "--rows")
      o.rows = value();
    else if (a == "--json")
      o.json = value();
    else if (a == "--markdown")
      o.markdown = value();
    else if (a == "--threads")
      o.threads = std::stoi(value());
    else if (a == "--rounds")
      o.pace.rounds = std::stoi(value());
    else if (a == "--seconds")
      o.pace.seconds = std::stod(value());
    else
      throw std::runtime_error("unknown option " + a);
  }
  return o;
}

// A process that spins on the last core until this one ends.
class Neighbour {
 public:
  Neighbour() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(std::thread::hardware_concurrency() - 1, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
    for (volatile unsigned spin = 0;;) spin = spin + 1;
  }
  ~Neighbour() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Neighbour(const Neighbour &) = delete;

 private:
  pid_t pid_;
};

double relative(double a, double b) { return std::abs(a - b) / std::max(1.0, std::abs(b)); }

// The largest difference between the two sides' numbers; NaN counts as infinite.
double difference(const Row &row, Model &ours, Direct &floor, bool training) {
  double worst = 0;
  auto see = [&](double a, double b) {
    double d = relative(a, b);
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
  };
  if (training) {
    for (int i = 0; i < 3; ++i) see(ours.step(), floor.step());
    return worst;
  }
  ours.run();
  floor.run();
  for (size_t o = 0; o < row.outputs.size(); ++o) {
    auto a = ours.output(o), b = floor.output(o);
    if (a.size() != b.size()) return INFINITY;
    for (size_t i = 0; i < a.size(); ++i) see(a[i], b[i]);
  }
  return worst;
}

double seconds_of(const std::function<void()> &f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Line line(const Row &row, bool training, int threads, const Options &o) {
  Line l;
  l.row = row.name, l.mode = training ? "train" : "run", l.threads = threads;
  Data data(row);
  auto call = [training](Model &m) { training ? static_cast<void>(m.step()) : m.run(); };
  {  // a model of its own: this is about the first call
    Model first(row, data, threads, training);
    double cold = seconds_of([&] { call(first); });
    Seconds warm;
    for (int i = 0; i < (o.smoke ? 1 : 5); ++i) warm.push_back(seconds_of([&] { call(first); }));
    l.creation = cold - median(warm);
  }
  Model ours(row, data, threads, training);
  std::optional<Direct> floor;
  if (row.floor && !o.scaling) {
    floor.emplace(row, data, ours.weights(), threads, training);
    l.routines = floor->routines();
    l.difference = difference(row, ours, *floor, training);
  }
  if (o.describe)
    std::printf("%s, %s, %d threads\n%s\n", row.name.c_str(), l.mode.c_str(), threads, ours.describe().c_str());
  if (o.smoke) return l;

  constexpr int counted = 10;
  call(ours);
  Allocations before = allocations();
  for (int i = 0; i < counted; ++i) call(ours);
  Allocations spent = allocations() - before;
  l.own_allocations = static_cast<double>(spent.own) / counted;
  l.other_allocations = static_cast<double>(spent.others) / counted;
  l.arena_bytes = ours.arena_bytes();

  std::vector<std::function<void()>> sides{[&] { call(ours); }};
  if (floor) sides.push_back([&] { training ? static_cast<void>(floor->step()) : floor->run(); });
  std::optional<Model> alone;
  if (o.scaling) sides.push_back([&, &one = alone.emplace(row, data, 1, training)] { call(one); });
  auto times = measure(sides, o.pace);
  l.ours = times[0];
  if (floor) l.floor = times[1];
  if (o.scaling) l.alone = times.back();
  return l;
}

bool wanted(const Row &row, bool training, int threads, const Options &o) {
  std::string name = row.name + (training ? " train" : " run");
  if (!o.rows.empty() && name.find(o.rows) == std::string::npos) return false;
  if (o.threads && threads != o.threads) return false;
  return (!o.scaling || threads == 2) && (training ? row.trains() : row.runs);
}

void write(const std::string &path, const std::string &text) {
  if (path.empty()) return;
  std::ofstream out(path);
  out << text << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

int run(const Options &o) {
  std::unique_ptr<Neighbour> neighbour;
  if (o.busy) neighbour = std::make_unique<Neighbour>();  // before there are threads
  Machine here = machine();
  watch_allocations();
  dl4::FlushToZero::set();  // as libdl4 does in its runs
  std::vector<Line> lines;
  int wrong = 0;
  for (bool training : {false, true}) {
    for (const Row &row : table()) {
      for (int threads : row.threads) {
        if (!wanted(row, training, threads, o)) continue;
        try {
          lines.push_back(line(row, training, threads, o));
        } catch (const std::exception &e) {
          std::fprintf(stderr, "%s, %d threads: %s\n", row.name.c_str(), threads, e.what());
          ++wrong;
          continue;
        }
        const Line &l = lines.back();
        bool right = l.difference <= 1e-4;
        wrong += !right;
        std::fprintf(stderr, "%-36s %-5s %d  ours %10.2f us  floor %10.2f us  ratio %5.2f  difference %.1e%s  (%s)\n",
                     l.row.c_str(), l.mode.c_str(), l.threads, median(l.ours) * 1e6, median(l.floor) * 1e6,
                     o.scaling ? ratio(l.ours, l.alone) : ratio(l.ours, l.floor), l.difference, right ? "" : " WRONG",
                     l.routines.c_str());
      }
    }
  }
  if (!o.smoke) {
    std::string table = markdown(here, lines, o.scaling, o.busy);
    std::printf("%s", table.c_str());
    write(o.markdown, table);
    write(o.json, json(here, lines, o.scaling, o.busy));
  }
  return wrong ? 1 : 0;
}

}  // namespace

int main(int argc, char **argv) {
  int none = 1;
  benchmark::Initialize(&none, argv);
  try {
    return run(parse(argc, argv));
  } catch (const std::exception &e) {
    std::fprintf(stderr, "dl4_bench: %s\n", e.what());
    return 2;
  }
}

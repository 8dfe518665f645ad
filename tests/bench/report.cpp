// Reads the machine's name and writes the tables.
#include "report.hpp"

#include <sys/utsname.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "model.hpp"

namespace bench {
namespace {

template <class... A>
std::string format(const char *f, A... a) {
  char s[512];
  std::snprintf(s, sizeof s, f, a...);
  return s;
}

std::string microseconds(const Seconds &s) {
  if (s.empty()) return "-";  // a row without a floor
  double us = median(s) * 1e6;
  return format(us < 10 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us);
}

std::string times(double ratio) { return std::isnan(ratio) ? "-" : format("%.2f", ratio); }

std::string bytes(int64_t n) {
  if (n < 10240) return format("%lld", static_cast<long long>(n));
  double k = static_cast<double>(n) / 1024;
  return k < 10240 ? format("%.0f K", k) : format("%.1f M", k / 1024);
}

}  // namespace

Machine machine() {
  Machine m;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    m.cpu = line.substr(line.find(':') + 2);
    break;
  }
  utsname u{};
  if (uname(&u) == 0) m.kernel = std::string(u.sysname) + " " + u.release + " " + u.machine;
  std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  m.date = date;
  m.build_info = build_info();
  m.cores = static_cast<int>(std::thread::hardware_concurrency());
  if (getloadavg(&m.load, 1) != 1) m.load = -1;
  return m;
}

std::string markdown(const Machine &m, const std::vector<Line> &lines, bool scaling, bool busy) {
  auto info = nlohmann::json::parse(m.build_info, nullptr, false);
  std::string s = format("%s, %d cores, %s; %s; load average %.2f before the run.\n\n", m.cpu.c_str(), m.cores,
                         m.kernel.c_str(), m.date.c_str(), m.load);
  for (auto &[key, value] : info.items())
    s += "- " + key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
  if (scaling) {
    s += busy ? "\nOne other process spins on one core. " : "\n";
    s += "Microseconds; ratio: to the one-thread time of the same rounds.\n\n"
         "| row | mode | 1 thread | 2 threads | ratio |\n|---|---|--:|--:|--:|\n";
    for (const Line &l : lines)
      s += format("| %s | %s | %s | %s | %.2f |\n", l.row.c_str(), l.mode.c_str(), microseconds(l.alone).c_str(),
                  microseconds(l.ours).c_str(), ratio(l.ours, l.alone));
    return s;
  }
  s += "\nMicroseconds of a call, median of interleaved rounds; +- half of the rounds. Allocations of a call: libdl4's "
       "own, and all others (oneDNN, ...).\n\n"
       "| row | mode | threads | libdl4 | +- | direct calls | ratio | own allocations | others | arena bytes | "
       "plan, ms |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const Line &l : lines)
    s += format("| %s | %s | %d | %s | %.0f %% | %s | %s | %.3g | %.3g | %s | %.2f |\n", l.row.c_str(), l.mode.c_str(),
                l.threads, microseconds(l.ours).c_str(), 100 * spread(l.ours), microseconds(l.floor).c_str(),
                times(ratio(l.ours, l.floor)).c_str(), l.own_allocations, l.other_allocations,
                bytes(l.arena_bytes).c_str(), l.creation * 1e3);
  return s;
}

std::string json(const Machine &m, const std::vector<Line> &lines, bool scaling, bool busy) {
  nlohmann::ordered_json j;
  j["machine"] = {{"cpu", m.cpu}, {"cores", m.cores}, {"kernel", m.kernel}, {"load", m.load}};
  j["date"] = m.date;
  j["build"] = nlohmann::json::parse(m.build_info, nullptr, false);
  j["busy"] = busy;
  for (const Line &l : lines) {
    nlohmann::ordered_json line = {{"row", l.row},
                                   {"mode", l.mode},
                                   {"threads", l.threads},
                                   {"seconds", l.ours},
                                   {"floor_seconds", l.floor},
                                   {"median", median(l.ours)},
                                   {"floor_median", median(l.floor)},
                                   {"ratio", ratio(l.ours, l.floor)},
                                   {"own_allocations", l.own_allocations},
                                   {"other_allocations", l.other_allocations},
                                   {"arena_bytes", l.arena_bytes},
                                   {"plan_seconds", l.creation},
                                   {"difference", l.difference},
                                   {"floor", l.routines}};
    if (scaling) line["one_thread_seconds"] = l.alone, line["ratio_to_one_thread"] = ratio(l.ours, l.alone);
    j["lines"].push_back(std::move(line));
  }
  return j.dump(1);
}

}  // namespace bench

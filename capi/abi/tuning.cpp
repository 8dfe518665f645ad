#include "tuning.hpp"

#include <algorithm>

#include "backend/backend.hpp"
#include "base/cpu.hpp"
#include "base/os/file.hpp"
#include "base/utf8.hpp"
#include "kinds/field.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

// What the numbers hold for: measured ones are worth nothing elsewhere.
std::string processor() {
  const auto kib = [](double bytes) { return static_cast<int64_t>(bytes) >> 10; };
  const auto &[first, second, last] = this_machine().cache;
  return text(valid_utf8(cpu::name()), ", ", cpu::isa(), ", caches of ", kib(first), ", ", kib(second), " and ",
              kib(last), " KiB");
}

constexpr double least_times = 0.01, most_times = 100;

struct Tuning {
  std::string libdl4 = version_text(), processor = capi::processor();
  double gigahertz = this_machine().gigahertz;
  std::vector<double> cycles{this_machine().line.begin(), this_machine().line.end()};
  std::optional<kinds::Numbers> kernels;

  void fields(kinds::Fields &f) {
    f("libdl4", libdl4, "version of the library that it was measured with").required("\"1.0.0\"");
    f("processor", processor, "what it was measured on").required("\"\"");
    f("gigahertz", gigahertz, "cycles a second by 1e9").within(0.1, 10);
    f("cycles", cycles, "to read 64 bytes of each of three caches and of memory").within(0.001, 1000);
    f("kernels", kernels, "times as long as computed, by kernel");
  }
};

// Refusals of a value name its key.
template <class F>
void under(const char *key, const F &check) {
  try {
    check();
  } catch (Error &error) {
    throw error.with("attribute", key).in(text('"', key, '"'));
  }
}

void need(const char *key, const std::string &expected, const std::string &got) {
  if (got == expected) return;
  throw Error(Code::unsupported, text('"', key, "\": expected \"", expected, "\", got \"", got, '"'))
      .with("attribute", key);
}

std::string content(const std::string &path) {
  constexpr int64_t most = 1 << 16;
  const os::File file(path);
  if (file.size() > most)
    fail(Code::invalid_argument, '"', path, "\": expected at most ", most, " bytes, got ", file.size());
  std::string all(static_cast<size_t>(file.size()), '\0');
  all.resize(file.read(0, std::as_writable_bytes(std::span(all))));
  return all;
}

Machine machine_of(const std::string &json) {
  Tuning t;
  kinds::read_fields(t, json_object(json.c_str(), "tuning"));
  need("libdl4", version_text(), t.libdl4);
  need("processor", processor(), t.processor);
  Machine m = this_machine();
  if (t.cycles.size() != m.line.size())
    under("cycles", [&] { kinds::expected(text(m.line.size(), " numbers"), t.cycles); });
  m.gigahertz = t.gigahertz;
  std::copy(t.cycles.begin(), t.cycles.end(), m.line.begin());
  const std::vector<std::string> &known = dispatch::kernel_names();
  for (const auto &entry : t.kernels.value_or(kinds::Numbers())) {
    const std::string &kernel = entry.first;
    const double times = entry.second;
    under("kernels", [&] {
      if (std::find(known.begin(), known.end(), kernel) == known.end()) kinds::expected_one_of(known, kernel);
      if (!(times >= least_times && times <= most_times)) kinds::expected("numbers from 0.01 to 100", times);
    });
    m.times[kernel] = times;
  }
  return m;
}

}  // namespace

Json computed_tuning() { return kinds::write_fields(Tuning()); }

std::shared_ptr<const Machine> read_tuning(const std::string &given) {
  try {
    return std::make_shared<const Machine>(machine_of(given.starts_with('{') ? given : content(given)));
  } catch (Error &error) {
    throw error.with("attribute", "tuning").in("\"tuning\"");
  }
}

}  // namespace dl4::capi

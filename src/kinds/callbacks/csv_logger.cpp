// CSVLogger.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "kinds/callback.hpp"

namespace dl4::kinds {
namespace {

// Formats as Python does.
std::string number(double v) {
  if (!std::isfinite(v)) return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
  char s[64];
  std::string text(s, std::to_chars(s, s + sizeof s, v).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

struct CSVLogger : Callback {
  static constexpr const char *doc = "a line for each epoch: its number from 0, then what the history has, by name";
  std::string path, separator = ",";
  bool append = false;

  void fields(Fields &f) override {
    f("filename", path).required(R"("log.csv")").doc("the file");
    f("separator", separator).doc("one character between the columns");
    f("append", append).doc("go on in a file that is there; a resumed fit does so too");
  }
  void check() override {
    if (separator.size() != 1) refuse_attribute("separator", "expected one character, got \"", separator, '"');
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    if (at.resumed) return;
    state = {{"names", nullptr}};
    f.write(path, "", append);
  }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &logs) const override {
    std::string text;
    if (state["names"].is_null()) {
      state["names"] = columns(logs);
      text = line("epoch", state["names"], [](const std::string &s) { return s; });
      if (append) text = f.has_text(path) ? std::string() : text;
    }
    text += line(std::to_string(at.epoch), state["names"], [&](const std::string &s) {
      const double *v = find(logs, s);
      return v ? number(*v) : "NA";
    });
    f.write(path, text, true);
  }

 private:
  static Json columns(const Logs &logs) {
    std::vector<std::string> names;
    for (const Logged &l : logs) names.push_back(l.name);
    std::ranges::sort(names);
    if (std::ranges::none_of(names, [](const std::string &s) { return s.starts_with("val_"); }))
      for (size_t i = 0, n = names.size(); i < n; ++i) names.push_back("val_" + names[i]);
    return names;
  }
  template <class F>
  std::string line(const std::string &first, const Json &names, F cell) const {
    std::string s = first;
    for (const Json &n : names) s += separator + quoted(cell(n.get<std::string>()));
    return s + "\r\n";
  }
  std::string quoted(const std::string &s) const {
    if (s.find_first_of("\"\r\n" + separator) == std::string::npos) return s;
    std::string q = "\"";
    for (char c : s) q += c == '"' ? "\"\"" : std::string(1, c);
    return q + '"';
  }
};

}  // namespace

DL4_KINDS(csv_logger, CSVLogger)

}  // namespace dl4::kinds

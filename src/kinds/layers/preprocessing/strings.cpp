// StringConcat, StringCase, StringSplit and NgramCounts: of ONNX's operators on texts.
#include "base/error.hpp"
#include "kinds/layer.hpp"
#include "ops/text.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct StringConcat final : LayerOf<StringConcat> {
  static constexpr const char *doc =
      "Each string of the first input with that of the second behind it; their shapes broadcast.";
  static constexpr PlainFacts plain{.inputs = {{"x1", "(...), strings"}, {"x2", "(...), strings"}},
                                    .outputs = {{"y", "(...), strings"}}};
  Arity arity() const override { return {2, 2}; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_strings(0), c.need_strings(1);
    return {{ops::join_texts(c.e, c.x(0), c.x(1))}};
  }
};

struct StringCase final : LayerOf<StringCase> {
  static constexpr const char *doc =
      "Strings in small letters or capitals, each letter for itself. A letter whose other case is several letters, or "
      "of a script other than Latin, Greek, Cyrillic and Armenian that has case, is an error of the run, as are bytes "
      "that are no UTF-8.";
  enum class To { lower, upper } to = To::lower;
  bool ascii = false;

  void fields(Fields &f) override {
    f("to", to, {"lower", "upper"}).doc("which letters");
    f("ascii", ascii).doc("A to Z alone: all other bytes stay");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings"}}, .outputs = {{"y", "(...), strings"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_strings(0);
    return {{ops::change_case(c.e, c.x(), to == To::upper, ascii)}};
  }
};

struct StringSplit final : LayerOf<StringSplit> {
  static constexpr const char *doc =
      "Strings cut into pieces along a new last axis, as long as the most pieces that one has; and how many each has. "
      "That size is known once a run has computed it: a session runs such a model, training and streams refuse it.";
  std::string delimiter, pad;
  std::optional<std::string> expression;
  int64_t maxsplit = -1, min_length = 1;

  void fields(Fields &f) override {
    f("delimiter", delimiter).doc("what lies between pieces; \"\": any run of spaces, tabs and line ends of ASCII");
    f("maxsplit", maxsplit).doc("how often a string is cut at most; below 0: any number of times");
    f("expression", expression)
        .example("\"[a-z]+\"")
        .doc(
            "instead of a delimiter a regular expression, whose matches are the pieces: a class ([a-z_], [^,;], \\w, "
            "\\d, \\s) or a character, once or several times, with or without + behind it; or . for any character");
    f("min_length", min_length).at_least(1).at_most(max_dim).doc("with an expression: shorter pieces are left out");
    f("pad", pad).doc("fills up the rows of strings with fewer pieces than others");
  }
  void check() override {
    if (expression && !delimiter.empty()) refuse_attribute("delimiter", "expected \"\" with an \"expression\"");
    if (expression && maxsplit >= 0) refuse_attribute("maxsplit", "expected -1 with an \"expression\"");
    if (!expression && min_length > 1) refuse_attribute("min_length", "expected 1 without an \"expression\"");
    splitter();
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings"}},
                                    .outputs = {{"pieces", "(..., most pieces), strings"}, {"count", "(...), int64"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_strings(0);
    ops::Emit &e = c.e;
    const Id count = ops::count_pieces(e, c.x(), splitter());
    std::vector<int> axes;
    for (int i = 0; i < c.shape().rank(); ++i) axes.push_back(i);
    const Id most = axes.empty() ? count : ops::reduce(e, ops::Reduce::max, count, axes);
    const Id n = ops::binary(e, ops::Binary::max, most, e.scalar(0, DType::i64));  // of no strings
    return {{ops::pieces(e, c.x(), splitter(), ops::range(e, n))}, {count}};
  }

 private:
  Splitter splitter() const {
    if (!expression) return Splitter::at(delimiter, maxsplit, pad);
    try {
      return Splitter::by(*expression, min_length, pad);
    } catch (Error &error) {
      error.in("\"expression\"").with("attribute", "expression");
      throw;
    }
  }
};

struct NgramCounts final : LayerOf<NgramCounts> {
  static constexpr const char *doc =
      "How often each of the given sequences of integers occurs in a row of the input, as float32.";
  std::vector<int64_t> ngrams, lengths, columns;
  int64_t max_skip_count = 0;
  std::optional<int64_t> width;
  std::shared_ptr<const Ngrams> made;

  void fields(Fields &f) override {
    f("ngrams", ngrams).required("[3, 7, 3]").doc("the integers of all sequences, one sequence after the other");
    f("lengths", lengths).required("[1, 2]").doc("how many integers each sequence has");
    f("columns", columns).required("[0, 1]").doc("in which column each sequence is counted");
    f("width", width)
        .at_least(1)
        .at_most(max_dim)
        .doc("how many columns there are at least; null: the last that is named");
    f("max_skip_count", max_skip_count)
        .at_least(0)
        .at_most(max_dim)
        .doc("how many integers may lie between two neighbours, as many between all of a sequence");
  }
  void check() override {
    made = std::make_shared<const Ngrams>(ngrams, lengths, columns, max_skip_count, width.value_or(0));
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, N), integers"}}, .outputs = {{"y", "(B, columns)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 2);
    return {{ops::count_ngrams(c.e, ops::cast(c.e, c.x(), DType::i64), made)}};
  }
};

}  // namespace
DL4_KINDS(strings, StringConcat, StringCase, StringSplit, NgramCounts)
}  // namespace dl4::kinds

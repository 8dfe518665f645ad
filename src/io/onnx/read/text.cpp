// ONNX's ops on strings.
#include "io/onnx/read/ml.hpp"

#include "base/pieces.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

std::vector<std::string> texts(const Op &op, const std::string &name) {
  const Attribute *a = op.node.find(name);
  const bool is_tensor = a && a->t && a->t->type == Type::string;
  if (a && a->type != 8 && !is_tensor) fail(Code::corrupt_file, "has \"", name, "\" that are no strings");
  std::vector<std::string> all;
  if (!a) return all;
  const std::vector<std::string_view> &given = is_tensor ? a->t->packed : a->strings;
  int64_t bytes = 0;
  for (std::string_view s : given) bytes = checked_add(bytes, static_cast<int64_t>(4 * s.size() + 256));
  op.take(bytes);
  for (std::string_view s : given) {
    if (const std::string valid = valid_utf8(s); valid != s)
      fail(Code::corrupt_file, "has \"", name, "\" that are no UTF-8: \"", excerpt(valid), '"');
    all.emplace_back(s);
  }
  return all;
}

std::string text(const Op &op, const char *name) {
  const std::string s = op.string(name);
  if (valid_utf8(s) != s)
    fail(Code::corrupt_file, "has \"", name, "\" that is no UTF-8: \"", excerpt(valid_utf8(s)), '"');
  return s;
}

Vocabulary::Vocabulary(const std::vector<std::string> &all) {
  for (const std::string &text : all) {
    const auto [at, fresh] = first.emplace(text, static_cast<int64_t>(first.size()));
    if (fresh) distinct.push_back(text);
    places.push_back(at->second);
  }
  while (first.count(other)) other += '_';
}

Node place_of_text(const Op &op, Node x, const std::vector<std::string> &all, bool takes_others) {
  const Vocabulary v(all);
  const int64_t others = takes_others ? 1 : 0;
  Ints places(static_cast<size_t>(others), 0);  // of distinct texts the first of equal ones
  for (size_t i = 0; i < all.size(); ++i)
    if (v.places[i] + others == static_cast<int64_t>(places.size())) places.push_back(static_cast<int64_t>(i) + others);
  const Json config{{"vocabulary", v.distinct}, {"oov_token", v.other}, {"num_oov_indices", others}};
  const Node which = op.layer("StringLookup", config, {x});
  if (v.first.size() == all.size()) return which;
  return op.layer("Take", {{"axis", 0}}, {op.constant_node(tensor_of(places)), which});
}

Node text_of_place(const Op &op, Node place, const std::vector<std::string> &all) {
  const Vocabulary v(all);
  if (v.first.size() < all.size())
    place = op.layer("Take", {{"axis", 0}}, {op.constant_node(tensor_of(v.places)), place});
  const Json config{{"vocabulary", v.distinct}, {"oov_token", v.other}, {"num_oov_indices", 0}, {"invert", true}};
  return op.layer("StringLookup", config, {place});
}

void need_texts(const Op &op, bool wanted) {
  const DType t = op.in(0).dtype;
  if ((t == DType::string) != wanted) fail(Code::corrupt_file, "has ", wanted ? "strings" : "numbers", " for ", t);
}

// A constant of strings: a list of distinct ones at constant places.
Node Op::constant_texts(const Tensor &t) const {
  std::vector<std::string> all;
  for (const String &s : strings(t)) all.emplace_back(s.view());
  const Vocabulary v(all);
  if (all.empty()) all.emplace_back();
  const Node places = r.constant(tensor_of(v.places, DType::i64, t.shape));
  Json config{{"vocabulary", all.size() == v.places.size() ? v.distinct : Json(all)}, {"oov_token", v.other + '_'}};
  config["num_oov_indices"] = 0, config["invert"] = true;
  return layer("StringLookup", config, {places});
}

namespace {

std::string locale_of(const Op &op) { return op.says("locale") ? op.string("locale") : ""; }

// In the case that the node asks for, or that strings are compared in.
Node in_case(const Op &op, Node x, const std::string &how) {
  if (how == "NONE") return x;
  return op.layer("StringCase", {{"to", how == "UPPER" ? "upper" : "lower"}, {"ascii", locale_of(op) == "C"}}, {x});
}
std::string in_case(const Op &op, const std::string &word, const std::string &how) {
  std::string all;
  if (!append_in_case(word, how == "UPPER", locale_of(op) == "C", all).empty())
    op.refuse("has the stopword \"", excerpt(word), "\", of whose letters the other case is not known");
  return all;
}

void string_normalizer(const Op &op) {
  need_texts(op, true);
  Value &v = op.in(0);
  if (v.rank() != 1 && (v.rank() != 2 || !(v.dims[0] == Dim{})))
    op.refuse("of other shapes than (C) and (1, C) is not supported");
  const std::string change = op.string("case_change_action"), locale = locale_of(op);
  if (change != "NONE" && !locale.empty() && locale != "en_US" && locale != "C")
    op.refuse("\"locale\" ", locale, " is not supported; expected en_US, or C, of ASCII alone");
  const Node x = op.x(0), changed = in_case(op, x, change);
  std::vector<std::string> stops = texts(op, "stopwords");
  if (stops.empty()) return op.give(0, changed, v.dims);
  op.need_counting();
  Node key = x;
  if (!op.flag("is_case_sensitive")) {
    const std::string how = change == "NONE" ? "LOWER" : change;
    key = change == "NONE" ? in_case(op, x, how) : changed;
    for (std::string &s : stops) s = in_case(op, s, how);
  }
  const auto list = [&](Node n) { return v.rank() == 1 ? n : op.layer("Squeeze", {{"axis", 0}}, {n}); };
  // An empty string behind them, which stays where no other does.
  const Node stays = by_number(op, "Equal", place_of_text(op, list(key), stops, true), 0);
  const Node none = op.layer("LogicalNot", {}, {op.layer("Any", {{"axis", Ints{0}}, {"keepdims", true}}, {stays})});
  const auto behind = [&](Node a, Node b) { return op.layer("Concatenate", {{"axis", 0}}, {a, b}); };
  const Node empty = text_of_place(op, op.constant_node(tensor_of(Ints{0})), {""});
  const Dim n = op.symbols().sum(v.dims.back(), Dim{});
  const Nodes nodes{op};
  const Value y = nodes.of("Compress",
                           {value_of(op, behind(list(changed), empty), {n}, Type::string),
                            value_of(op, behind(stays, none), {n}, Type::boolean)},
                           {{"axis", 0}});
  op.give_value(0, v.rank() == 1 ? y : nodes.unsqueeze(y, 0));
}

void string_concat(const Op &op) {
  for (size_t i : {size_t{0}, size_t{1}})
    if (op.in(i).dtype != DType::string) fail(Code::corrupt_file, "has numbers as input ", i, ", expects strings");
  op.give(0, op.layer("StringConcat", {}, {op.x(0), op.x(1)}), op.broadcast({&op.in(0), &op.in(1)}));
}

void give_pieces(const Op &op, const Json &config) {
  need_texts(op, true);
  op.need_counting();
  const Value &v = op.in(0);
  if (v.rank() >= max_rank) op.refuse("gives a value of ", v.rank() + 1, " axes");
  const std::vector<Node> y = op.layers("StringSplit", config, {op.x(0)});
  op.give(0, y[0], v.dims);
  op.give(1, y[1], v.dims);
}

void string_split(const Op &op) {
  Json config{{"maxsplit", std::max<int64_t>(op.integer("maxsplit", -1), -1)}};
  if (op.says("delimiter")) config["delimiter"] = text(op, "delimiter");
  give_pieces(op, config);
}

void regular_expression(const Op &op) { op.refuse("is not supported: regular expressions are not read"); }

// Of the n-grams in the pool the ids, lengths and columns of those of wanted lengths.
struct Pool {
  Ints flat, lengths, columns;
};
Pool pool_of(const Op &op, const Ints &ids, const Ints &columns) {
  const Ints starts = op.integers("ngram_counts").value_or(Ints{});
  const int64_t least = op.integer("min_gram_length"), most = op.integer("max_gram_length");
  if (least < 1 || most < least) fail(Code::corrupt_file, "has n-grams of ", least, " to ", most, " items");
  if (starts.empty() || starts[0] != 0) fail(Code::corrupt_file, "has \"ngram_counts\" that do not begin with 0");
  const auto all = static_cast<int64_t>(ids.size());
  Pool pool;
  size_t next = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t begin = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : all, n = static_cast<int64_t>(i) + 1;
    if (begin < 0 || begin > end || end > all || (end - begin) % n != 0)
      fail(Code::corrupt_file, "has \"ngram_counts\" from ", begin, " to ", end, " of n-grams of ", n,
           " items in a pool of ", all);
    for (int64_t at = begin; at < end; at += n, ++next) {
      if (next == columns.size()) fail(Code::corrupt_file, "has more n-grams than \"ngram_indexes\"");
      if (n < least || n > most) continue;
      pool.flat.insert(pool.flat.end(), ids.begin() + at, ids.begin() + at + n);
      pool.lengths.push_back(n);
      pool.columns.push_back(columns[next]);
    }
  }
  if (next != columns.size())
    fail(Code::corrupt_file, "has ", next, " n-grams and ", columns.size(), " \"ngram_indexes\"");
  return pool;
}

void tf_idf_vectorizer(const Op &op) {
  Value &v = op.in(0);
  const std::vector<std::string> words = texts(op, "pool_strings");
  Ints ids = op.integers("pool_int64s").value_or(Ints{});
  if (words.empty() == ids.empty()) fail(Code::corrupt_file, "expects one of \"pool_int64s\" and \"pool_strings\"");
  need_texts(op, !words.empty());
  if (v.rank() < 1 || v.rank() > 2) fail(Code::corrupt_file, "expects items (C) or (N, C), got ", v.rank(), " axes");
  Node x = op.x(0);
  if (!words.empty()) {
    const Vocabulary distinct(words);
    for (int64_t place : distinct.places) ids.push_back(place + 1);
    x = place_of_text(op, x, distinct.distinct.get<std::vector<std::string>>(), true);
  } else if (v.dtype != DType::i32 && v.dtype != DType::i64) {
    op.refuse("is supported for int32, int64 and strings, not for ", v.dtype);
  }
  const Ints columns = op.integers("ngram_indexes").value_or(Ints{});
  if (columns.empty() || *std::ranges::min_element(columns) < 0)
    fail(Code::corrupt_file, "has \"ngram_indexes\" that are none or below 0");
  const int64_t width = *std::ranges::max_element(columns) + 1;
  if (width >= max_dim) op.refuse("gives ", width, " columns");
  op.take(checked_add(checked_mul(128, static_cast<int64_t>(ids.size() + columns.size())), checked_mul(4, width)));
  const Pool pool = pool_of(op, ids, columns);
  if (pool.lengths.empty()) op.refuse("has no n-grams of the wanted lengths");
  const Json config{{"ngrams", pool.flat},
                    {"lengths", pool.lengths},
                    {"columns", pool.columns},
                    {"width", width},
                    {"max_skip_count", op.integer("max_skip_count")}};
  if (v.rank() == 1) x = op.layer("ExpandDims", {{"axis", 0}}, {x});
  Node y = op.layer("NgramCounts", config, {x});
  const std::string mode = op.string("mode");
  if (mode == "IDF") y = by_number(op, "BroadcastMinimum", y, 1);
  const std::vector<double> weights = reals(op, "weights");
  if (!weights.empty() && weights.size() != columns.size())
    fail(Code::corrupt_file, "has ", weights.size(), " weights of ", columns.size(), " n-grams");
  if (mode != "TF" && !weights.empty()) {
    std::vector<double> by(static_cast<size_t>(width), 0);
    for (size_t i = 0; i < columns.size(); ++i) by[static_cast<size_t>(columns[i])] = weights[i];
    y = times(op, y, row(op, by));
  }
  std::vector<Dim> dims = v.dims;
  dims.back() = Dim{width, {}};
  op.give(0, v.rank() == 1 ? op.layer("Squeeze", {{"axis", 0}}, {y}) : y, dims);
}

}  // namespace

void tokenizer(const Op &op) {
  const Attribute *separators = op.node.find("separators");
  if ((separators != nullptr) == op.says("tokenexp"))
    fail(Code::corrupt_file, "expects one of \"separators\" and \"tokenexp\"");
  if (op.flag("mark")) op.refuse("\"mark\" 1 is not supported");
  if (op.in(0).rank() < 1 || op.in(0).rank() > 2)
    fail(Code::corrupt_file, "expects texts (C) or (N, C), got ", op.in(0).rank(), " axes");
  const int64_t least = op.integer("mincharnum");
  if (least < 1) fail(Code::corrupt_file, "has \"mincharnum\" ", least);
  std::string expression;
  if (separators) {
    const std::vector<std::string> all = texts(op, "separators");
    expression = all == std::vector<std::string>{""} ? "." : between({all.begin(), all.end()});
  } else {
    expression = text(op, "tokenexp");
  }
  give_pieces(op, {{"expression", expression}, {"min_length", least}, {"pad", text(op, "pad_value")}});
}

constexpr Row text_table[] = {
    {"StringNormalizer", string_normalizer,
     "X > Y; case_change_action=NONE|LOWER|UPPER is_case_sensitive=0|1 locale:string stopwords:strings"},
    {"StringConcat", string_concat, "X Y > Z"},
    {"StringSplit", string_split, "X > Y Z; delimiter:string maxsplit:int"},
    {"RegexFullMatch", regular_expression},
    {"TfIdfVectorizer", tf_idf_vectorizer,
     "X > Y; max_gram_length:int! max_skip_count:int! min_gram_length:int! mode!TF|IDF|TFIDF ngram_counts:ints! "
     "ngram_indexes:ints! pool_int64s:ints pool_strings:strings weights:floats"},
};
const std::span<const Row> text_rows = text_table;

}  // namespace dl4::io::onnx

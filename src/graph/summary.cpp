// Text forms of a graph: a table, and Graphviz's language.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/utf8.hpp"
#include "graph/model.hpp"

namespace dl4::graph {
namespace {

std::string kind_of(const Layer &l) { return l.input ? "InputLayer" : !l.kind ? "Constant" : l.kind->entry().name; }

std::string grouped(int64_t n) {
  std::string s = std::to_string(n);
  for (auto at = static_cast<int64_t>(s.size()) - 3; at > 0; at -= 3) s.insert(static_cast<size_t>(at), ",");
  return s;
}

// "(None, 8)".
std::string shape_text(const Shape &shape) {
  std::string s = "(";
  for (int64_t d : shape) s += (s.size() > 1 ? ", " : "") + (d == free_dim ? "None" : std::to_string(d));
  return s + (shape.rank() == 1 ? ",)" : ")");
}

std::string size_text(int64_t elements) {
  constexpr const char *units[] = {"B", "KB", "MB", "GB", "TB"};
  double bytes = 4 * static_cast<double>(elements);
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  auto hundredths = static_cast<int64_t>(bytes * 100 + 0.5);
  std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (rest.size() < 2 ? "0" : "") + rest + " " + units[unit];
}

// Whether each call reads the one before it, and no layer occurs twice.
bool is_chain(const Graph &g, const std::vector<CallId> &calls) {
  std::set<LayerId> layers;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call &c = g.calls()[calls[i]];
    if (!layers.insert(c.layer).second) return false;
    auto from = c.sources();
    if (i == 0 ? !from.empty() : from.size() != 1 || g.origin(from[0]).call != calls[i - 1]) return false;
  }
  return true;
}

std::string table(const Graph &g, const std::vector<CallId> &calls) {
  std::vector<std::vector<std::string>> rows{{"Layer (type)", "Output Shape", "Param #", "Connected to"}};
  bool chain = is_chain(g, calls);
  std::set<const Weight *> seen;
  int64_t trainable = 0, fixed = 0;
  for (CallId id : calls) {
    const Call &c = g.calls()[id];
    const Layer &l = g.layers()[c.layer];
    int64_t parameters = 0;
    for (const auto &w : l.weights) {
      if (w->spec.kept) continue;
      parameters += w->spec.shape.elements();
      if (seen.insert(w.get()).second) (w->trainable() ? trainable : fixed) += w->spec.shape.elements();
    }
    std::string shapes, from;
    for (Node n : c.out) shapes += (shapes.empty() ? "" : ", ") + shape_text(g.shape(n));
    for (Node n : c.sources()) {
      Origin o = g.origin(n);
      from += (from.empty() ? "" : ", ") +
              text(printable(g.layer_of(o.call).name), '[', g.calls()[o.call].number, "][", o.output, ']');
    }
    rows.push_back({text(printable(l.name), " (", kind_of(l), ')'), c.out.size() > 1 ? "[" + shapes + "]" : shapes,
                    grouped(parameters), from.empty() ? "-" : from});
  }
  size_t columns = chain ? 3 : 4, total = 0;
  std::vector<size_t> width(columns, 0);
  for (const auto &row : rows)
    for (size_t i = 0; i < columns; ++i) width[i] = std::max(width[i], row[i].size() + 2);
  for (size_t w : width) total += w;
  std::string s = std::string(total, '_') + '\n';
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < columns; ++i) line += row[i] + std::string(width[i] - row[i].size(), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    s += line + '\n';
    if (&row == &rows[0]) s += std::string(total, '=') + '\n';
  }
  s += std::string(total, '=') + '\n';
  auto count = [&](const char *what, int64_t n) {
    s += text(what, " params: ", grouped(n), " (", size_text(n), ")\n");
  };
  count("Total", trainable + fixed);
  count("Trainable", trainable);
  count("Non-trainable", fixed);
  return s;
}

std::string quoted(const std::string &s) {
  std::string q = "\"";
  for (char c : printable(s)) {
    if (c == '"' || c == '\\') q += '\\';
    q += c;
  }
  return q + '"';
}

std::string drawing(const Graph &g, const std::vector<CallId> &calls) {
  std::string s = "digraph model {\n  node [shape=box];\n";
  for (CallId id : calls) {
    const Call &c = g.calls()[id];
    const Layer &l = g.layers()[c.layer];
    std::string label = quoted(l.name + " (" + kind_of(l) + ")");
    label.insert(label.size() - 1, c.out.empty() ? "" : "\\n" + shape_text(g.shape(c.out[0])));
    s += text("  c", id, " [label=", label, "];\n");
    for (Node n : c.in) s += text("  c", g.origin(n).call, " -> c", id, ";\n");
    for (const auto &[key, list] : c.arguments.nodes)
      for (Node n : list)
        if (n != no_node)
          s += text("  c", g.origin(n).call, " -> c", id, " [style=dashed, label=", quoted(key), "];\n");
  }
  return s + "}\n";
}

}  // namespace

std::string Graph::summary() const { return "Graph\n" + table(*this, calls_.ids()); }
std::string Graph::dot() const { return drawing(*this, calls_.ids()); }
std::string Model::summary() const { return "Model\n" + table(*graph_, needed_calls(*graph_, in_, out_)); }
std::string Model::dot() const { return drawing(*graph_, needed_calls(*graph_, in_, out_)); }

}  // namespace dl4::graph

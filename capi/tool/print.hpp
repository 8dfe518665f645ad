// What goes to stdout: text, tables and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dl4::tool {

using Json = nlohmann::ordered_json;

// Control characters, which a file may bring, come out as "?".
std::string printable(std::string text);
// Refuses what could not be written.
void print(const std::string &text);
void print(const Json &json);

// Columns by the widest cell; a column of numbers stands to the right. The first row is the heading.
std::string table(const std::vector<std::vector<std::string>> &rows);

// Lines of at most 80 columns, each word of which stands in the text; later lines begin at `next`.
std::string wrapped(const std::string &text, size_t first, size_t next);
// "; did you mean "summary"?" where a word is near to what was given, else "".
std::string did_you_mean(const std::string &given, const std::vector<std::string> &words);

std::string number(double v);                         // six digits
std::string size(int64_t bytes);                      // "97.8 MiB"
std::string shape(const std::vector<int64_t> &dims);  // "[?, 28, 28]"
Json json_shape(const std::vector<int64_t> &dims);    // null is free

}  // namespace dl4::tool

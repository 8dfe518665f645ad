// What goes to stdout: text, tables and JSON.
#pragma once

#include <nlohmann/json.hpp>
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

std::string number(double v);                         // six digits
std::string size(int64_t bytes);                      // "97.8 MiB"
std::string shape(const std::vector<int64_t> &dims);  // "[?, 28, 28]"
Json json_shape(const std::vector<int64_t> &dims);    // null is free

}  // namespace dl4::tool

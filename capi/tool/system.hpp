// What the command asks of the system; a file for each. Words and paths are UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace dl4::tool::os {

// What follows the command's name. Standard input and output carry bytes from here on.
std::vector<std::string> words(int count, char **given);
// The handler runs once, in a signal; another Ctrl-C ends the process.
void on_interrupt(void (*handler)());
// Those below say why in errno: by null, false, "" or -1.
FILE *open(const std::string &path, bool to_write);
bool writable(const std::string &folder);
std::string make_folder(const std::string &in);  // a new one, its name hidden
int64_t read_input(char *to, size_t n);
int64_t write_output(const char *from, size_t n);
bool terminal();  // whether standard error is one
int64_t peak_memory();
// Runs a program with that input and waits: what it ends with; none where it is not there.
std::optional<int> run(const std::vector<std::string> &words, const std::string &input);

}  // namespace dl4::tool::os

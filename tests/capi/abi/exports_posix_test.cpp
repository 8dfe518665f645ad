// What the shared object shows to the dynamic linker: the functions of the header under one version, and nothing else.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace DL4_FILE {
namespace {

// The lines a command prints; none if it is not there.
std::vector<std::string> lines_of(const std::string &command) {
  std::vector<std::string> lines;
  FILE *pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return lines;
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += char(c);
  pclose(pipe);
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool any_has(const std::vector<std::string> &lines, const std::string &word) {
  for (const std::string &line : lines) {
    if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

TEST(Exports, AreTheFunctionsOfTheDescription) {
  std::ifstream file(DL4_SOURCE_DIR "/capi/dl4-api.json");
  const auto description = nlohmann::json::parse(file);
  std::set<std::string> described = {"A DL4_1.0"}, exported;
  for (const auto &f : description["functions"]) described.insert("T " + f["name"].get<std::string>() + "@@DL4_1.0");
  for (const std::string &line : lines_of("nm -D --defined-only --with-symbol-versions " DL4_LIBRARY)) {
    const auto kind = line.find(' ');
    std::string symbol = line.substr(kind + 1);
    if (symbol == "A DL4_1.0@@DL4_1.0") symbol = "A DL4_1.0";
    exported.insert(symbol);
  }
  if (exported.empty()) GTEST_SKIP() << "nm is not there";
  EXPECT_EQ(exported, described);
}

TEST(Exports, TheObjectStaysLoaded) {
  const auto dynamic = lines_of("readelf -dW " DL4_LIBRARY);
  if (dynamic.empty()) GTEST_SKIP() << "readelf is not there";
  EXPECT_TRUE(any_has(dynamic, "[libdl4.so.1]"));
  EXPECT_TRUE(any_has(dynamic, "NODELETE")) << "unloading a user of OpenMP ends in a segmentation fault";
}

TEST(Exports, TheObjectHasNoThreadLocalStorage) {
  const auto segments = lines_of("readelf -lW " DL4_LIBRARY);
  if (segments.empty()) GTEST_SKIP() << "readelf is not there";
  EXPECT_TRUE(any_has(segments, "GNU_RELRO"));
  EXPECT_FALSE(any_has(segments, "  TLS  "));
  for (const std::string &line : segments)
    EXPECT_FALSE(line.find("GNU_STACK") != std::string::npos && line.find("RWE") != std::string::npos) << line;
}

// What a compiler knows of these follows from cmake/hardening.cmake.
TEST(Exports, TheObjectIsHardened) {
  const auto symbols = lines_of("readelf -W --dyn-syms " DL4_LIBRARY);
  if (symbols.empty()) GTEST_SKIP() << "readelf is not there";
  if (std::string(DL4_HARDENING).empty()) GTEST_SKIP() << "built without hardening, as for a sanitizer";
  const auto has = [](const char *flag) { return std::strstr(DL4_HARDENING, flag) != nullptr; };
  EXPECT_TRUE(!has("stack-protector") || any_has(symbols, "__stack_chk_fail"));
  EXPECT_TRUE(!has("FORTIFY") || any_has(symbols, "_chk@GLIBC")) << "no call of the C library is checked";
}

// A program that links libdl4.a may have other versions of the libraries whose headers are compiled into it.
TEST(Exports, TheStaticLibraryDefinesNamesOfItsOwn) {
  const auto symbols = lines_of("nm -gC --defined-only " DL4_BINARY_DIR "/libdl4.a");
  if (symbols.empty()) GTEST_SKIP() << "there is no libdl4.a";
  for (const std::string &symbol : symbols)
    for (const char *other : {" fmt::", " spdlog::", " hwy::", " inflate", " crc32", " adler32"})
      EXPECT_EQ(symbol.find(other), std::string::npos) << symbol;
}

TEST(Exports, LibrariesAndTheCommandAreLinkedSo) {
  std::stringstream files(DL4_HARDENED);
  for (std::string file; std::getline(files, file, ':');) {
    const auto dynamic = lines_of("readelf -dW " + file);
    if (dynamic.empty()) GTEST_SKIP() << "readelf is not there";
    EXPECT_TRUE(any_has(dynamic, "BIND_NOW")) << file;
    EXPECT_TRUE(any_has(lines_of("readelf -lW " + file), "GNU_RELRO")) << file;
    if (std::strstr(DL4_HARDENING, "cf-protection")) {
      EXPECT_TRUE(any_has(lines_of("readelf -nW " + file), "SHSTK")) << file;
    }
  }
}

}  // namespace
}  // namespace DL4_FILE

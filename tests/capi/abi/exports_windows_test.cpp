// What the DLL shows to a program: the functions of the header and nothing else; and what it asks for itself.
#include <gtest/gtest.h>
#include <windows.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace DL4_FILE {
namespace {

const char *base() { return reinterpret_cast<const char *>(GetModuleHandleW(L"dl4.dll")); }

// The start of a table of the loaded DLL.
template <class T>
const T *table(int which) {
  const auto *dos = reinterpret_cast<const IMAGE_DOS_HEADER *>(base());
  const auto *nt = reinterpret_cast<const IMAGE_NT_HEADERS *>(base() + dos->e_lfanew);
  return reinterpret_cast<const T *>(base() + nt->OptionalHeader.DataDirectory[which].VirtualAddress);
}

TEST(Exports, AreTheFunctionsOfTheDescription) {
  std::ifstream file(DL4_SOURCE_DIR "/capi/dl4-api.json");
  const auto description = nlohmann::json::parse(file);
  std::set<std::string> described, exported;
  for (const auto &f : description["functions"]) described.insert(f["name"].get<std::string>());
  ASSERT_TRUE(base());
  const auto *exports = table<IMAGE_EXPORT_DIRECTORY>(IMAGE_DIRECTORY_ENTRY_EXPORT);
  const auto *names = reinterpret_cast<const DWORD *>(base() + exports->AddressOfNames);
  for (DWORD i = 0; i < exports->NumberOfNames; ++i) exported.insert(base() + names[i]);
  EXPECT_EQ(exported, described);
}

TEST(Exports, TheDllAsksForTheSystemAlone) {
  ASSERT_TRUE(base());
  for (const auto *one = table<IMAGE_IMPORT_DESCRIPTOR>(IMAGE_DIRECTORY_ENTRY_IMPORT); one->Name; ++one) {
    std::string name(base() + one->Name);
    for (char &c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_TRUE(std::set<std::string>({"kernel32.dll", "msvcrt.dll", "advapi32.dll"}).count(name)) << name;
  }
}

}  // namespace
}  // namespace DL4_FILE

#include "io/onnx/protobuf.hpp"

#include "base/error.hpp"

namespace dl4::io {
namespace {

[[noreturn]] void ends(const char *what) { fail(Code::corrupt_file, what, " ends in the middle of a field"); }

}  // namespace

uint64_t take_varint(std::string_view &bytes, const char *what) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) ends(what);
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    v |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return v;
  }
  fail(Code::corrupt_file, what, " has a number of more than 64 bits");
}

uint64_t take_fixed(std::string_view &bytes, size_t size, const char *what) {
  if (bytes.size() < size) ends(what);
  uint64_t v = 0;
  for (size_t i = size; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[i]);
  bytes.remove_prefix(size);
  return v;
}

bool Message::next(Field &field) {
  if (bytes_.empty()) return false;
  const uint64_t tag = take_varint(bytes_, what_);
  field = {static_cast<int64_t>(tag >> 3), static_cast<Field::Type>(tag & 7), 0, {}};
  if (field.number == 0 || field.number >= int64_t{1} << 29) fail(Code::corrupt_file, what_, " has a field ", tag >> 3);
  if (field.type == Field::Type::varint) {
    field.value = take_varint(bytes_, what_);
  } else if (field.type == Field::Type::fixed64 || field.type == Field::Type::fixed32) {
    field.value = take_fixed(bytes_, field.type == Field::Type::fixed64 ? 8 : 4, what_);
  } else if (field.type == Field::Type::bytes) {
    const uint64_t size = take_varint(bytes_, what_);
    if (size > bytes_.size()) ends(what_);
    field.bytes = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  } else {
    fail(Code::corrupt_file, what_, " has a field of type ", tag & 7);
  }
  return true;
}

void MessageWriter::raw(uint64_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  bytes += static_cast<char>(value);
}

void MessageWriter::varint(int64_t number, int64_t value) {
  raw(static_cast<uint64_t>(number) << 3);
  raw(static_cast<uint64_t>(value));
}

void MessageWriter::real(int64_t number, float value) {
  raw(static_cast<uint64_t>(number) << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(bits >> (8 * i) & 255);
}

void MessageWriter::text(int64_t number, std::string_view value) {
  raw(static_cast<uint64_t>(number) << 3 | 2);
  raw(value.size());
  bytes += value;
}

}  // namespace dl4::io

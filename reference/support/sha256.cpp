#include "reference/support/sha256.h"

#include <openssl/sha.h>

#include <array>

namespace bitgate {

std::string sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::string sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace bitgate

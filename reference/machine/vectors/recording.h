#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/vectors/form.h"

namespace bitgate::machine::vectors {

using Digest = std::array<std::byte, 32>;

/// What a device made of a form. Its outputs are one sequence of words: result after result, thread
/// after thread. The first kStoredWords are kept as bits, each following group of kHashedWords as
/// the SHA-256 of its bytes.
struct Recorded {
  std::string form;
  std::uint32_t threads = 0;
  std::vector<std::byte> bits;
  std::vector<Digest> hashes;
};

constexpr std::size_t kStoredWords = 1024;
constexpr std::size_t kHashedWords = 256;

/// A file of hardware vectors, as `bitgate record vectors` writes it:
///
///     bitgate hardware vectors 1
///     device NVIDIA H200, driver 580.159.03
///     seed 1
///     forms 2523
///     NAME <tab> threads <tab> number of the base form, or - <tab> hashes
///     …
///     (an empty line, the hashes of all forms, then the bits of all forms, coded)
///
/// A word is the register of the result, little-endian: 1 bit (eight a byte), 2, 4 or 8 bytes. The
/// bits are first combined by exclusive or with those of the base form, an earlier one of the same
/// inputs and widths whose outputs are alike; then one range coder packs them all.
struct Recording {
  std::string device;
  std::uint64_t seed = 0;
  std::vector<Recorded> forms;
};

/// The bytes of `words`, outputs of a result of that value.
std::vector<std::byte> pack(Value value, std::span<const std::uint64_t> words);

/// `words`: every output of the form, result·threads + thread.
Recorded record(const Form& form, std::span<const std::uint64_t> words, std::uint32_t threads);

std::vector<std::byte> serialise(const Recording& recording);
/// InputError when it is not such a file.
Recording parse_recording(std::span<const std::byte> file);

/// Which outputs of a form differ from the recorded ones.
struct Difference {
  std::vector<std::size_t> words;   ///< among the stored, ascending
  std::vector<std::size_t> hashes;  ///< groups whose hash differs
  bool none() const { return words.empty() && hashes.empty(); }
};
Difference compare(const Form& form, const Recorded& expected, const Recorded& found);

/// A stored word.
std::uint64_t stored_word(const Form& form, const Recorded& recorded, std::size_t index);

}  // namespace bitgate::machine::vectors

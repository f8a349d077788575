#include "reference/formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "reference/formats/byte_cursor.h"
#include "reference/formats/printable.h"
#include "reference/support/error.h"

namespace bitgate::formats {
namespace {

constexpr std::uint64_t kLongestKey = 65535;
constexpr std::uint32_t kMostDims = 4;
/// Arrays of arrays are legal; nobody writes more than one level of them.
constexpr int kDeepestArray = 4;

constexpr std::uint32_t kBool = 7;
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kArray = 9;
constexpr std::uint32_t kTypes = std::variant_size_v<GgufValue>;

bool read_bool(ByteCursor& cursor) {
  const auto byte = cursor.read<std::uint8_t>("a bool");
  if (byte > 1) cursor.fail(fmt::format("a bool of {}: expected 0 or 1", byte));
  return byte == 1;
}

std::string read_text(ByteCursor& cursor) {
  return cursor.read_string(std::numeric_limits<std::uint64_t>::max(), "a string");
}

std::uint32_t read_value_type(ByteCursor& cursor) {
  const auto type = cursor.read<std::uint32_t>("a value type");
  if (type >= kTypes)
    cursor.fail(fmt::format("value type {}: GGUF knows 0 to {}", type, kTypes - 1));
  return type;
}

GgufArray read_array(ByteCursor& cursor, int depth) {
  if (depth > kDeepestArray) {
    cursor.fail(fmt::format("arrays nested more than {} deep", kDeepestArray));
  }
  const std::uint32_t type = read_value_type(cursor);
  GgufArray array;
  const auto scalars = [&]<typename T>(std::vector<T> values) {
    values.resize(cursor.read_count(sizeof(T), "array elements"));
    const auto bytes = cursor.take(values.size() * sizeof(T), "array elements");
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    array.elements = std::move(values);
  };
  switch (type) {
    case 0:
      scalars(std::vector<std::uint8_t>());
      break;
    case 1:
      scalars(std::vector<std::int8_t>());
      break;
    case 2:
      scalars(std::vector<std::uint16_t>());
      break;
    case 3:
      scalars(std::vector<std::int16_t>());
      break;
    case 4:
      scalars(std::vector<std::uint32_t>());
      break;
    case 5:
      scalars(std::vector<std::int32_t>());
      break;
    case 6:
      scalars(std::vector<float>());
      break;
    case kBool: {
      std::vector<bool> values(cursor.read_count(1, "array elements"));
      for (auto&& value : values) value = read_bool(cursor);
      array.elements = std::move(values);
      break;
    }
    case kString: {
      std::vector<std::string> values(cursor.read_count(8, "array elements"));
      for (std::string& value : values) value = read_text(cursor);
      array.elements = std::move(values);
      break;
    }
    case kArray: {
      std::vector<GgufArray> values(cursor.read_count(12, "array elements"));
      for (GgufArray& value : values) value = read_array(cursor, depth + 1);
      array.elements = std::move(values);
      break;
    }
    case 10:
      scalars(std::vector<std::uint64_t>());
      break;
    case 11:
      scalars(std::vector<std::int64_t>());
      break;
    case 12:
      scalars(std::vector<double>());
      break;
    default:
      break;
  }
  return array;
}

GgufValue read_value(ByteCursor& cursor) {
  switch (read_value_type(cursor)) {
    case 0:
      return cursor.read<std::uint8_t>("a u8");
    case 1:
      return cursor.read<std::int8_t>("an i8");
    case 2:
      return cursor.read<std::uint16_t>("a u16");
    case 3:
      return cursor.read<std::int16_t>("an i16");
    case 4:
      return cursor.read<std::uint32_t>("a u32");
    case 5:
      return cursor.read<std::int32_t>("an i32");
    case 6:
      return cursor.read<float>("an f32");
    case kBool:
      return read_bool(cursor);
    case kString:
      return read_text(cursor);
    case kArray:
      return read_array(cursor, 1);
    case 10:
      return cursor.read<std::uint64_t>("a u64");
    case 11:
      return cursor.read<std::int64_t>("an i64");
    default:
      return cursor.read<double>("an f64");
  }
}

/// Rows times columns, each product checked, so that rows() cannot overflow even where a row is
/// empty.
std::int64_t count_elements(const ByteCursor& cursor, const GgufTensor& tensor) {
  std::int64_t product = 1;
  bool overflow = false;
  for (std::size_t i = 1; i < tensor.dims.size(); ++i) {
    overflow |= __builtin_mul_overflow(product, tensor.dims[i], &product);
  }
  overflow |= __builtin_mul_overflow(product, tensor.columns(), &product);
  if (overflow) {
    cursor.fail(fmt::format("tensor {} has more than 2^63 elements", printable(tensor.name)));
  }
  return product;
}

/// Name, dimensions, type and the offset within the data, which is not yet known to lie in the
/// file.
GgufTensor read_tensor(ByteCursor& cursor) {
  GgufTensor tensor;
  tensor.name = cursor.read_string(kLongestKey, "a tensor name");
  const auto dims = cursor.read<std::uint32_t>("a number of dimensions");
  if (dims > kMostDims) {
    cursor.fail(fmt::format("tensor {} has {} dimensions: at most {} are defined",
                            printable(tensor.name), dims, kMostDims));
  }
  for (std::uint32_t i = 0; i < dims; ++i) {
    const auto extent = cursor.read<std::uint64_t>("a dimension");
    if (extent > std::numeric_limits<std::int64_t>::max()) {
      cursor.fail(fmt::format("tensor {}: dimension {}", printable(tensor.name), extent));
    }
    tensor.dims.push_back(static_cast<std::int64_t>(extent));
  }
  tensor.type = cursor.read<std::uint32_t>("a tensor type");
  tensor.offset = cursor.read<std::uint64_t>("a tensor offset");
  const std::int64_t elements = count_elements(cursor, tensor);
  if (const BlockType* const type = find_block_type(tensor.type)) {
    if (tensor.columns() % type->elements != 0) {
      cursor.fail(fmt::format("tensor {}: rows of {} elements are no whole {} blocks of {}",
                              printable(tensor.name), tensor.columns(), type->name,
                              type->elements));
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elements / type->elements, type->bytes, &bytes)) {
      cursor.fail(fmt::format("tensor {} has more than 2^63 bytes", printable(tensor.name)));
    }
    tensor.bytes = static_cast<std::uint64_t>(bytes);
  }
  return tensor;
}

}  // namespace

std::int64_t GgufTensor::rows() const {
  std::int64_t product = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) product *= dims[i];
  return product;
}

Gguf Gguf::open(const std::filesystem::path& path) {
  Gguf result;
  result.where_ = path.string();
  result.file_.emplace(path);
  result.all_ = result.file_->bytes();
  result.parse_all();
  return result;
}

Gguf Gguf::parse(std::span<const std::byte> bytes, std::string_view where) {
  Gguf result;
  result.where_ = where;
  result.all_ = bytes;
  result.parse_all();
  return result;
}

void Gguf::parse_all() {
  ByteCursor cursor(all_, where_);
  const auto magic = cursor.take(4, "the magic GGUF");
  if (std::memcmp(magic.data(), "GGUF", 4) != 0) {
    throw InputError(where_ + ": not GGUF: the file does not begin with the letters GGUF");
  }
  version_ = cursor.read<std::uint32_t>("a version");
  if (version_ == 0x02000000U || version_ == 0x03000000U) {
    throw Unsupported(where_ + ": a big-endian GGUF: only little-endian ones are read");
  }
  if (version_ == 1) throw Unsupported(where_ + ": GGUF version 1: versions 2 and 3 are read");
  if (version_ != 2 && version_ != 3) {
    cursor.fail(fmt::format("GGUF version {}: versions 2 and 3 are read", version_));
  }
  const auto tensor_count = cursor.read_count(24, "tensors");
  const auto value_count = cursor.read_count(13, "metadata values");
  for (std::uint64_t i = 0; i < value_count; ++i) {
    std::string key = cursor.read_string(kLongestKey, "a metadata key");
    GgufValue value = read_value(cursor);
    if (!metadata_.emplace(key, std::move(value)).second) {
      cursor.fail(fmt::format("the metadata key {} appears twice", printable(key)));
    }
  }
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    tensors_.push_back(read_tensor(cursor));
    if (!index_.emplace(tensors_.back().name, tensors_.size() - 1).second) {
      cursor.fail(fmt::format("the tensor {} appears twice", printable(tensors_.back().name)));
    }
  }

  alignment_ = unsigned_value("general.alignment").value_or(32);
  if (!std::has_single_bit(alignment_) || alignment_ > (1U << 20U)) {
    throw InputError(fmt::format("{}: general.alignment {}: expected a power of two up to 2^20",
                                 where_, alignment_));
  }
  const std::uint64_t data = (cursor.position() + alignment_ - 1) / alignment_ * alignment_;
  std::vector<std::pair<std::uint64_t, const GgufTensor*>> placed;
  for (GgufTensor& tensor : tensors_) {
    const std::string what = fmt::format("{}: tensor {}", where_, printable(tensor.name));
    if (tensor.offset % alignment_ != 0) {
      throw InputError(fmt::format("{}: offset {} is no multiple of the alignment {}", what,
                                   tensor.offset, alignment_));
    }
    std::uint64_t end = 0;
    if (__builtin_add_overflow(data, tensor.offset, &tensor.offset) ||
        __builtin_add_overflow(tensor.offset, tensor.bytes, &end) || end > all_.size()) {
      throw InputError(fmt::format("{}: its {} bytes do not lie in the file's {} (truncated?)",
                                   what, tensor.bytes, all_.size()));
    }
    if (tensor.bytes > 0) placed.emplace_back(tensor.offset, &tensor);
  }
  std::sort(placed.begin(), placed.end());
  for (std::size_t i = 1; i < placed.size(); ++i) {
    const GgufTensor& before = *placed[i - 1].second;
    if (placed[i].first < before.offset + before.bytes) {
      throw InputError(fmt::format("{}: the tensors {} and {} overlap", where_,
                                   printable(before.name), printable(placed[i].second->name)));
    }
  }
}

std::optional<std::uint64_t> Gguf::unsigned_value(std::string_view key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return std::nullopt;
  return std::visit(
      [&]<typename T>(const T& value) -> std::uint64_t {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          if (value >= T{0}) return static_cast<std::uint64_t>(value);
        }
        throw InputError(fmt::format("{}: metadata {} is no integer >= 0", where_, printable(key)));
      },
      found->second);
}

std::optional<std::string> Gguf::text_value(std::string_view key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return std::nullopt;
  if (const auto* const text = std::get_if<std::string>(&found->second)) return *text;
  throw InputError(fmt::format("{}: metadata {} is no string", where_, printable(key)));
}

const GgufTensor* Gguf::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

std::span<const std::byte> Gguf::bytes(const GgufTensor& tensor) const {
  return all_.subspan(tensor.offset, tensor.bytes);
}

std::vector<float> Gguf::dequantize(const GgufTensor& tensor) const {
  const BlockType* const type = find_block_type(tensor.type);
  if (type == nullptr || type->decode == nullptr) {
    throw Unsupported(fmt::format("{}: tensor {} is {}, which is not decoded", where_,
                                  printable(tensor.name), block_type_name(tensor.type)));
  }
  const auto blocks = static_cast<std::int64_t>(tensor.bytes) / type->bytes;
  std::vector<float> values(static_cast<std::size_t>(blocks * type->elements));
  const std::byte* const source = bytes(tensor).data();
  for (std::int64_t block = 0; block < blocks; ++block) {
    type->decode(source + block * type->bytes, values.data() + block * type->elements);
  }
  return values;
}

}  // namespace bitgate::formats

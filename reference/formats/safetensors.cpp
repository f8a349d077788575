#include "reference/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "reference/formats/printable.h"
#include "reference/formats/strict_json.h"

namespace bitgate::formats {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are read as they lie");

struct DTypeRow {
  DType type;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<DTypeRow, 15> kDTypes = {{{DType::boolean, "BOOL", 1},
                                               {DType::u8, "U8", 1},
                                               {DType::i8, "I8", 1},
                                               {DType::f8_e4m3, "F8_E4M3", 1},
                                               {DType::f8_e5m2, "F8_E5M2", 1},
                                               {DType::i16, "I16", 2},
                                               {DType::u16, "U16", 2},
                                               {DType::f16, "F16", 2},
                                               {DType::bf16, "BF16", 2},
                                               {DType::i32, "I32", 4},
                                               {DType::u32, "U32", 4},
                                               {DType::f32, "F32", 4},
                                               {DType::i64, "I64", 8},
                                               {DType::u64, "U64", 8},
                                               {DType::f64, "F64", 8}}};

const DTypeRow& row(DType type) {
  return *std::find_if(kDTypes.begin(), kDTypes.end(),
                       [=](const DTypeRow& r) { return r.type == type; });
}

constexpr std::string_view kMetadata = "__metadata__";
/// The header's own nesting: the object, a tensor's object, its shape.
constexpr int kHeaderDepth = 3;

/// Bytes of a tensor, or none on overflow of 2^63.
std::optional<std::uint64_t> byte_size(const TensorLayout& layout) {
  auto product = static_cast<std::int64_t>(size_of(layout.dtype));
  for (const std::int64_t extent : layout.shape) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(product);
}

TensorLayout parse_layout(const json& fields, const std::string& what) {
  if (!fields.is_object() || fields.size() != 3 || !fields.contains("dtype") ||
      !fields.contains("shape") || !fields.contains("data_offsets")) {
    throw InputError(what + ": expected an object with dtype, shape and data_offsets");
  }
  TensorLayout layout;
  const json& dtype = fields["dtype"];
  const auto known = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeRow& r) {
    return dtype.is_string() && dtype.get_ref<const std::string&>() == r.name;
  });
  if (known == kDTypes.end()) {
    throw InputError(
        what + ": unknown dtype " +
        (dtype.is_string() ? printable(dtype.get_ref<const std::string&>()) : "(no text)"));
  }
  layout.dtype = known->type;
  const json& shape = fields["shape"];
  if (!shape.is_array()) throw InputError(what + ": shape is no array");
  for (const json& extent : shape) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > kMost) {
      throw InputError(what + ": its shape holds something that is no dimension");
    }
    layout.shape.push_back(static_cast<std::int64_t>(extent.get<std::uint64_t>()));
  }
  return layout;
}

std::uint64_t padded_to_8(std::uint64_t size) { return (size + 7) / 8 * 8; }

std::vector<std::string> canonical_order(const std::map<std::string, TensorLayout>& tensors) {
  std::vector<std::string> order;
  for (const auto& [name, layout] : tensors) order.push_back(name);
  std::sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    const std::size_t size_a = size_of(tensors.at(a).dtype);
    const std::size_t size_b = size_of(tensors.at(b).dtype);
    return size_a != size_b ? size_a > size_b : a < b;
  });
  return order;
}

std::string canonical_header(const std::map<std::string, TensorLayout>& tensors,
                             const std::vector<std::string>& order,
                             const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t offset = 0;
  for (const std::string& name : order) {
    const TensorLayout& layout = tensors.at(name);
    const std::optional<std::uint64_t> size = byte_size(layout);
    std::uint64_t end = 0;
    if (name == kMetadata || !size || __builtin_add_overflow(offset, *size, &end)) {
      throw InputError(
          fmt::format("tensor {} cannot be written as {}", printable(name), describe(layout)));
    }
    header[name] = {{"dtype", row(layout.dtype).name},
                    {"shape", layout.shape},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  try {
    std::string text = header.dump();
    text.resize(padded_to_8(text.size()), ' ');
    return text;
  } catch (const json::exception&) {
    throw InputError("a tensor's name or a metadata text is not UTF-8: it cannot be written");
  }
}

}  // namespace

std::string_view name(DType type) { return row(type).name; }

std::size_t size_of(DType type) { return row(type).size; }

std::string describe(const TensorLayout& layout) {
  std::string text(name(layout.dtype));
  text += " [";
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(layout.shape[i]);
  }
  return text + "]";
}

Safetensors Safetensors::open(const std::filesystem::path& path) {
  Safetensors result;
  result.where_ = path.string();
  result.file_.emplace(path);
  result.all_ = result.file_->bytes();
  result.parse_header();
  return result;
}

Safetensors Safetensors::parse(std::span<const std::byte> bytes, std::string_view where) {
  Safetensors result;
  result.where_ = where;
  result.all_ = bytes;
  result.parse_header();
  return result;
}

void Safetensors::parse_header() {
  std::uint64_t length = 0;
  if (all_.size() < sizeof length) {
    throw InputError(fmt::format("{}: not safetensors: {} bytes are too few for a header length",
                                 where_, all_.size()));
  }
  std::memcpy(&length, all_.data(), sizeof length);
  const std::uint64_t rest = all_.size() - sizeof length;
  if (length > rest || length > kLargestHeader) {
    throw InputError(
        fmt::format("{}: not safetensors, or truncated: it announces a header of {} bytes, {} "
                    "follow and at most "
                    "{} are accepted",
                    where_, length, rest, kLargestHeader));
  }
  const auto* const text = reinterpret_cast<const char*>(all_.data() + sizeof length);
  if (length == 0 || text[0] != '{') {
    throw InputError(where_ + ": not safetensors: the header does not begin with '{'");
  }
  const json header = parse_strict_json({text, length}, where_ + ": header", kHeaderDepth);
  data_ = all_.subspan(sizeof length + length);

  for (const auto& [key, value] : header.items()) {
    if (key == kMetadata) {
      if (!value.is_object()) throw InputError(where_ + ": __metadata__ is no object");
      for (const auto& [name, text_value] : value.items()) {
        if (!text_value.is_string()) {
          throw InputError(
              fmt::format("{}: __metadata__ {} is no string", where_, printable(name)));
        }
        metadata_[name] = text_value.get<std::string>();
      }
      continue;
    }
    const std::string what = fmt::format("{}: tensor {}", where_, printable(key));
    Entry entry{.layout = parse_layout(value, what)};
    const json& offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      throw InputError(what + ": data_offsets are no two byte offsets");
    }
    entry.begin = offsets[0].get<std::uint64_t>();
    entry.end = offsets[1].get<std::uint64_t>();
    if (entry.begin > entry.end || entry.end > data_.size()) {
      throw InputError(
          fmt::format("{}: bytes {} to {} do not lie in the file's {} data bytes "
                      "(truncated?)",
                      what, entry.begin, entry.end, data_.size()));
    }
    const std::optional<std::uint64_t> size = byte_size(entry.layout);
    if (!size || *size != entry.end - entry.begin) {
      throw InputError(fmt::format("{}: {} does not take the {} bytes its offsets span", what,
                                   describe(entry.layout), entry.end - entry.begin));
    }
    entries_.emplace(key, std::move(entry));
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (const auto& [key, entry] : entries_) spans.emplace_back(entry.begin, entry.end);
  std::sort(spans.begin(), spans.end());
  std::uint64_t covered = 0;
  for (const auto& [begin, end] : spans) {
    if (begin != covered) {
      throw InputError(fmt::format("{}: tensors {} at data byte {}", where_,
                                   begin < covered ? "overlap" : "leave a gap",
                                   std::min(begin, covered)));
    }
    covered = end;
  }
  if (covered != data_.size()) {
    throw InputError(
        fmt::format("{}: {} data bytes follow the last tensor", where_, data_.size() - covered));
  }
}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> result;
  for (const auto& [key, entry] : entries_) result.push_back(key);
  return result;
}

const Safetensors::Entry& Safetensors::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw InputError(
        fmt::format("{}: expected a tensor {}, found none of that name", where_, printable(name)));
  }
  return found->second;
}

std::span<const std::byte> Safetensors::bytes(std::string_view name) const {
  const Entry& found = entry(name);
  return data_.subspan(found.begin, found.end - found.begin);
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     std::map<std::string, TensorLayout> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : tensors_(std::move(tensors)), order_(canonical_order(tensors_)), file_(path) {
  const std::string header = canonical_header(tensors_, order_, metadata);
  const std::uint64_t length = header.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(header);
}

void SafetensorsWriter::append(std::string_view name, std::span<const std::byte> bytes) {
  if (next_ == order_.size() || order_[next_] != name) {
    throw InputError(fmt::format("tensor {} is appended out of order: {} is next", name,
                                 next_ < order_.size() ? order_[next_] : "nothing"));
  }
  const TensorLayout& layout = tensors_.at(order_[next_]);
  if (bytes.size() != byte_size(layout)) {
    throw InputError(
        fmt::format("tensor {} is {}, but has {} bytes", name, describe(layout), bytes.size()));
  }
  file_.write(bytes);
  ++next_;
}

void SafetensorsWriter::close() {
  if (next_ != order_.size()) {
    throw InputError(fmt::format("tensor {} was never appended", order_[next_]));
  }
  file_.close();
}

void SafetensorsWriter::commit() {
  close();
  file_.commit();
}

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::map<std::string, TensorLayout> layouts;
  for (const auto& [name, tensor] : tensors) layouts.emplace(name, tensor.layout);
  SafetensorsWriter writer(path, std::move(layouts), metadata);
  for (const std::string& name : writer.order()) writer.append(name, tensors.at(name).bytes);
  writer.commit();
}

}  // namespace bitgate::formats

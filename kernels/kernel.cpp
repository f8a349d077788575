#include "kernels/kernel.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/embedded.h"
#include "reference/support/error.h"

namespace bitgate::kernels {

namespace {

std::span<const std::byte> bytes_between(const unsigned char* begin, const unsigned char* end) {
  return std::as_bytes(std::span(begin, end));
}

/// The modules built into this program, for its lifetime.
const std::vector<Code>& modules() {
  static const std::vector<Code> all = [] {
    std::vector<Code> result;
    for (const EmbeddedModule& module : embedded_modules()) {
      const auto ptx = bytes_between(module.ptx_begin, module.ptx_end);
      result.push_back({std::string(module.name),
                        std::string_view(reinterpret_cast<const char*>(ptx.data()), ptx.size()),
                        bytes_between(module.sm_80_begin, module.sm_80_end),
                        bytes_between(module.sm_90_begin, module.sm_90_end)});
    }
    return result;
  }();
  return all;
}

const Code* module_named(const std::string& name) {
  for (const Code& module : modules()) {
    if (module.name == name) {
      return &module;
    }
  }
  throw std::logic_error("kernels.inc has a row for module " + name + ", which is not built in");
}

std::string code_hash_of(const std::string& entry) {
  for (const EntryHash& hash : embedded_code_hashes()) {
    if (hash.entry == entry) {
      return std::string(hash.code_hash);
    }
  }
  throw std::logic_error("kernels.inc has a row for entry " + entry + ", which no module holds");
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

struct Build {
  numeric::ScalarType type;
  Zeros zeros;
};
const std::vector<Build> kAllTypesAllZeros = {{numeric::ScalarType::f16, Zeros::sym},
                                              {numeric::ScalarType::f16, Zeros::integer},
                                              {numeric::ScalarType::bf16, Zeros::sym},
                                              {numeric::ScalarType::bf16, Zeros::integer}};

/// One row of kernels.inc.
void add_row(std::vector<Kernel>& all, const std::string& family, const Geometry& geometry,
             const std::vector<Build>& builds, std::string_view claims) {
  for (const Build& build : builds) {
    Kernel kernel;
    kernel.family = family;
    kernel.geometry = geometry;
    kernel.type = build.type;
    kernel.zeros = build.zeros;
    kernel.name = family + "." + geometry.variant + "." + std::to_string(geometry.tile_m) + "x" +
                  std::to_string(geometry.tile_n) + "x" + std::to_string(geometry.tile_k) + "." +
                  std::string(numeric::name(build.type)) + "." + std::string(name(build.zeros));
    kernel.entry = kernel.name;
    std::replace(kernel.entry.begin(), kernel.entry.end(), '.', '_');
    kernel.claims = words_of(claims);
    kernel.code = module_named(family + "/" + geometry.variant);
    kernel.code_hash = code_hash_of(kernel.entry);
    all.push_back(std::move(kernel));
  }
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// The three names nearest to one that is not there.
std::string nearest_names(std::string_view wanted) {
  std::vector<const Kernel*> all;
  for (const Kernel& kernel : kernels()) {
    all.push_back(&kernel);
  }
  std::stable_sort(all.begin(), all.end(), [&](const Kernel* a, const Kernel* b) {
    return edit_distance(wanted, a->name) < edit_distance(wanted, b->name);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, all.size()); ++i) {
    text += (i == 0 ? "" : ", ") + all[i]->name;
  }
  return text;
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = [] {
    std::vector<Kernel> rows;
#define BITGATE_ALL_TYPES_ALL_ZEROS kAllTypesAllZeros
#define W4A16_GEMV(tile_m, tile_n, tile_k, warps_k, stages, built, claims) \
  add_row(rows, "w4a16", {"gemv", tile_m, tile_n, tile_k, 1, 1, warps_k, stages}, built, claims);
#define W4A16_GEMM(tile_m, tile_n, tile_k, warps_n, warps_k, stages, built, claims)            \
  add_row(rows, "w4a16", {"gemm", tile_m, tile_n, tile_k, 1, warps_n, warps_k, stages}, built, \
          claims);
#define W4A16_PREFILL(tile_m, tile_n, tile_k, warps_m, warps_n, warps_k, stages, resident, built,  \
                      claims)                                                                      \
  add_row(rows, "w4a16",                                                                           \
          {"prefill", tile_m, tile_n, tile_k, warps_m, warps_n, warps_k, stages, resident}, built, \
          claims);
#include "kernels/kernels.inc"
    return rows;
  }();
  return all;
}

std::vector<const Kernel*> match_kernels(std::string_view glob) {
  const std::string pattern(glob);
  std::vector<const Kernel*> matches;
  for (const Kernel& kernel : kernels()) {
    if (fnmatch(pattern.c_str(), kernel.name.c_str(), 0) == 0) {
      matches.push_back(&kernel);
    }
  }
  if (matches.empty()) {
    throw InputError("no kernel matches '" + pattern + "'; the nearest names are " +
                     nearest_names(glob) + "; `bitgate list` prints all of them");
  }
  return matches;
}

const Kernel& kernel_named(std::string_view name) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.name == name) {
      return kernel;
    }
  }
  throw InputError("there is no kernel '" + std::string(name) + "'; the nearest names are " +
                   nearest_names(name) + "; `bitgate list` prints all of them");
}

}  // namespace bitgate::kernels

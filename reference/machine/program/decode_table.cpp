#include "reference/machine/program/decode_table.h"

#include <algorithm>
#include <utility>

namespace bitgate::machine {

DecodeTable::DecodeTable() {
  add_integer_rows(*this);
  add_bit_rows(*this);
  add_video_rows(*this);
  add_float_rows(*this);
  add_approximate_rows(*this);
  add_half_rows(*this);
  add_conversion_rows(*this);
  add_comparison_rows(*this);
  add_data_movement_rows(*this);
  add_memory_rows(*this);
  add_atomic_rows(*this);
  add_async_copy_rows(*this);
  add_control_rows(*this);
  add_stack_rows(*this);
  add_synchronisation_rows(*this);
  add_mbarrier_rows(*this);
  add_warp_rows(*this);
  add_matrix_rows(*this);
  add_unsupported_rows(*this);
}

const DecodeTable& DecodeTable::instance() {
  static const DecodeTable table;
  return table;
}

DecodeTable::Row plain_row(const std::string& mnemonic, std::span<const Kind> operands,
                           std::string_view immediate_type) {
  DecodeTable::Row row;
  row.mnemonic = mnemonic;
  row.operands.assign(operands.begin(), operands.end());
  row.type = immediate_type;
  return row;
}

void DecodeTable::add(const Row& row) {
  if (!rows_.try_emplace(row.mnemonic, row).second) repeated_.push_back(row.mnemonic);
}

void DecodeTable::decoder(std::string opcode, Decoder decode) {
  Row row;
  row.mnemonic = std::move(opcode);
  row.decoder = decode;
  add(row);
}

void DecodeTable::forms(const std::string& opcode,
                        std::initializer_list<std::string_view> patterns) {
  std::vector<std::string>& forms = rows_.at(opcode).forms;
  for (const std::string_view pattern : patterns) {
    for (std::string& form : expand_braces(pattern)) forms.push_back(std::move(form));
  }
}

void DecodeTable::unsupported(std::string_view pattern, std::string_view why) {
  for (std::string& mnemonic : expand_braces(pattern)) {
    Row row;
    row.mnemonic = std::move(mnemonic);
    row.unsupported = why;
    add(row);
  }
}

std::vector<std::string> expand_braces(std::string_view pattern) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return {std::string(pattern)};
  const std::size_t close = pattern.find('}', open);
  const std::vector<std::string> rest = expand_braces(pattern.substr(close + 1));
  std::vector<std::string> result;
  for (std::size_t begin = open + 1; begin <= close;) {
    const std::size_t end = std::min(pattern.find(',', begin), close);
    const std::string head =
        std::string(pattern.substr(0, open)) + std::string(pattern.substr(begin, end - begin));
    for (const std::string& tail : rest) result.push_back(head + tail);
    begin = end + 1;
  }
  return result;
}

const DecodeTable::Row* DecodeTable::find(const std::string& mnemonic,
                                          const std::string& opcode) const {
  auto found = rows_.find(mnemonic);
  if (found == rows_.end()) found = rows_.find(opcode);
  return found == rows_.end() ? nullptr : &found->second;
}

void add_unsupported_rows(DecodeTable& table) {
  for (const char* opcode : {"tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep"}) {
    table.unsupported(opcode, "textures and surfaces are not implemented");
  }
  constexpr std::string_view kClusters = "of clusters of blocks, which are not implemented";
  for (const char* mnemonic :
       {"barrier.cluster.arrive{,.release,.relaxed}{,.aligned}",
        "barrier.cluster.wait{,.acquire}{,.aligned}", "mapa{,.shared::cluster}.{u32,u64}",
        "getctarank{,.shared::cluster}.{u32,u64}", "st.async", "red.async", "mapa", "getctarank",
        "clusterlaunchcontrol"}) {
    table.unsupported(mnemonic, kClusters);
  }
  constexpr std::string_view kBulk = "of the tensor memory accelerator, which is not implemented";
  for (const char* opcode :
       {"cp.async.bulk", "cp.async.bulk.prefetch", "cp.async.bulk.tensor", "cp.reduce.async.bulk",
        "cp.async.bulk.commit_group", "cp.async.bulk.wait_group{,.read}", "st.bulk",
        "prefetch.tensormap", "tensormap", "tensormap.replace", "tensormap.cp_fenceproxy"}) {
    table.unsupported(opcode, kBulk);
  }
  for (const char* opcode : {"wgmma", "wgmma.mma_async.sp", "wgmma.mma_async", "wgmma.fence",
                             "wgmma.commit_group", "wgmma.wait_group"}) {
    table.unsupported(opcode, "of a warp group's tensor core, which is not implemented");
  }
  for (const char* opcode : {"multimem", "multimem.ld_reduce", "multimem.st", "multimem.red"}) {
    table.unsupported(opcode, "of memory of several GPUs, which is not implemented");
  }
  table.unsupported("tcgen05", "of sm_100 and later, which no model here describes");
}

}  // namespace bitgate::machine

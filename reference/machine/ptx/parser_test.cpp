#include "reference/machine/ptx/parser.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reference/machine/ptx/print.h"
#include "reference/machine/ptx/types.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::machine::ptx {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
using Strings = std::vector<std::string>;
using Numbers = std::vector<std::uint32_t>;
using Extents = std::vector<std::uint64_t>;
using Bytes = std::vector<int>;

Module parse_sample(const std::string& name) {
  return parse(
      read_text_file(std::string(BITGATE_SOURCE_DIR "/reference/machine/ptx/testdata/") + name),
      name);
}

// The body of one entry with declarations that most tests need.
std::string with_body(const std::string& body) {
  return ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
         ".reg .b32 %r<10>; .reg .f32 %f<10>; .reg .b64 %rd<10>; .reg .pred %p<10>;\n" +
         body + "\n}\n";
}

std::vector<Instruction> instructions(const Module& module, std::size_t function = 0) {
  std::vector<Instruction> list;
  for (const Statement& statement : module.functions.at(function).body) {
    if (const auto* instruction = std::get_if<Instruction>(&statement.item)) {
      list.push_back(*instruction);
    }
  }
  return list;
}

Instruction one(const std::string& text) { return instructions(parse(with_body(text))).at(0); }

std::string error_of(const std::string& text) {
  try {
    parse(text, "k.ptx");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

const Function& function_named(const Module& module, std::string_view name) {
  for (const Function& function : module.functions) {
    if (function.name == name && (function.has_body || function.is_extern)) return function;
  }
  throw std::runtime_error("no such function");
}

TEST(PtxParser, Header) {
  const Module module = parse(
      ".version 9.0 // comment\n/* two\nlines */ .target sm_90a, debug\n"
      ".address_size 64\n");
  EXPECT_EQ(module.version_major, 9u);
  EXPECT_EQ(module.version_minor, 0u);
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_EQ(module.target_options, (Strings{"debug"}));
  EXPECT_EQ(module.address_size, 64u);
}

TEST(PtxParser, Nvcc) {
  const Module module = parse_sample("nvcc.ptx");
  const Function& everything = function_named(module, "everything");
  EXPECT_TRUE(everything.is_entry);
  EXPECT_TRUE(everything.is_visible);
  EXPECT_EQ(*everything.maxntid, (Numbers{256, 1, 1}));
  EXPECT_EQ(everything.minnctapersm, 2u);
  ASSERT_EQ(everything.parameters.size(), 4u);
  EXPECT_EQ(everything.parameters[3].alignment, 4u);
  EXPECT_EQ(variable_bytes(everything.parameters[3]), 12u);
  std::size_t guards = 0;
  std::size_t lines = 0;
  std::size_t all = 0;
  for (const Statement& statement : everything.body) {
    if (const auto* instruction = std::get_if<Instruction>(&statement.item)) {
      ++all;
      guards += instruction->guard.has_value() ? 1 : 0;
      lines += instruction->source.line != 0 ? 1 : 0;
      EXPECT_EQ(instruction->source.file, 1u) << "not the outermost: " << to_text(*instruction);
    }
  }
  EXPECT_GT(guards, 3u);
  // The compiler has none (`.loc 1 0 0`) for a few that it moved.
  EXPECT_GT(lines, all - 10);
  EXPECT_LT(lines, all);
  EXPECT_EQ(module.files.size(), 4u);
  EXPECT_EQ(module.files[0].name, "nvcc.cu");
  for (const Variable& variable : module.variables) {
    if (variable.name == "table") {
      ASSERT_EQ(variable.relocations.size(), 2u);
      EXPECT_EQ(variable.relocations[1].at, 8u);
      EXPECT_FALSE(variable.relocations[1].generic);
    }
    if (variable.name == "message") {
      ASSERT_EQ(variable.relocations.size(), 1u);
      EXPECT_EQ(variable.relocations[0].symbol, "$str");
      EXPECT_TRUE(variable.relocations[0].generic);
    }
    if (variable.name == "dynamic") {
      EXPECT_TRUE(variable.is_extern);
      EXPECT_EQ(variable.dimensions, (Extents{0}));
    }
  }
}

TEST(PtxParser, Clang) {
  const Module module = parse_sample("clang.ptx");
  const auto& packed = *std::find_if(module.variables.begin(), module.variables.end(),
                                     [](const Variable& v) { return v.name == "packed"; });
  ASSERT_EQ(packed.initial.size(), 9u);
  EXPECT_EQ(packed.initial[0], std::byte{1});
  ASSERT_EQ(packed.relocations.size(), 8u);
  EXPECT_EQ(packed.relocations[2].mask, 0xff0000u);
  EXPECT_EQ(packed.relocations[2].offset, 12);
  EXPECT_EQ(packed.relocations[2].bytes, 1u);
  EXPECT_EQ(packed.relocations[2].at, 3u);
  // `{ .reg .pred p; LAB: … bra LAB; }` twice: a scope each.
  EXPECT_GE(function_named(module, "forms").scope_parent.size(), 3u);
}

TEST(PtxParser, Triton) {
  const Module module = parse_sample("triton.ptx");
  ASSERT_EQ(module.functions.size(), 1u);
  const Function& kernel = module.functions[0];
  EXPECT_EQ(*kernel.reqntid, (Numbers{128, 1, 1}));
  EXPECT_TRUE(kernel.parameters[0].is_ptr);
  EXPECT_EQ(kernel.parameters[0].ptr_space, StateSpace::global);
  EXPECT_EQ(kernel.parameters[0].ptr_alignment, 1u);
  EXPECT_EQ(kernel.parameters[0].alignment, 0u);
  const Instruction* added = nullptr;
  const Instruction* load = nullptr;
  const Instruction* tensor = nullptr;
  const Instruction* shuffle = nullptr;
  const auto all = instructions(module);
  for (const Instruction& instruction : all) {
    if (instruction.opcode == "add" && instruction.modifiers[0] == "f32") added = &instruction;
    if (instruction.opcode == "ld" && instruction.guard) load = &instruction;
    if (instruction.opcode == "cp" && instruction.modifiers[1] == "bulk") tensor = &instruction;
    if (instruction.opcode == "shfl") shuffle = &instruction;
  }
  ASSERT_TRUE(added && load && tensor && shuffle);
  EXPECT_EQ(added->source.file, 1u);
  EXPECT_EQ(added->source.line, 18u) << "inlined twice: the outermost place";
  EXPECT_EQ(load->modifiers, (Strings{"global", "L1::evict_last", "v4", "b32"}));
  ASSERT_EQ(load->operands.size(), 2u);
  EXPECT_EQ(load->operands[0].kind, Operand::Kind::vector);
  EXPECT_EQ(load->operands[0].elements.size(), 4u);
  EXPECT_EQ(load->operands[1].kind, Operand::Kind::address);
  EXPECT_TRUE(load->operands[1].base_is_register);
  ASSERT_EQ(tensor->operands.size(), 3u);
  ASSERT_EQ(tensor->operands[1].elements.size(), 1u);
  EXPECT_EQ(tensor->operands[1].elements[0].elements.size(), 2u);
  EXPECT_EQ(tensor->operands[2].offset, -8);
  EXPECT_EQ(shuffle->operands[0].kind, Operand::Kind::pair);
}

TEST(PtxParser, Numba) {
  const Module module = parse_sample("numba.ptx");
  EXPECT_TRUE(module.variables[0].is_common);
  EXPECT_EQ(module.variables[2].attributes, (Strings{"managed"}));
  EXPECT_TRUE(module.variables[3].is_weak);
  EXPECT_FALSE(module.functions[0].has_body);
  const auto& body = module.functions[1].body;
  const auto targets = std::find_if(body.begin(), body.end(), [](const Statement& statement) {
    return std::holds_alternative<Targets>(statement.item);
  });
  ASSERT_NE(targets, body.end());
  EXPECT_EQ(std::get<Targets>(targets->item).targets, (Strings{"LBB0_1", "LBB0_2"}));
}

TEST(PtxParser, Operands) {
  using Kind = Operand::Kind;
  const Instruction setp = one("@!%p3 setp.lt.and.f32 %p1|_, %f1, 0fBF800000, !%p2;");
  EXPECT_EQ(setp.guard, "%p3");
  EXPECT_TRUE(setp.guard_negated);
  EXPECT_EQ(setp.modifiers, (Strings{"lt", "and", "f32"}));
  ASSERT_EQ(setp.operands.size(), 4u);
  EXPECT_EQ(setp.operands[0].kind, Kind::pair);
  EXPECT_EQ(setp.operands[0].elements[1].kind, Kind::sink);
  EXPECT_EQ(setp.operands[2].immediate.kind, Immediate::Kind::f32);
  EXPECT_EQ(setp.operands[2].immediate.bits, 0xbf800000u);
  EXPECT_TRUE(setp.operands[3].negated);

  EXPECT_EQ(one("mov.u32 %r1, %tid.x;").operands[1].name, "%tid.x");
  EXPECT_EQ(one("mov.u32 %r1, %tid.x;").operands[1].kind, Kind::special);
  EXPECT_EQ(one("mov.u64 %rd1, %clock64;").operands[1].kind, Kind::special);
  EXPECT_EQ(one("mov.f64 %rd1, 0d3FF8000000000000;").operands[1].immediate.kind,
            Immediate::Kind::f64);
  EXPECT_EQ(one("mov.f64 %rd1, 1.5;").operands[1].immediate.bits,
            std::bit_cast<std::uint64_t>(1.5));
  EXPECT_EQ(one("mov.u64 %rd1, p;").operands[1].kind, Kind::symbol);
  EXPECT_EQ(one("mov.u64 %rd1, p+16;").operands[1].offset, 16);
  EXPECT_EQ(one("mov.b64 {%r1, _}, %rd1;").operands[0].elements[1].kind, Kind::sink);

  const Operand negative = one("ld.global.u32 %r1, [%rd1+-4];").operands[1];
  EXPECT_EQ(negative.offset, -4);
  EXPECT_TRUE(negative.base_is_register);
  EXPECT_EQ(one("ld.global.u32 %r1, [%rd1-4];").operands[1].offset, -4);
  EXPECT_EQ(one("ld.global.u32 %r1, [16];").operands[1].offset, 16);
  EXPECT_TRUE(one("ld.global.u32 %r1, [16];").operands[1].name.empty());
  EXPECT_FALSE(one("ld.param.u64 %rd1, [p];").operands[1].base_is_register);

  const Instruction video = one("vmad.u32.u32.u32 %r1, %r2.h0, %r3.b1, -%r4;");
  EXPECT_EQ(video.operands[1].component, "h0");
  EXPECT_TRUE(video.operands[3].minus);

  const Instruction call = one("call.uni (%r1), f, (%r2, 3, p);");
  ASSERT_EQ(call.operands.size(), 3u);
  EXPECT_EQ(call.operands[0].kind, Kind::call_list);
  EXPECT_EQ(call.operands[2].elements.size(), 3u);
  EXPECT_TRUE(one("ret;").operands.empty());
}

TEST(PtxParser, Constants) {
  const auto value = [](const std::string& text) {
    return static_cast<std::int64_t>(one("mov.u64 %rd1, " + text + ";").operands[1].immediate.bits);
  };
  EXPECT_EQ(value("0x1F"), 31);
  EXPECT_EQ(value("0x80008000U"), 0x80008000);
  EXPECT_EQ(value("017"), 15);
  EXPECT_EQ(value("0b101"), 5);
  EXPECT_EQ(value("0"), 0);
  EXPECT_EQ(value("12U"), 12);
  EXPECT_EQ(value("-2147483648"), -2147483648LL);
  EXPECT_EQ(value("0xffffffffffffffff"), -1);
  EXPECT_EQ(value("WARP_SZ"), 32);
  EXPECT_EQ(value("(1<<4)|3"), 19);
  EXPECT_EQ(value("2+3*4-1"), 13);
  EXPECT_EQ(value("-7/2"), -3);
  EXPECT_EQ(value("-1 > 0"), 0);
  EXPECT_EQ(value("-1 > 0U"), 1);
  EXPECT_EQ(value("-8 >> 1"), -4);
  EXPECT_EQ(value("~0 & 0xff"), 255);
  EXPECT_EQ(value("1 == 2 ? 5 : 6"), 6);
  EXPECT_EQ(value("!(3 && 0) + 1"), 2);
  EXPECT_EQ(value("(.s64) 5"), 5);
  EXPECT_EQ(value("1 << 64"), 0);
  EXPECT_EQ(value("(-9223372036854775807 - 1) / -1"), std::numeric_limits<std::int64_t>::min());
}

TEST(PtxParser, Initialisers) {
  const Module module = parse(
      ".version 9.0\n.target sm_80\n.address_size 64\n"
      ".global .u32 rows[2][2] = {{1}, {2, 3}};\n"
      ".const .f32 x = 1.5, y = 0f40000000, z = 3;\n"
      ".global .v2 .u16 pairs[] = {{1, 2}, {3}};\n"
      ".global .u16 open[] = {1, 2, 3};\n"
      ".global .u64 addresses[2] = {generic(rows)+4, open-2};\n"
      ".global .texref texture = {width = 1};\n"
      ".shared .align 16 .b8 room[4096];\n");
  const auto bytes = [](const Variable& variable) {
    std::vector<int> list;
    for (const std::byte b : variable.initial) list.push_back(std::to_integer<int>(b));
    return list;
  };
  EXPECT_EQ(bytes(module.variables[0]), (Bytes{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(bytes(module.variables[1]), (Bytes{0, 0, 0xc0, 0x3f}));
  EXPECT_EQ(bytes(module.variables[2]), (Bytes{0, 0, 0, 0x40}));
  EXPECT_EQ(bytes(module.variables[3]), (Bytes{0, 0, 0x40, 0x40}));
  EXPECT_EQ(bytes(module.variables[4]), (Bytes{1, 0, 2, 0, 3, 0}));
  EXPECT_EQ(module.variables[4].dimensions, (Extents{2}));
  EXPECT_EQ(module.variables[5].dimensions, (Extents{3}));
  EXPECT_EQ(module.variables[6].relocations[1].offset, -2);
  EXPECT_FALSE(module.variables[7].opaque_initial.empty());
  EXPECT_EQ(variable_bytes(module.variables[8]), 4096u);
  EXPECT_TRUE(module.variables[8].initial.empty());
}

TEST(PtxParser, NamesOfInnerScopesAreRegistersThereAlone) {
  const auto list =
      instructions(parse(with_body("{ .reg .f16 low, high; mov.b32 {low, high}, %r1; }"
                                   "{ .reg .b16 h<2>; mov.b16 h1, h0; }"
                                   "mov.u64 %rd1, low; mov.u64 %rd1, h1;")));
  EXPECT_EQ(list[0].operands[0].elements[0].kind, Operand::Kind::reg);
  EXPECT_EQ(list[1].operands[0].kind, Operand::Kind::reg);
  EXPECT_EQ(list[2].operands[1].kind, Operand::Kind::symbol);
  EXPECT_EQ(list[3].operands[1].kind, Operand::Kind::symbol);
}

TEST(PtxParser, FunctionsPrototypesAndDirectives) {
  const Module module = parse(
      ".version 9.0\n.target sm_90\n.address_size 64\n.pragma \"nounroll\";\n"
      ".extern .func (.param .b32 r) f(.param .align 8 .b8 a[16]) ;\n"
      ".weak .func g .noreturn ;\n"
      ".alias h, g;\n"
      ".entry k() .explicitcluster .reqnctapercluster 2, 1, 1 .maxnreg 64 .pragma \"a\", "
      "\"b\";\n{\n"
      ".reg .b64 %rd<2>;\n"
      "proto : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) "
      ".noreturn;\n"
      ".pragma \"nounroll\";\n{}\n;\n"
      "call (r), %rd1, (a), proto;\n}\n");
  EXPECT_EQ(module.directives.size(), 1u);
  EXPECT_EQ(module.functions[0].returns.size(), 1u);
  EXPECT_TRUE(module.functions[1].noreturn);
  EXPECT_EQ(module.aliases[0].target, "g");
  EXPECT_EQ(module.functions[2].directives.size(), 3u);
  EXPECT_EQ(module.functions[2].maxnreg, 64u);
  const auto& targets = std::get<Targets>(module.functions[2].body[1].item);
  EXPECT_EQ(targets.parameters.size(), 2u);
  EXPECT_EQ(variable_bytes(targets.parameters[1]), 16u);
  EXPECT_EQ(targets.directives[0].name, "noreturn");
}

TEST(PtxParser, PrintedTextParsesToTheSame) {
  for (const char* sample : {"nvcc.ptx", "clang.ptx", "triton.ptx", "numba.ptx"}) {
    for (const Function& function : parse_sample(sample).functions) {
      for (const Statement& statement : function.body) {
        const auto* instruction = std::get_if<Instruction>(&statement.item);
        if (instruction == nullptr) continue;
        const std::string text = to_text(*instruction);
        EXPECT_EQ(to_text(one(text + ";")), text);
      }
    }
  }
}

TEST(PtxParser, ErrorsSayWhere) {
  EXPECT_EQ(error_of(""), "k.ptx:1:1: expected .version, found the end of the text");
  EXPECT_EQ(error_of("\x7f"
                     "ELF"),
            "k.ptx:1:1: expected .version, found '\\x7f'");
  EXPECT_EQ(error_of(".version 9.0\n.target sm_80\n  float x;"),
            "k.ptx:3:3: expected a directive, found 'float'");
  EXPECT_EQ(error_of(".version nine"), "k.ptx:1:10: expected a version such as 9.0, found 'nine'");
  EXPECT_PRED2(contains, error_of(with_body("add.s32 %r1, , %r2;")),
               ":7:14: expected an operand, found ','");
  EXPECT_PRED2(contains, error_of(with_body("add.s32 %r1 %r2;")),
               "expected ',' or ';', found '%r2'");
  EXPECT_PRED2(contains, error_of(with_body("mov.f32 %f1, 0f3F80;")),
               "0f and 8 hexadecimal digits");
  EXPECT_PRED2(contains, error_of(with_body("mov.u64 %rd1, 0x10000000000000000;")),
               "at most 64 bits");
  EXPECT_PRED2(contains, error_of(with_body("mov.u64 %rd1, 09;")), "expected a number, found '09'");
  EXPECT_PRED2(contains, error_of(with_body("mov.u64 %rd1, 1/0;")), "divisor other than 0");
  EXPECT_PRED2(contains, error_of(with_body("{")), "expected '}' for the '{' of line 5");
  EXPECT_PRED2(contains, error_of(with_body("/* ")), "expected '*/'");
  EXPECT_PRED2(contains, error_of(with_body(".pragma \"x\n\";")), "at the end of a string");
  EXPECT_PRED2(contains, error_of(with_body("ld.u32 %r1, [%rd1;")), "']' for the '['");
  EXPECT_PRED2(contains, error_of(with_body("mov.b64 {%r1, %rd1;")), "'}' for the '{'");
  const std::string head = ".version 9.0\n.target sm_80\n";
  EXPECT_PRED2(contains, error_of(head + ".global .align 3 .u32 x;"), "power of two");
  EXPECT_PRED2(contains, error_of(head + ".global .u32 x[2] = {1, 2, 3};"),
               "at most 2 values for 'x'");
  EXPECT_PRED2(contains, error_of(head + ".global .b8 x[281474976710656][9];"), "2^48 bytes");
  EXPECT_PRED2(contains, error_of(head + ".global .b8 x[2][100000000] = {{1}, {2}};"),
               "2^26 bytes");
  EXPECT_PRED2(contains, error_of(head + ".global .b8 x = {1};"), "expected one value");
  EXPECT_PRED2(contains, error_of(head + ".reg .b32 %r1;"), "no register outside");
  EXPECT_PRED2(contains, error_of(head + ".section .debug_info { {"), "'}' for the '{' of line 3");
}

TEST(PtxParser, LongNamesAreCutInMessages) {
  const std::string digits(100000, '7');
  EXPECT_LT(error_of(with_body("mov.u64 %rd1, " + digits + ";")).size(), 400u);
  EXPECT_LT(error_of(".version 9.0\n.global .u32 x" + digits + "[1] = {1, 2};").size(), 400u);
}

TEST(PtxParser, DeepNestingIsRefused) {
  const auto repeat = [](std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  EXPECT_PRED2(contains, error_of(with_body("mov.u64 %rd1, " + repeat("(", 100000) + "1")),
               "levels");
  EXPECT_PRED2(contains, error_of(with_body("mov.u64 %rd1, " + repeat("-", 100000) + "1")),
               "levels");
  EXPECT_PRED2(contains, error_of(with_body("mov.u64 %rd1, " + repeat("1?1:", 100000) + "1")),
               "levels");
  EXPECT_PRED2(contains, error_of(with_body("mov.u64 " + repeat("{", 100000))), "levels");
  EXPECT_PRED2(contains, error_of(with_body("mov.u64 " + repeat("%r1|", 100000))), "levels");
  EXPECT_PRED2(contains, error_of(with_body(repeat("{", 100000))), "levels");
  EXPECT_EQ(error_of(".version 9.0\n.global .b8 x[2] = " + repeat("{", 100000)).substr(0, 8),
            "k.ptx:2:");
}

TEST(PtxParser, TheUsersLineIsTheOutermostThatIsNotTheFunctionItself) {
  const auto line_of = [](const std::string& body) {
    const auto list = instructions(parse(with_body(body)));
    return std::pair(list[0].source.line, list[0].innermost.line);
  };
  const std::string function = ".loc 1 10 0\n";
  const std::string library = ".loc 2 77 3, function_name f, inlined_at 1 ";
  EXPECT_EQ(line_of(function + ".loc 1 12 3\nret;"), std::pair(12u, 12u));
  EXPECT_EQ(line_of(function + library + "12 3\nret;"), std::pair(12u, 77u));
  // The whole body is inlined at the function's own line.
  EXPECT_EQ(line_of(function + library + "10 87\nret;"), std::pair(77u, 77u));
  EXPECT_EQ(
      line_of(function + library + "10 87\n.loc 3 5 1, function_name g, inlined_at 2 77 3\nret;"),
      std::pair(77u, 5u));
}

TEST(PtxParser, CyclesOfInlinedPlacesEnd) {
  const auto list =
      instructions(parse(with_body(".loc 1 2 3, function_name f, inlined_at 1 4 5\n"
                                   ".loc 1 4 5, function_name f, inlined_at 1 2 3\nret;")));
  EXPECT_EQ(list[0].source.file, 1u);
}

TEST(PtxParser, TwoMegabytes) {
  std::string body;
  while (body.size() < (2u << 20)) {
    body +=
        "\t.loc\t1 12 3\n\tmad.lo.s32 \t%r1, %r2, %r3, %r4;\n\t@%p1 bra \t$L__BB0_2;\n"
        "\tld.global.nc.v4.u32 \t{%r1, %r2, %r3, %r4}, [%rd1+16];\n";
  }
  const std::string text = with_body(body);
  const Module module = parse(text);
  EXPECT_GT(module.functions[0].body.size(), 40000u);
}

}  // namespace
}  // namespace bitgate::machine::ptx

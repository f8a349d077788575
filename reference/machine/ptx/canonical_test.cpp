#include "reference/machine/ptx/canonical.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "reference/machine/ptx/nvcc_test_support.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::machine::ptx {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
bool lacks(const std::string& text, std::string_view part) { return !contains(text, part); }

namespace fs = std::filesystem;

std::string sample(const std::string& name) {
  return read_text_file(std::string(BITGATE_SOURCE_DIR "/reference/machine/ptx/testdata/") + name);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  std::size_t count = 0;
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    ++count;
  }
  EXPECT_GT(count, 0u) << "'" << from << "' is not in the text";
  return text;
}

std::string hash_of(const std::string& text, std::string_view entry) {
  return code_hash(parse(text), entry);
}

constexpr const char* kSource = R"(
static __device__ float weights[4] = {1.f, 2.f, 3.f, 4.f};
static __device__ int counter;
static __device__ __noinline__ float scaled(float x, int i) { return x * weights[i & 3]; }
extern "C" __global__ void scale(float* x, int n) {
  static __shared__ float tile[32];
  const int i = threadIdx.x;
  tile[i & 31] = x[i];
  __syncthreads();
  if (i < n) x[i] = scaled(tile[(i + 1) & 31], i) + CONSTANT;
  atomicAdd(&counter, 1);
}
)";

std::string compiled(const fs::path& folder, const std::string& source) {
  fs::create_directories(folder);
  write_file(folder / "scale.cu", source);
  std::string output;
  const int status = run_command(
      fmt::format("cd '{}' && '{}' -ptx -arch=compute_80 -fmad=false -lineinfo -o scale.ptx '{}'",
                  folder.string(), cuda_tool("nvcc"), (folder / "scale.cu").string()),
      output);
  if (status != 0) throw std::runtime_error(output);
  return read_text_file(folder / "scale.ptx");
}

TEST(CodeHash, SameKernelInTwoFoldersWithACommentAdded) {
  const ScratchFolder scratch;
  const std::string source = replaced(kSource, "CONSTANT", "1.0f");
  const std::string here = compiled(scratch.path() / "one", source);
  const std::string there =
      compiled(scratch.path() / "another" / "place", "// A comment on line 1.\n" + source);
  ASSERT_NE(here, there) << "the text itself was expected to differ";
  ASSERT_NE(here.find("_INTERNAL_"), std::string::npos) << "no path-derived name to see through";
  EXPECT_EQ(canonical_text(parse(here), "scale"), canonical_text(parse(there), "scale"));
  EXPECT_EQ(hash_of(here, "scale"), hash_of(there, "scale"));

  const std::string changed =
      compiled(scratch.path() / "three", replaced(kSource, "CONSTANT", "1.5f"));
  EXPECT_NE(hash_of(here, "scale"), hash_of(changed, "scale"));
  const std::string other_weight =
      compiled(scratch.path() / "four", replaced(source, "4.f}", "5.f}"));
  EXPECT_NE(hash_of(here, "scale"), hash_of(other_weight, "scale"))
      << "a variable that the entry reaches through a function";
}

TEST(CodeHash, NamesDoNotMatter) {
  const std::string text = sample("nvcc.ptx");
  const std::string hash = hash_of(text, "everything");
  EXPECT_EQ(hash.size(), 64u);
  std::string renamed = replaced(text, "%f", "%float");
  renamed = replaced(renamed, "$L__BB", "$branch_");
  renamed = replaced(renamed, "everything", "all");
  renamed = replaced(renamed, "$str", "$text");
  renamed = replaced(renamed, "scale", "factor");
  renamed = replaced(renamed, ".file\t1 \"nvcc.cu\"", ".file\t1 \"/elsewhere/x.cu\"");
  EXPECT_EQ(hash_of(renamed, "all"), hash);
  EXPECT_EQ(hash_of(replaced(text, "\n", " // comment\n"), "everything"), hash);
}

TEST(CodeHash, EveryPartOfTheCodeMatters) {
  const std::string text = sample("nvcc.ptx");
  const std::string hash = hash_of(text, "everything");
  const std::pair<const char*, const char*> changes[] = {
      {"setp.ge.s32", "setp.gt.s32"},                                  // an opcode's modifier
      {"{1, 0, 0, 0, 2", "{1, 0, 0, 0, 3"},                            // a table
      {"0f3F800000", "0f3F800001"},                                    // a literal
      {".maxntid 256", ".maxntid 128"},                                // a directive
      {".target sm_80", ".target sm_90"},                              // the target
      {"mul.rn.f32 \t%f4, %f3, %f1;", "mul.rz.f32 \t%f4, %f3, %f1;"},  // a function it calls
      {"everything_param_3[12]", "everything_param_3[16]"}             // a parameter
  };
  for (const auto& [from, to] : changes) {
    EXPECT_NE(hash_of(replaced(text, from, to), "everything"), hash) << from;
  }
  // What the entry does not reach is no part of it.
  EXPECT_EQ(
      hash_of(replaced(text, "shl.b32 \t%r2, %r1, 1;", "shl.b32 \t%r2, %r1, 2;"), "everything"),
      hash);
  EXPECT_NE(hash_of(replaced(text, "shl.b32 \t%r2, %r1, 1;", "shl.b32 \t%r2, %r1, 2;"), "indirect"),
            hash_of(text, "indirect"))
      << "a function reached through a table of pointers";
}

TEST(CodeHash, RegistersKeepTheirIdentity) {
  const auto body = [](const std::string& code) {
    return ".version 9.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<9>;\n" +
           code + "\n}\n";
  };
  const std::string hash =
      hash_of(body("mov.u32 %r1, 1; mov.u32 %r2, 2; add.s32 %r3, %r1, %r2;"), "k");
  EXPECT_EQ(hash_of(body("mov.u32 %r7, 1; mov.u32 %r0, 2; add.s32 %r1, %r7, %r0;"), "k"), hash);
  EXPECT_EQ(
      hash_of(body("mov.u32 %r7, 1; { mov.u32 %r0, 2; } $unused: add.s32 %r1, %r7, %r0;"), "k"),
      hash);
  EXPECT_EQ(
      hash_of(body("mov.u32 %r7, 0x1; { .reg .b32 t; mov.u32 t, 2; add.s32 %r1, %r7, t; }"), "k"),
      hash);
  EXPECT_NE(hash_of(body("mov.u32 %r7, 1; mov.u32 %r0, 2; add.s32 %r1, %r0, %r7;"), "k"), hash);
  EXPECT_NE(hash_of(body("mov.u32 %r7, 1; mov.u32 %r0, 2; add.s32 %r7, %r7, %r0;"), "k"), hash);
  EXPECT_NE(
      hash_of(body("mov.u32 %r7, 1; { .reg .b16 t; mov.u32 t, 2; add.s32 %r1, %r7, t; }"), "k"),
      hash)
      << "a register of another type";
}

TEST(CodeHash, UnknownEntry) {
  try {
    hash_of(sample("nvcc.ptx"), "nothing");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_PRED2(contains, error.what(),
                 "(everything, indirect, plain_half2, marked_half2), found 'nothing'");
  }
}

TEST(SliceModule, PtxasAcceptsEverySlice) {
  const ScratchFolder scratch;
  const std::string ptxas = cuda_tool("ptxas");
  const std::pair<const char*, const char*> samples[] = {{"nvcc.ptx", "sm_80"},
                                                         {"clang.ptx", "sm_80"},
                                                         {"numba.ptx", "sm_80"},
                                                         {"triton.ptx", "sm_90a"}};
  for (const auto& [name, target] : samples) {
    const Module module = parse(sample(name), name);
    for (const Function& function : module.functions) {
      if (!function.is_entry) continue;
      const std::string slice = slice_module(module, function.name);
      write_file(scratch.path() / "slice.ptx", slice);
      std::string output;
      const int status = run_command(fmt::format("'{}' -c -arch={} -o '{}' '{}'", ptxas, target,
                                                 (scratch.path() / "slice.cubin").string(),
                                                 (scratch.path() / "slice.ptx").string()),
                                     output);
      EXPECT_EQ(status, 0) << name << " " << function.name << "\n" << output << slice;
      EXPECT_EQ(code_hash(parse(slice), function.name), code_hash(module, function.name));
    }
  }
}

TEST(SliceModule, HoldsWhatIsReachedAndNothingElse) {
  const Module module = parse(sample("nvcc.ptx"));
  const std::string indirect = slice_module(module, "indirect");
  EXPECT_PRED2(contains, indirect, "table[2] = {_Z9incrementi, _Z5twicei}");
  EXPECT_PRED2(contains, indirect, "shl.b32");
  EXPECT_PRED2(lacks, indirect, "lut");
  EXPECT_PRED2(lacks, indirect, "everything");
  EXPECT_PRED2(lacks, indirect, ".loc");
  const std::string everything = slice_module(module, "everything");
  EXPECT_PRED2(contains, everything, "lut[16]");
  EXPECT_PRED2(contains, everything, ".extern .shared .align 16 .b8 dynamic[]");
  EXPECT_PRED2(lacks, everything, "twice");
}

TEST(SliceModule, DebugBuildLosesTheOptionThatAsksForDebugSections) {
  const Module module =
      parse(".version 9.0\n.target sm_80, debug\n.address_size 64\n.entry k()\n{\nret;\n}\n");
  EXPECT_PRED2(contains, slice_module(module, "k"), ".target sm_80\n");
}

}  // namespace
}  // namespace bitgate::machine::ptx

// Compiled for any x86-64, unlike all that it calls: it says what an older CPU lacks.

#include <cstdio>

#include "ci/bitgate/command_line.h"

int main(int argc, char** argv) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("f16c")) {
    std::fputs("bitgate: needs an x86-64 CPU with AVX2, FMA, BMI2 and F16C; this one lacks one.\n",
               stderr);
    return 2;
  }
  return bitgate::command_line::run(argc, argv);
}

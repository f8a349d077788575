#include "kernels/device/code_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace bitgate::kernels {
namespace {

Code code_of(std::string_view ptx) {
  return {.name = "text", .ptx = ptx, .cubin_sm80 = {}, .cubin_sm90 = {}};
}

TEST(CodeCache, FindsTextByWhatItSays) {
  CodeCache<int> cache;
  std::string text = "some PTX";
  const std::string again = text;
  cache.insert(code_of(text), 1);
  ASSERT_NE(cache.find(code_of(again)), nullptr);
  EXPECT_EQ(*cache.find(code_of(again)), 1);
  text[0] = 'S';
  EXPECT_EQ(cache.find(code_of(text)), nullptr) << "other text in the same place";
  EXPECT_NE(cache.find(code_of(again)), nullptr) << "the cache has its own copy";
}

TEST(CodeCache, FindsWhatIsBuiltInByItsPlace) {
  const auto text_of = [](const EmbeddedModule& module) {
    return std::string_view(reinterpret_cast<const char*>(module.ptx_begin),
                            reinterpret_cast<const char*>(module.ptx_end));
  };
  ASSERT_GE(embedded_modules().size(), 2U);
  const std::string_view first = text_of(embedded_modules()[0]);
  const std::string_view second = text_of(embedded_modules()[1]);
  EXPECT_TRUE(is_embedded(first));
  EXPECT_FALSE(is_embedded(first.substr(0, first.size() - 1)));
  CodeCache<int> cache;
  cache.insert(code_of(first), 1);
  EXPECT_EQ(cache.find(code_of(second)), nullptr);
  cache.insert(code_of(second), 2);
  ASSERT_NE(cache.find(code_of(first)), nullptr);
  EXPECT_EQ(*cache.find(code_of(first)), 1);
  EXPECT_EQ(*cache.find(code_of(second)), 2);
  const std::string copy(second);
  EXPECT_FALSE(is_embedded(copy));
  ASSERT_NE(cache.find(code_of(copy)), nullptr);
  EXPECT_EQ(*cache.find(code_of(copy)), 2) << "a copy of it says the same";
}

}  // namespace
}  // namespace bitgate::kernels

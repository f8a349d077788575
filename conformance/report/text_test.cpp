#include "conformance/report/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bitgate::conformance {
namespace {

TEST(CleanText, KeepsTextAndReplacesControls) {
  EXPECT_EQ(clean_text("µs, 16 × 64\n\tend"), "µs, 16 × 64\n\tend");
  EXPECT_EQ(clean_text("a\x1b[31mb"), "a\xef\xbf\xbd[31mb");
  EXPECT_EQ(clean_text(std::string_view("a\0b", 3)),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(clean_text("\xc2\x9b"
                       "31m"),
            "\xef\xbf\xbd"
            "31m");  // the one-character CSI
}

TEST(CleanText, ReplacesMalformedSequences) {
  EXPECT_EQ(clean_text("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(clean_text("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");                  // cut off
  EXPECT_EQ(clean_text("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
  EXPECT_EQ(clean_text("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(clean_text("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

TEST(CleanText, IsIdempotentOnAnyBytes) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    const std::string clean = clean_text(bytes);
    RC_ASSERT(clean_text(clean) == clean);
    RC_ASSERT(clean.find('\x1b') == std::string::npos);
  }));
}

TEST(HtmlText, LeavesNoMarkup) {
  EXPECT_EQ(html_text("<script>\"a\" & 'b'"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;");
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    RC_ASSERT(html_text(bytes).find_first_of("<>\"'") == std::string::npos);
  }));
}

}  // namespace
}  // namespace bitgate::conformance

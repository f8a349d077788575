#pragma once

#include <string>
#include <string_view>

namespace bitgate::conformance {

/// What may be shown of a string from outside (a path, a compiler's message): valid UTF-8; bytes
/// that are not, and control characters except line breaks and tabs, become U+FFFD. So no terminal
/// sequence gets through, and the text is legal in XML 1.0.
std::string clean_text(std::string_view text);

/// clean_text with & < > " ' as entities, for HTML text and quoted attributes.
std::string html_text(std::string_view text);

}  // namespace bitgate::conformance

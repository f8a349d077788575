#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace bitgate::formats {

/// The action must throw `Error`, and its message must contain `words`.
template <typename Error>
void expect_rejected(const std::string& words, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "expected an error that says: " << words;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

}  // namespace bitgate::formats

#pragma once
/// \file words.hpp
/// Lines of words, as hosts and processes are written.
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What spaces, tabs and carriage returns separate.
std::vector<std::string> words_of(std::string_view line);

}  // namespace troupe

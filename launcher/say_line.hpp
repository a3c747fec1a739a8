#pragma once
/// \file say_line.hpp
/// What a command says on standard output, at once.
#include <cstdio>
#include <string>

namespace troupe {

inline void say_line(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

}  // namespace troupe

#include "launcher/temporary_place.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {

Result<std::filesystem::path> temporary_place(std::string_view command) {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  if (error) {
    const char* named = std::getenv("TMPDIR");
    return Error(
        Errc::not_found,
        fmt::format("TMPDIR: expected a folder for temporary files, found \"{}\": {}\ntry: "
                    "TMPDIR=/tmp, or another folder that exists",
                    named == nullptr ? "/tmp" : named, error.message()));
  }
  return folder / fmt::format("troupe-{}-{}", command, ::getpid());
}

}  // namespace troupe

#include "launcher/temporary_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {

Result<StagedDirectory> temporary_folder(std::string_view command) {
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
  const auto name = fmt::format("troupe-{}-", command);
  remove_left_behind(folder, name);  // the next process has another number
  return StagedDirectory::create(folder / fmt::format("{}{}", name, ::getpid()));
}

}  // namespace troupe

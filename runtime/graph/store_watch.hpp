#pragma once
/// \file store_watch.hpp
/// Notices when somebody writes to a store that a run reads in place.
#include "runtime/base/result.hpp"

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace troupe {

/// Size and time of change of all files below a folder.
/// Threads: one; a copy elsewhere is another one
class StoreWatch {
 public:
  /// \errors not_found: no such folder, or it cannot be read
  static Result<StoreWatch> begin(const std::filesystem::path& folder);
  /// \errors data_corruption: the first file that was changed, removed or added since begin()
  Status check() const;

 private:
  struct Mark {
    std::uint64_t bytes = 0;
    std::int64_t changed = 0;  ///< ticks of the file clock
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  using Marks = std::map<std::string, Mark>;  ///< by path below the folder
  static Result<Marks> look(const std::filesystem::path& folder);

  std::filesystem::path folder_;
  Marks marks_;
};

}  // namespace troupe

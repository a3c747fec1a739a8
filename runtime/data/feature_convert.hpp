#pragma once
/// \file feature_convert.hpp
/// Between an importer's rows of features and a StoreWriter's: normalises, then narrows.
#include "runtime/base/scratch_file.hpp"
#include "runtime/data/import_options.hpp"
#include "runtime/graph/column_stats.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Lifecycle:  create(); add() all rows in order; finish() once
/// Threads:    one at a time
/// Guarantees: the same rows give the same bytes, whatever the pieces. Columns are normalised by
///   statistics of all rows, so those lie in a scratch file until finish()
class FeatureConverter {
 public:
  /// \param name    of the rows, for messages
  /// \param source  their width, and the dtype that they have if no other is asked for
  /// \param folder  for scratch files
  static Result<FeatureConverter> create(std::string name, const FeatureInfo& source,
                                         const FeatureOptions& options,
                                         const std::filesystem::path& folder);

  /// What is handed out: width, and dtype of the bytes.
  const FeatureInfo& info() const { return info_; }
  /// \errors invalid_argument: a value that the dtype cannot hold, with row and column
  Status add(std::span<const float> rows, const TakeBytes& take);
  Status finish(const TakeBytes& take);

 private:
  FeatureConverter(std::string name, const FeatureInfo& info, Normalize normalize)
      : name_(std::move(name)), info_(info), normalize_(normalize) {}
  Status for_each_kept(const std::function<Status(std::span<float>)>& take) const;
  Status narrow(std::span<const float> rows, const TakeBytes& take);
  Error does_not_fit(std::size_t at, float value) const;

  std::string name_;
  FeatureInfo info_;
  Normalize normalize_;
  std::uint64_t narrowed_ = 0;  ///< values
  std::vector<float> rows_;
  std::vector<std::byte> bytes_;
  std::optional<ScratchFile> kept_;
  std::optional<ColumnStatsBuilder> stats_;
};

}  // namespace troupe

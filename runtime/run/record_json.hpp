#pragma once
/// \file record_json.hpp
/// Run records as JSON, for the checkpoint's manifest and for metrics.jsonl (docs/outputs.md). For
/// the sources of this folder only: it includes all of nlohmann/json.
#include "runtime/base/result.hpp"
#include "runtime/graph/json_reader.hpp"
#include "runtime/run/run_record.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace troupe {

enum class JsonStyle : std::uint8_t {
  /// To be read back: a number that JSON does not know is a text of its bits, 0x and 16 digits; what
  /// is absent has no key.
  exact,
  /// To be looked at: both are null.
  plain,
};

nlohmann::ordered_json number_to_json(double value, JsonStyle style);
nlohmann::ordered_json scores_to_json(const Scores& scores, JsonStyle style);
/// In plain style: `epoch` counts from 1, and the figures that follow from others are added.
nlohmann::ordered_json epoch_to_json(const EpochRecord& epoch);
/// In exact style, with an empty list of epochs, whose text is epochs_text().
nlohmann::ordered_json record_to_json(const RunRecord& record);
/// The list of epochs in exact style, a line each. A text from the start, as each checkpoint has all epochs of its run,
/// and JSON values of so many members cost ten times as much.
std::string epochs_text(const std::vector<EpochRecord>& epochs);

/// What number_to_json and record_to_json wrote in exact style, and epochs_text.
/// \errors data_corruption: with the place in the document
Result<double> number_from_json(const JsonValue& parent, const std::string& key);
Result<Digest> digest_from_json(const JsonValue& parent, const std::string& key);
Result<RunRecord> record_from_json(const JsonValue& value);

}  // namespace troupe

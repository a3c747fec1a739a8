#include "runtime/run/checkpoint_manifest.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/self_checksum.hpp"
#include "runtime/run/record_json.hpp"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>
#include <limits>
#include <optional>

namespace troupe {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view format_name = "troupe checkpoint";
constexpr std::uint64_t manifest_version = 1;
/// In the text of record_to_json().
constexpr std::string_view no_epochs = "\"epochs\": []";
constexpr std::uint64_t largest_file = std::uint64_t{1} << 60;

OrderedJson position_to_json(const TrainingState& training) {
  return {{"epoch", training.epoch},
          {"step", training.step},
          {"global_step", training.global_step},
          {"loss_sum", number_to_json(training.loss_sum, JsonStyle::exact)},
          {"loss_weight", training.loss_weight},
          {"batches", to_string(training.batches)},
          {"optimizer_steps", training.optimizer.steps}};
}

Status read_position(const JsonValue& value, TrainingState& training) {
  TROUPE_ASSIGN_OR_RETURN(const auto epoch,
                          value.integer("epoch", std::numeric_limits<std::uint32_t>::max()));
  training.epoch = static_cast<std::uint32_t>(epoch);
  TROUPE_ASSIGN_OR_RETURN(training.step, value.integer("step", any_integer));
  TROUPE_ASSIGN_OR_RETURN(training.global_step, value.integer("global_step", any_integer));
  TROUPE_ASSIGN_OR_RETURN(training.loss_sum, number_from_json(value, "loss_sum"));
  TROUPE_ASSIGN_OR_RETURN(training.loss_weight, value.integer("loss_weight", any_integer));
  TROUPE_ASSIGN_OR_RETURN(training.batches, digest_from_json(value, "batches"));
  TROUPE_ASSIGN_OR_RETURN(training.optimizer.steps, value.integer("optimizer_steps", any_integer));
  return ok_status();
}

Status read_blobs(const JsonValue& root, CheckpointManifest& manifest) {
  TROUPE_ASSIGN_OR_RETURN(const auto entries, root.array("blobs"));
  for (const auto& entry : entries) {
    TROUPE_ASSIGN_OR_RETURN(auto name, entry.string("name"));
    TROUPE_ASSIGN_OR_RETURN(const auto bytes, entry.integer("bytes", largest_file));
    if (!manifest.blobs.empty() && name <= manifest.blobs.back().first) {
      return entry.error("names in ascending order, each once");
    }
    manifest.blobs.emplace_back(std::move(name), bytes);
  }
  return ok_status();
}

Status read_files(const JsonValue& root, CheckpointManifest& manifest) {
  namespace layout = checkpoint_layout;
  constexpr std::array known{layout::parameters, layout::optimizer, layout::best, layout::blobs};
  TROUPE_ASSIGN_OR_RETURN(const auto entries, root.array("files"));
  std::uint32_t tables = 0;  // parts whose files came before
  std::uint32_t tensors = 0;
  for (const auto& entry : entries) {
    FileInfo file;
    TROUPE_ASSIGN_OR_RETURN(file.path, entry.string("path"));
    TROUPE_ASSIGN_OR_RETURN(file.bytes, entry.integer("bytes", largest_file));
    TROUPE_ASSIGN_OR_RETURN(const auto checksum, digest_from_json(entry, "checksum"));
    file.checksum = to_string(checksum);
    const bool table = file.path == table_file_name(tables);
    tables += table ? 1 : 0;
    const bool tensor = file.path == tensor_file_name(tensors);
    tensors += tensor ? 1 : 0;
    if (!table && !tensor && std::ranges::find(known, file.path) == known.end()) {
      return entry.error(fmt::format("a path among {}, {} or {}", fmt::join(known, ", "),
                                     table_file_name(tables), tensor_file_name(tensors)));
    }
    if (!manifest.files.emplace(file.path, file).second) {
      return entry.error("each path once");
    }
  }
  return ok_status();
}

void put_origin(OrderedJson& json, const CheckpointOrigin& origin) {
  if (!origin.store.empty()) {
    json["store"] = origin.store;
  }
  if (origin.sampling_version) {
    json["sampling_version"] = *origin.sampling_version;
  }
  if (!origin.build.empty()) {
    json["build"] = origin.build;
  }
  if (!origin.device.empty()) {
    json["device"] = origin.device;
  }
}

/// Manifests of older programs have none of these keys.
Status read_origin(const JsonValue& root, CheckpointOrigin& origin) {
  if (root.has("store")) {
    TROUPE_ASSIGN_OR_RETURN(const auto store, digest_from_json(root, "store"));
    origin.store = to_string(store);
  }
  if (root.has("sampling_version")) {
    TROUPE_ASSIGN_OR_RETURN(
        const auto version,
        root.integer("sampling_version", std::numeric_limits<std::uint32_t>::max()));
    origin.sampling_version = static_cast<std::uint32_t>(version);
  }
  if (root.has("build")) {
    TROUPE_ASSIGN_OR_RETURN(origin.build, root.string("build"));
  }
  if (root.has("device")) {
    TROUPE_ASSIGN_OR_RETURN(origin.device, root.string("device"));
  }
  return ok_status();
}

Status check_format(const JsonValue& root) {
  TROUPE_ASSIGN_OR_RETURN(const auto format, root.string("format"));
  if (format != format_name) {
    return root.error(fmt::format("\"format\": \"{}\"", format_name));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto version, root.integer("version", any_integer));
  if (version != manifest_version) {
    return Error(Errc::unimplemented, fmt::format("{}: expected format version {}, found {}",
                                                  root.place(), manifest_version, version));
  }
  return ok_status();
}

}  // namespace

Result<std::string> manifest_to_json(const Checkpoint& checkpoint, const CheckpointOrigin& origin,
                                     const std::vector<FileInfo>& files) {
  OrderedJson json{
      {"format", format_name}, {"version", manifest_version}, {"self_checksum", unsealed}};
  put_origin(json, origin);
  json["position"] = position_to_json(checkpoint.training);
  json["record"] = record_to_json(checkpoint.record);
  json["blobs"] = OrderedJson::array();
  for (const auto& [name, bytes] : checkpoint.training.blobs) {
    json["blobs"].push_back({{"name", name}, {"bytes", bytes.size()}});
  }
  json["files"] = OrderedJson::array();
  for (const auto& file : files) {
    json["files"].push_back(
        {{"path", file.path}, {"bytes", file.bytes}, {"checksum", file.checksum}});
  }
  json["job"] = checkpoint.job;
  auto text = strict_text_of_json(json);
  if (text) {  // the first such text: quotes within strings have a backslash before them
    text->replace(text->find(no_epochs), no_epochs.size(),
                  "\"epochs\": " + epochs_text(checkpoint.record.epochs));
  }
  if (!text || text->size() >= checkpoint_layout::largest_manifest) {
    return Error(
        Errc::invalid_argument,
        fmt::format("checkpoint of step {}: expected names of blobs and a job in UTF-8 and "
                    "a manifest of at most {} bytes, got {}",
                    checkpoint.training.global_step, checkpoint_layout::largest_manifest,
                    text ? fmt::to_string(text->size()) : "other bytes"));
  }
  return seal_text(*std::move(text) + "\n");
}

Result<CheckpointManifest> manifest_from_json(const std::string& text, std::string_view name) {
  TROUPE_ASSIGN_OR_RETURN(const auto document, open_json(text, name));
  const JsonValue root(document, std::string(name) + ": ");
  TROUPE_RETURN_IF_ERROR(check_format(root));
  TROUPE_RETURN_IF_ERROR(check_seal(text, name));
  CheckpointManifest manifest;
  auto& checkpoint = manifest.checkpoint;
  TROUPE_RETURN_IF_ERROR(read_origin(root, checkpoint.origin));
  TROUPE_ASSIGN_OR_RETURN(const auto position, root.member("position"));
  TROUPE_RETURN_IF_ERROR(read_position(position, checkpoint.training));
  TROUPE_ASSIGN_OR_RETURN(const auto record, root.member("record"));
  TROUPE_ASSIGN_OR_RETURN(checkpoint.record, record_from_json(record));
  TROUPE_RETURN_IF_ERROR(read_blobs(root, manifest));
  TROUPE_RETURN_IF_ERROR(read_files(root, manifest));
  TROUPE_ASSIGN_OR_RETURN(checkpoint.job, root.string("job"));
  return manifest;
}

}  // namespace troupe

#include "runtime/run/record_json.hpp"

#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>
#include <iterator>
#include <limits>
#include <string_view>

namespace troupe {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Counters that checkpoints of earlier versions do not have, and others where they are 0.
constexpr std::array<std::string_view, 7> added_later{
    "batches_in_flight", "learned_ns",  "learned_rows", "learned_bytes",
    "learned_messages",  "rows_device", "rows_pinned"};
constexpr std::uint64_t any_u32 = std::numeric_limits<std::uint32_t>::max();

void put(OrderedJson& json, const char* key, const std::optional<double>& value, JsonStyle style) {
  if (value) {
    json[key] = number_to_json(*value, style);
  } else if (style == JsonStyle::plain) {
    json[key] = nullptr;
  }
}

void put(OrderedJson& json, const char* key, const std::optional<Scores>& value, JsonStyle style) {
  if (value) {
    json[key] = scores_to_json(*value, style);
  } else if (style == JsonStyle::plain) {
    json[key] = nullptr;
  }
}

Result<std::uint32_t> u32_from_json(const JsonValue& parent, const std::string& key) {
  TROUPE_ASSIGN_OR_RETURN(const auto value, parent.integer(key, any_u32));
  return static_cast<std::uint32_t>(value);
}

Result<std::optional<double>> optional_number(const JsonValue& parent, const std::string& key) {
  if (!parent.has(key)) {
    return std::optional<double>();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto value, number_from_json(parent, key));
  return std::optional(value);
}

Result<std::optional<Scores>> optional_scores(const JsonValue& parent, const std::string& key) {
  if (!parent.has(key)) {
    return std::optional<Scores>();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto value, parent.member(key));
  Scores scores;
  TROUPE_ASSIGN_OR_RETURN(scores.labelled, value.integer("labelled", any_integer));
  TROUPE_ASSIGN_OR_RETURN(scores.accuracy, optional_number(value, "accuracy"));
  TROUPE_ASSIGN_OR_RETURN(scores.f1, optional_number(value, "f1"));
  TROUPE_ASSIGN_OR_RETURN(scores.auc, optional_number(value, "auc"));
  if (value.has("more")) {
    TROUPE_ASSIGN_OR_RETURN(const auto more, value.array("more"));
    for (const auto& entry : more) {
      TROUPE_ASSIGN_OR_RETURN(const auto name, entry.string("name"));
      TROUPE_ASSIGN_OR_RETURN(const auto number, number_from_json(entry, "value"));
      scores.more.emplace_back(name, number);
    }
  }
  return std::optional(scores);
}

std::string exact_text(double value) {
  return text_of_json(number_to_json(value, JsonStyle::exact));
}

void add_epoch(const EpochRecord& record, std::string& text) {
  // Does not compile without a new member.
  const auto& [epoch, loss, seconds, eval_seconds, counts, world, valid, best, over] = record;
  const auto to = std::back_inserter(text);
  fmt::format_to(to, R"({{"epoch":{},"loss":{},"seconds":{},"eval_seconds":{})", epoch,
                 exact_text(loss), exact_text(seconds), exact_text(eval_seconds));
  for (const auto& counter : net::EpochCounters::counters()) {
    const auto count = counts.*counter.member;
    if (count > 0 || std::ranges::find(added_later, counter.name) == added_later.end()) {
      fmt::format_to(to, R"(,"{}":{})", counter.name, count);
    }
  }
  fmt::format_to(to, R"(,"frontier_nodes":[{}],"frontier_remote":[{}],"world":{})",
                 fmt::join(counts.frontier.nodes, ","), fmt::join(counts.frontier.remote, ","),
                 world);
  if (valid) {
    text += R"(,"valid":)" + text_of_json(scores_to_json(*valid, JsonStyle::exact));
  }
  fmt::format_to(to, R"(,"best":{},"over":{}}})", best, over);
}

Result<EpochRecord> epoch_from_json(const JsonValue& value) {
  EpochRecord epoch;
  TROUPE_ASSIGN_OR_RETURN(epoch.epoch, u32_from_json(value, "epoch"));
  TROUPE_ASSIGN_OR_RETURN(epoch.loss, number_from_json(value, "loss"));
  TROUPE_ASSIGN_OR_RETURN(epoch.seconds, number_from_json(value, "seconds"));
  TROUPE_ASSIGN_OR_RETURN(epoch.eval_seconds, number_from_json(value, "eval_seconds"));
  for (const auto& counter : net::EpochCounters::counters()) {
    const std::string name(counter.name);
    if (std::ranges::find(added_later, name) != added_later.end() && !value.has(name)) {
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(epoch.counters.*counter.member, value.integer(name, any_integer));
  }
  auto& frontier = epoch.counters.frontier;
  TROUPE_ASSIGN_OR_RETURN(frontier.nodes, value.integers("frontier_nodes", any_integer));
  TROUPE_ASSIGN_OR_RETURN(frontier.remote, value.integers("frontier_remote", any_integer));
  if (frontier.nodes.size() != frontier.remote.size()) {
    return value.error("frontier_nodes and frontier_remote of as many hops");
  }
  TROUPE_ASSIGN_OR_RETURN(epoch.world, u32_from_json(value, "world"));
  TROUPE_ASSIGN_OR_RETURN(epoch.valid, optional_scores(value, "valid"));
  TROUPE_ASSIGN_OR_RETURN(epoch.best, value.boolean("best"));
  TROUPE_ASSIGN_OR_RETURN(epoch.over, value.boolean("over"));
  return epoch;
}

}  // namespace

OrderedJson number_to_json(double value, JsonStyle style) {
  if (std::isfinite(value)) {
    return value;
  }
  return style == JsonStyle::plain
             ? OrderedJson()
             : OrderedJson(fmt::format("{:#018x}", std::bit_cast<std::uint64_t>(value)));
}

OrderedJson scores_to_json(const Scores& scores, JsonStyle style) {
  const auto& [labelled, accuracy, f1, auc, more] =
      scores;  // does not compile without a new member
  OrderedJson json{{"labelled", labelled}};
  put(json, "accuracy", accuracy, style);
  put(json, "f1", f1, style);
  put(json, "auc", auc, style);
  for (const auto& [name, number] : more) {
    if (style == JsonStyle::plain) {
      json[name] = number_to_json(number, style);
    } else {
      json["more"].push_back({{"name", name}, {"value", number_to_json(number, style)}});
    }
  }
  return json;
}

OrderedJson epoch_to_json(const EpochRecord& record) {
  constexpr auto style = JsonStyle::plain;
  OrderedJson json{{"epoch", record.epoch + 1},
                   {"loss", number_to_json(record.loss, style)},
                   {"seconds", number_to_json(record.seconds, style)},
                   {"eval_seconds", number_to_json(record.eval_seconds, style)}};
  const auto& counts = record.counters;
  for (const auto& counter : net::EpochCounters::counters()) {
    json[std::string(counter.name)] = counts.*counter.member;
  }
  json["frontier_nodes"] = counts.frontier.nodes;
  json["frontier_remote"] = counts.frontier.remote;
  json["world"] = record.world;
  put(json, "valid", record.valid, style);
  json["best"] = record.best;
  json["seeds_per_second"] = number_to_json(record.seeds_per_second(), style);
  json["edges_per_second"] = number_to_json(record.edges_per_second(), style);
  json["wait_share"] = number_to_json(record.wait_share(), style);
  json["remote_share"] = number_to_json(record.remote_share(), style);
  json["remote_share_of_hops"] = record.remote_share_of_hops();
  put(json, "cache_hit_rate", record.cache_hit_rate(), style);
  put(json, "cache_hit_rate_at_best", record.cache_hit_rate_at_best(), style);
  return json;
}

OrderedJson record_to_json(const RunRecord& record) {
  // Does not compile without a new member.
  const auto& [epochs, best_epoch, valid, test, valid_seconds, test_seconds, batches, outputs,
               parameters, best, tensors] = record;
  OrderedJson json{{"epochs", OrderedJson::array()}};
  if (best_epoch) {
    json["best_epoch"] = *best_epoch;
  }
  put(json, "valid", valid, JsonStyle::exact);
  put(json, "test", test, JsonStyle::exact);
  if (batches) {
    json["batches"] = to_string(*batches);
  }
  json["outputs"] = to_string(outputs);
  json["parameters"] = to_string(parameters);
  json["best_parameters"] = to_string(best);
  return json;
}

std::string epochs_text(const std::vector<EpochRecord>& epochs) {
  std::string text = "[";
  for (const auto& epoch : epochs) {
    text += &epoch == epochs.data() ? "\n" : ",\n";
    add_epoch(epoch, text);
  }
  return text + (epochs.empty() ? "]" : "\n  ]");
}

Result<double> number_from_json(const JsonValue& parent, const std::string& key) {
  TROUPE_ASSIGN_OR_RETURN(const auto value, parent.member(key));
  const auto number = value.number();
  if (number.ok()) {
    return *number;
  }
  const auto text = value.string();
  constexpr std::string_view prefix = "0x";
  constexpr std::size_t size = 18;
  if (!text.ok() || text->size() != size || !text->starts_with(prefix)) {
    return value.error("a number, or 0x and the 16 hexadecimal digits of one");
  }
  std::uint64_t bits = 0;
  const auto [end, failed] =
      std::from_chars(text->data() + prefix.size(), text->data() + size, bits, 16);
  if (failed != std::errc{} || end != text->data() + size) {
    return value.error("a number, or 0x and the 16 hexadecimal digits of one");
  }
  return std::bit_cast<double>(bits);
}

Result<Digest> digest_from_json(const JsonValue& parent, const std::string& key) {
  TROUPE_ASSIGN_OR_RETURN(const auto value, parent.member(key));
  TROUPE_ASSIGN_OR_RETURN(const auto text, value.string());
  const auto digest = parse_digest(text);
  return digest.ok() ? digest : value.error("32 hexadecimal digits");
}

Result<RunRecord> record_from_json(const JsonValue& value) {
  RunRecord record;
  TROUPE_ASSIGN_OR_RETURN(const auto epochs, value.array("epochs"));
  for (const auto& entry : epochs) {
    TROUPE_ASSIGN_OR_RETURN(auto epoch, epoch_from_json(entry));
    record.epochs.push_back(std::move(epoch));
  }
  if (value.has("best_epoch")) {
    TROUPE_ASSIGN_OR_RETURN(record.best_epoch, u32_from_json(value, "best_epoch"));
  }
  TROUPE_ASSIGN_OR_RETURN(record.valid, optional_scores(value, "valid"));
  TROUPE_ASSIGN_OR_RETURN(record.test, optional_scores(value, "test"));
  if (value.has("batches")) {
    TROUPE_ASSIGN_OR_RETURN(record.batches, digest_from_json(value, "batches"));
  }
  TROUPE_ASSIGN_OR_RETURN(record.outputs, digest_from_json(value, "outputs"));
  TROUPE_ASSIGN_OR_RETURN(record.parameters, digest_from_json(value, "parameters"));
  TROUPE_ASSIGN_OR_RETURN(record.best_parameters, digest_from_json(value, "best_parameters"));
  return record;
}

}  // namespace troupe

#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

#include <type_traits>
#include <variant>

namespace troupe {
namespace {

using namespace schema_fields;

template <class T>
Fallback fallback_of(const T& value) {
  return schema_fields::value(Json(value).dump());
}
Fallback fallback_of(const std::filesystem::path& /*value*/) {
  return absent();
}
template <class T>
Fallback fallback_of(const std::optional<T>& /*value*/) {
  return absent();
}

template <class T>
void read_value(const Json& json, T& value) {
  value = json.get<T>();
}
void read_value(const Json& json, std::filesystem::path& value) {
  value = json.get<std::string>();
}
template <class T>
void read_value(const Json& json, std::optional<T>& value) {
  value = json.get<T>();
}

/// The key of an option of partition methods: its default is that of MethodOptions.
SchemaRow option_key(const PartitionOption& option, std::span<const PartitionMethod> methods) {
  SchemaRow row{fmt::format("/partition/{}", option.name),
                option.rule,
                {},
                fmt::format("{}: {}", readers_of(methods, option.name, "`"), option.help)};
  std::visit(
      [&](auto field) {
        if constexpr (!std::is_same_v<decltype(field), std::monostate>) {
          const MethodOptions defaults;
          row.fallback = fallback_of(defaults.*field);
          row.apply = [field](const Json& json, Job& job) {
            read_value(json, job.partition.more.*field);
          };
        }
      },
      option.field);
  if (std::holds_alternative<std::filesystem::path MethodOptions::*>(option.field)) {
    row.meaning += "; relative to the job file";
  }
  return row;
}

}  // namespace

std::vector<SchemaRow> method_rows(std::span<const PartitionMethod> methods,
                                   std::span<const PartitionOption> options) {
  std::vector<SchemaRow> rows;
  rows.push_back({"/partition/method",
                  choice_rule(names_of(methods)),
                  value("\"random\""),
                  "how nodes are assigned to parts",
                  {},
                  put<&Job::partition, &PartitionJob::method>});
  rows.push_back(
      {"/partition/parts",
       integer_rule(1, 65536),
       derived(
           "those of a partitioned `dataset.path`; else `cluster.hosts`, or with `server_client` "
           "`cluster.servers` if given"),
       "number of parts; part p lies on host, or server, p mod their number",
       {},
       put<&Job::partition, &PartitionJob::parts>});
  for (const auto& option : options) {
    if (option.job_key) {
      rows.push_back(option_key(option, methods));
    }
  }
  return rows;
}

}  // namespace troupe

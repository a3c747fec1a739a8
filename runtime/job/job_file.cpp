#include "runtime/job/job_file.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/strict_json.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/hidden_values.hpp"
#include "runtime/job/host_list.hpp"
#include "runtime/job/job_rules.hpp"
#include "runtime/job/layerless_rules.hpp"
#include "runtime/job/overrides.hpp"
#include "runtime/job/problems.hpp"
#include "runtime/job/schema.hpp"
#include "runtime/job/task_rules.hpp"
#include "runtime/job/walk_positives.hpp"
#include "runtime/job/walk_rules.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

namespace troupe {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* any_name = "*";
constexpr std::uint64_t most_slurm_nodes = 1024;  ///< Range of the key's row

struct KeyPlace {
  std::filesystem::path base_dir;  ///< of the job file
  std::string name;                ///< of the job file, without its extension
};

/// Path of a file that the job names, without "." and ".." unless that leads elsewhere, as ".." after a linked folder does.
std::filesystem::path path_from(const std::filesystem::path& base_dir,
                                const std::filesystem::path& named) {
  const auto path = base_dir / named;
  auto plain = path.lexically_normal();
  std::error_code problem;
  const bool there = std::filesystem::exists(path, problem);
  return there && !std::filesystem::equivalent(path, plain, problem) ? path : plain;
}

/// Partition of a store that is partitioned; errors of the store are reported when it is used.
std::optional<PartitionInfo> partition_of(const std::filesystem::path& dataset) {
  if (store_kind(dataset) != StoreKind::partitioned) {
    return std::nullopt;
  }
  const auto store = PartitionedStore::open(dataset, {});
  return store ? std::optional(store->partition()) : std::nullopt;
}

/// The key of a token: "~1" is '/', "~0" is '~'.
std::string unescaped(const std::string& token) {
  std::string key;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    key += !escape ? token[i] : token[++i] == '1' ? '/' : '~';
  }
  return key;
}

std::vector<std::string> split_pointer(const std::string& pointer) {
  std::vector<std::string> keys;
  for (std::size_t begin = 1; begin <= pointer.size();) {
    const auto end = std::min(pointer.find('/', begin), pointer.size());
    keys.push_back(unescaped(pointer.substr(begin, end - begin)));
    begin = end + 1;
  }
  return keys;
}

const Json* find_value(const Json& root, const std::string& pointer) {
  const Json* at = &root;
  for (const std::string& key : split_pointer(pointer)) {
    const auto found = at->is_object() ? at->find(key) : at->end();
    if (!at->is_object() || found == at->end()) {
      return nullptr;
    }
    at = &*found;
  }
  return at;
}

void set_value(OrderedJson& root, const std::string& pointer, const Json& value) {
  OrderedJson* at = &root;
  for (const std::string& key : split_pointer(pointer)) {
    at = &(*at)[key];
  }
  *at = value;
}

/// Indented by two spaces, but lists on one line.
void print(const OrderedJson& value, std::size_t indent, std::string& out) {
  if (value.is_array()) {
    const char* separator = "";
    out += '[';
    for (const OrderedJson& entry : value) {
      out += separator + text_of_json(entry);
      separator = ", ";
    }
    out += ']';
  } else if (value.is_object() && !value.empty()) {
    const char* separator = "{\n";
    for (const auto& [key, entry] : value.items()) {
      out += separator + std::string(indent + 2, ' ') + text_of_json(OrderedJson(key)) + ": ";
      print(entry, indent + 2, out);
      separator = ",\n";
    }
    out += '\n' + std::string(indent, ' ') + '}';
  } else {
    out += text_of_json(value);
  }
}

std::string printed(const OrderedJson& job) {
  std::string text;
  print(job, 0, text);
  return text + '\n';
}

/// Fills one Job from one tree, key by key in the order of the schema.
class Reader {
 public:
  Reader(const Json& root, const KeyPlace& place, ProblemList& problems)
      : root_(root), place_(place), problems_(problems) {}

  Job read() {
    check_object("", root_);
    for (const SchemaRow& row : job_schema()) {
      read_rows(row);
    }
    take_servers_from_hosts();
    check_unused_servers();
    job_.cluster.hosts_given = find_value(root_, "/cluster/hosts") != nullptr;
    job_.output_given = find_value(root_, "/output") != nullptr;
    job_.default_output = default_output();
    job_.partition.given = find_value(root_, "/partition") != nullptr;
    for (const SchemaRow& row : job_schema()) {
      constexpr std::string_view section = "/partition/";
      if (row.pointer.starts_with(section) && find_value(root_, row.pointer) != nullptr) {
        job_.partition.given_keys.insert(row.pointer.substr(section.size()));
      }
    }
    take_fanout_from_walks(job_);
    check_between_keys(job_, problems_);
    job_.dataset.path = path_from(place_.base_dir, job_.dataset.path);
    for (auto& [role, files] : job_.dataset.seeds) {
      for (auto* file : {&files.ids, &files.times}) {
        *file = file->empty() ? *file : path_from(place_.base_dir, *file);
      }
    }
    for (auto* files : {&job_.eval.negative_files, &job_.eval.candidate_files}) {
      for (auto& [role, of_role] : *files) {
        for (auto& file : of_role) {
          file = path_from(place_.base_dir, file);
        }
      }
    }
    auto& more = job_.partition.more;
    more.split = job_.dataset.split;
    more.file = more.file.empty() ? more.file : path_from(place_.base_dir, more.file);
    hide_values(complete_);
    job_.json = printed(complete_);
    return std::move(job_);
  }

 private:
  /// Named hosts are those of ranks and servers together.
  void take_servers_from_hosts() {
    auto& cluster = job_.cluster;
    if (cluster.named.empty() || !cluster.has_servers()) {
      return;
    }
    if (cluster.servers >= cluster.named.size()) {
      problems_.add(
          {"/cluster/servers",
           fmt::format("fewer than the {} hosts, of which some have ranks", cluster.named.size()),
           std::to_string(cluster.servers), ""});
      return;
    }
    cluster.hosts -= cluster.servers;
  }

  /// Complete jobs, which other processes read, have the default of the key with every placement.
  void check_unused_servers() {
    const auto& cluster = job_.cluster;
    const Json* given = find_value(root_, "/cluster/servers");
    const bool good = !problems_.has("/cluster/servers") && !problems_.has("/cluster/placement") &&
                      !problems_.has("/cluster/hosts");
    if (given != nullptr && good && !cluster.has_servers() && *given != default_servers()) {
      problems_.add({"/cluster/servers",
                     fmt::format("none with placement \"{}\"", cluster.placement),
                     json_text(*given), "placement \"server_client\" has servers"});
    }
  }

  /// Reports unknown keys, and values where sections should be.
  void check_object(const std::string& section, const Json& value) {
    if (!value.is_object()) {
      problems_.add({section, "an object with keys", json_text(value), ""});
      return;
    }
    const auto of_rows = schema_pointer(section);
    const auto known = keys_of_section(of_rows);
    const bool any = known == std::vector<std::string>{any_name};
    const auto& sections = job_sections();
    for (const auto& [key, entry] : value.items()) {
      const std::string pointer = section + "/" + pointer_token(key);
      if (pointer == "/$schema") {
        continue;  // for editors
      }
      if (!any && std::find(known.begin(), known.end(), key) == known.end()) {
        problems_.add(
            {pointer, "a known key", "an unknown one", unknown_key_hint(of_rows, key), true});
      } else if (std::find(sections.begin(), sections.end(), schema_pointer(pointer)) !=
                 sections.end()) {
        check_object(pointer, entry);
      }
    }
  }

  /// One row, or that of every section that has a name of the user's.
  void read_rows(const SchemaRow& row) {
    const auto star = row.pointer.find(any_name);
    if (star == std::string::npos) {
      return read_row(row);
    }
    const Json* parent = find_value(root_, row.pointer.substr(0, star - 1));
    if (parent == nullptr || !parent->is_object()) {
      return;
    }
    for (const auto& section : parent->items()) {
      if (!section.value().is_object()) {
        continue;  // check_object() has said so
      }
      SchemaRow named = row;
      named.pointer.replace(star, std::strlen(any_name), pointer_token(section.key()));
      named.apply = [apply = row.apply_named, name = section.key()](const Json& value, Job& job) {
        apply(value, name, job);
      };
      read_row(named);
    }
  }

  void read_row(const SchemaRow& row) {
    const Json* given = find_value(root_, row.pointer);
    if (given == nullptr) {
      use_default(row);
    } else if (!fits(row.rule, *given)) {
      problems_.add(bad_value_problem(row, *given));
    } else if (auto problem = bad_line_problem(row, *given)) {
      problems_.add(*std::move(problem));
    } else if (is_not_built(row, *given)) {
      problems_.add(not_built_problem(row, *given));
    } else {
      use(row, *given);
    }
  }

  void use_default(const SchemaRow& row) {
    switch (row.fallback.kind) {
      case Fallback::Kind::value:
        return use(row, json_of_text(row.fallback.text));
      case Fallback::Kind::derived:
        return use(row, derived_default(row.pointer));
      case Fallback::Kind::absent:
        return;
      case Fallback::Kind::required:
        if (root_.is_object() && !problems_.has(row.pointer)) {
          problems_.add(missing_key_problem(row));
        }
    }
  }

  void use(const SchemaRow& row, const Json& value) {
    set_value(complete_, row.pointer, value);
    if (row.apply != nullptr) {
      row.apply(value, job_);
    }
  }

  /// Of `dataset.path`; nothing where that is not partitioned.
  const std::optional<PartitionInfo>& stored_partition() {
    if (!stored_) {
      stored_ = partition_of(place_.base_dir / job_.dataset.path);
    }
    return *stored_;
  }

  Json default_order() {
    const auto& stored = stored_partition();
    return stored && parse_node_order(stored->order) ? stored->order : to_string(NodeOrder::degree);
  }

  Json default_parts() {
    if (const auto& stored = stored_partition()) {
      return stored->parts;
    }
    const Json* placement = find_value(root_, "/cluster/placement");
    const bool on_servers = placement != nullptr && *placement == "server_client";
    const Json* servers = on_servers ? find_value(root_, "/cluster/servers") : nullptr;
    const Json* hosts = servers != nullptr ? servers : find_value(root_, "/cluster/hosts");
    if (hosts != nullptr && hosts->is_array()) {
      return std::max<std::size_t>(1, hosts->size());
    }
    return hosts != nullptr && hosts->is_number_unsigned() ? *hosts : Json(1U);
  }

  bool has_files_to_rank() const {
    const auto given = [this](const char* key) { return find_value(root_, key) != nullptr; };
    return given("/eval/negatives/val") || given("/eval/negatives/test") ||
           given("/eval/candidates/val") || given("/eval/candidates/test");
  }

  /// Of named hosts the second half.
  std::uint32_t default_servers() const {
    const auto hosts = job_.cluster.hosts;
    return job_.cluster.named.empty() ? hosts : std::max(1U, hosts / 2);
  }

  Json derived_default(const std::string& pointer) {
    if (pointer == "/partition/parts") {
      return default_parts();
    }
    if (pointer == "/partition/order") {
      return default_order();
    }
    if (pointer == "/cluster/servers") {
      return default_servers();
    }
    if (pointer == "/cluster/prefetch") {
      const auto batches = job_.cluster.batches_in_flight;
      return batches == 0 ? Json("auto") : Json(batches);
    }
    if (pointer == "/cluster/slurm/nodes") {
      return job_.cluster.named.empty() ? job_.cluster.all_hosts() : job_.cluster.hosts;
    }
    if (pointer == "/cluster/slurm/tasks_per_node") {
      return job_.cluster.trainers_per_host;
    }
    if (pointer.starts_with("/embedding/")) {  // the only one is /embedding/*/optimizer/eps
      return default_sparse_eps(job_.embedding.at(split_pointer(pointer)[1]).optimizer.kind);
    }
    if (pointer == "/train/optimizer/eps") {
      return nn::default_eps(job_.train.optimizer.kind);
    }
    if (pointer == "/task/exclude") {
      return job_.task.from_walks ? "none" : "batch";
    }
    if (pointer == "/task/walk/window") {
      return default_window(job_.task);
    }
    if (pointer == "/task/decoder/kind") {
      return default_decoder(job_.task);
    }
    if (pointer == "/train/loss") {
      return default_loss(job_.task);
    }
    if (pointer == "/eval/metric") {
      return default_metric(job_);
    }
    if (pointer == "/eval/negatives/kind") {
      return default_eval_negatives(job_.task, has_files_to_rank());
    }
    if (pointer == "/model/layers") {
      return std::max<std::size_t>(1, job_.sample.hops());
    }
    return default_output();
  }

  std::string default_output() const { return "runs/" + place_.name; }

  const Json& root_;
  const KeyPlace& place_;
  ProblemList& problems_;
  Job job_;
  std::optional<std::optional<PartitionInfo>> stored_;  ///< Not looked for yet: nothing
  OrderedJson complete_ = OrderedJson::object();
};

/// Puts the lines of `cluster.host_file` in the place of `cluster.hosts`, so that other processes
/// need not have the file.
void inline_host_file(Json& root, const KeyPlace& place, ProblemList& problems) {
  const Json* named = find_value(root, "/cluster/host_file");
  const auto* file = named == nullptr ? nullptr : named->get_ptr<const std::string*>();
  if (file == nullptr || file->empty() || file->find('\0') != std::string::npos) {
    return;  // the row of the key says what is wrong with it
  }
  if (find_value(root, "/cluster/hosts") != nullptr) {
    return problems.add({"/cluster/host_file", "either cluster.hosts or cluster.host_file", "both",
                         "leave out one of the two"});
  }
  const auto lines = read_host_file(place.base_dir / *file);
  if (!lines) {
    return problems.add({"/cluster/host_file", "a file with a line for each host",
                         json_text(*named), lines.error().what()});
  }
  root["cluster"]["hosts"] = *lines;
  root["cluster"].erase("host_file");
}

/// An override of one of the two keys that name the hosts takes the place of both.
void drop_other_hosts(Json& root, const std::string& override_text) {
  const auto pointer = override_pointer(override_text);
  const bool hosts = pointer == "/cluster/hosts";
  if ((hosts || pointer == "/cluster/host_file") && find_value(root, "/cluster") != nullptr &&
      root["cluster"].is_object()) {
    root["cluster"].erase(hosts ? "host_file" : "hosts");
  }
}

/// Where `cluster.device` is not given and the lines of all hosts have devices of one kind, it is that of the first.
void take_device_from_hosts(Json& root) {
  const Json* lines = find_value(root, "/cluster/hosts");
  if (lines == nullptr || !lines->is_array() || find_value(root, "/cluster/device") != nullptr) {
    return;
  }
  std::optional<DeviceChoice> first;
  for (const Json& line : *lines) {
    const auto host = line.is_string() ? parse_host(line.get<std::string>())
                                       : Result<HostSpec>(HostSpec{});  // the row reports it
    if (!host || !host->device || (first && first->kind != host->device->kind)) {
      return;
    }
    first = first ? first : host->device;
  }
  if (first) {
    root["cluster"]["device"] = to_string(*first);
  }
}

/// With `slurm`, `cluster.slurm.nodes` says how many hosts there are where nothing else does; of them the
/// second half are servers, unless their number is given.
void take_hosts_from_nodes(Json& root, ProblemList& problems) {
  const auto* launch = find_value(root, "/cluster/launch");
  const auto* nodes = find_value(root, "/cluster/slurm/nodes");
  if (launch == nullptr || *launch != "slurm" || nodes == nullptr || !nodes->is_number_unsigned() ||
      find_value(root, "/cluster/hosts") != nullptr) {
    return;
  }
  const auto all = nodes->get<std::uint64_t>();
  const auto* placement = find_value(root, "/cluster/placement");
  const bool divided = placement != nullptr && *placement == "server_client";
  const auto* servers = find_value(root, "/cluster/servers");
  const bool given = servers != nullptr && servers->is_number_unsigned();
  const auto taken = !divided ? 0
                     : given  ? servers->get<std::uint64_t>()
                              : std::max<std::uint64_t>(all / 2, 1);
  if (all == 0 || all > most_slurm_nodes) {
    return;  // the row of the key reports it
  }
  if (all <= taken) {
    return problems.add(
        {"/cluster/slurm/nodes",
         fmt::format("at least {}: {} with servers, others with ranks", taken + 1, taken),
         std::to_string(all), ""});
  }
  if (divided) {
    root["cluster"]["servers"] = taken;
  }
  root["cluster"]["hosts"] = all - taken;
}

std::string file_digest(OrderedJson job) {
  if (job.is_object()) {
    job.erase("$schema");
    job.erase("output");
  }
  hide_values(job);
  DigestBuilder digest;
  digest.add_array(std::span<const char>(printed(job)));
  return to_string(digest.digest());
}

Result<JobReading> parse(const std::string& text, const KeyPlace& place,
                         std::span<const std::string> overrides) {
  std::vector<std::string> repeated;
  TROUPE_ASSIGN_OR_RETURN(Json root, read_strict_json(text, job_json_rules, &repeated));
  ProblemList problems;
  for (const std::string& pointer : repeated) {
    problems.add({pointer, "each key once", "it twice", "remove one", true});
  }
  const auto digest = file_digest(root);
  for (const std::string& override_text : overrides) {
    drop_other_hosts(root, override_text);
    if (auto problem = apply_override(root, override_text)) {
      problems.add(*std::move(problem));
    }
  }
  inline_host_file(root, place, problems);
  take_device_from_hosts(root);
  take_hosts_from_nodes(root, problems);
  take_fanout_from_walks(root);
  fill_fanout_without_hops(root);
  JobReading reading;
  reading.job = Reader(root, place, problems).read();
  reading.problems = std::move(problems).take();
  reading.job.file_digest = digest;
  add_places(text, overrides, reading.problems);
  return reading;
}

Result<std::string> read_text(const std::filesystem::path& file) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(file, problem)) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected a job file, found {}", file.string(),
                             std::filesystem::exists(file, problem) ? "something that is no file"
                                                                    : "nothing"));
  }
  std::ifstream in(file, std::ios::binary);
  std::string text(job_json_rules.most_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) {
    return Error(Errc::not_found, fmt::format("{}: expected a readable file", file.string()));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

/// Adds a problem where the dataset is no folder.
void look_for_dataset(JobReading& reading) {
  ProblemList problems;
  for (JobProblem& known : reading.problems) {
    problems.add(std::move(known));
  }
  std::error_code problem;
  const auto& path = reading.job.dataset.path;
  if (!problems.has("/dataset/path") && !std::filesystem::is_directory(path, problem)) {
    problems.add({"/dataset/path", "an existing folder", path.string(), ""});
  }
  reading.problems = std::move(problems).take();
}

}  // namespace

void move_output(Job& job, const std::filesystem::path& output) {
  job.output = output;
  auto json = ordered_json_of_text(job.json);
  json["output"] = output.string();
  job.json = printed(json);
}

void set_device(Job& job, const DeviceChoice& device) {
  job.cluster.device = device;
  auto json = ordered_json_of_text(job.json);
  json["cluster"]["device"] = to_string(device);
  job.json = printed(json);
}

Result<JobReading> parse_job(const std::string& text, const std::filesystem::path& base_dir,
                             std::span<const std::string> overrides) {
  return parse(text, {base_dir, "job"}, overrides);
}

Result<JobReading> read_job(const std::filesystem::path& file,
                            std::span<const std::string> overrides) {
  TROUPE_ASSIGN_OR_RETURN(const std::string text, read_text(file));
  auto reading = parse(text, {file.parent_path(), file.stem().string()}, overrides);
  if (!reading.ok()) {
    return std::move(reading).error().with(file.string());
  }
  look_for_dataset(*reading);
  add_places(text, overrides, reading->problems);
  return reading;
}

Result<JobReading> read_job_text(const std::string& text, std::span<const std::string> overrides) {
  std::error_code problem;
  const auto folder = std::filesystem::current_path(problem);
  TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, folder, overrides));
  look_for_dataset(reading);
  return reading;
}

}  // namespace troupe

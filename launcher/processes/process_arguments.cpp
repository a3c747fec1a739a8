#include "launcher/processes/process_arguments.hpp"

#include "launcher/seconds.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/link_encryption.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <unistd.h>

namespace troupe {

std::vector<std::string> to_command_line(const std::string& command, const ProcessArguments& a) {
  std::vector<std::string> words = {command,
                                    "--process",
                                    std::to_string(raw(a.instance.process)),
                                    "--incarnation",
                                    std::to_string(a.instance.incarnation),
                                    "--name",
                                    a.name,
                                    "--director",
                                    a.director,
                                    "--job",
                                    a.job,
                                    "--listen",
                                    a.listen,
                                    "--heartbeat",
                                    fmt::format("{}", a.heartbeat_s),
                                    "--lost-after",
                                    fmt::format("{}", a.lost_after_s),
                                    "--join-deadline",
                                    fmt::format("{}", a.join_deadline_s)};
  if (!a.cores.empty()) {
    words.insert(words.end(), {"--cores", a.cores});
  }
  if (!a.ucx.empty()) {
    words.insert(words.end(), {"--ucx", a.ucx});
  }
  if (!a.program.empty()) {
    words.emplace_back("--program");
    words.insert(words.end(), a.program.begin(), a.program.end());
  }
  return words;
}

std::string to_member_variable(const ProcessArguments& arguments) {
  std::string text;
  for (const auto& word : to_command_line("member", arguments)) {
    text += word + "\n";
  }
  return text;
}

std::optional<ProcessArguments> member_of_environment() {
  const char* text = std::getenv(member_variable);
  if (text == nullptr) {
    return std::nullopt;
  }
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  std::string key;
  std::getline(lines, key);  // the command
  for (std::string value; std::getline(lines, key) && std::getline(lines, value);) {
    values[key] = value;
  }
  ProcessArguments arguments;
  try {
    arguments.instance.process = static_cast<ProcessId>(std::stoul(values.at("--process")));
    arguments.instance.incarnation =
        static_cast<std::uint32_t>(std::stoul(values.at("--incarnation")));
    arguments.name = values.at("--name");
    arguments.director = values.at("--director");
    arguments.job = values.at("--job");
    arguments.listen = values.at("--listen");
    arguments.heartbeat_s = std::stod(values.at("--heartbeat"));
    arguments.lost_after_s = std::stod(values.at("--lost-after"));
    arguments.join_deadline_s = std::stod(values.at("--join-deadline"));
    arguments.ucx = values["--ucx"];
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return arguments;
}

ProcessArguments arguments_for(const ClusterJob& cluster) {
  ProcessArguments arguments;
  arguments.heartbeat_s = cluster.heartbeat_s;
  arguments.lost_after_s = cluster.lost_after_s;
  arguments.join_deadline_s = cluster.join_deadline_s;
  arguments.ucx = ucx_of(cluster);
  return arguments;
}

std::string ucx_of(const ClusterJob& cluster) {
  return link_encryption(cluster) == LinkEncryption::all || cluster.transport == "tcp"
             ? ""
             : cluster.transport;
}

net::UcxUse ucx_use(const std::string& ucx) {
  return ucx.empty()     ? net::UcxUse::off
         : ucx == "auto" ? net::UcxUse::if_possible
                         : net::UcxUse::required;
}

Result<std::string> describe_links(const ClusterJob& cluster) {
  const auto encryption = link_encryption(cluster);
  if (cluster.transport == "tcp") {
    return std::string();
  }
  if (encryption == LinkEncryption::all) {
    return std::string("links: TCP, because what goes over UCX is not encrypted");
  }
  const bool between = encryption == LinkEncryption::between_machines;
  auto here = net::ucx_here();
  if (here) {
    return fmt::format("links: {}; {}", *here,
                       between ? "TCP with TLS between machines, no RDMA "
                                 "(cluster.trusted_network is false)"
                               : "TCP between processes that it does not connect");
  }
  if (cluster.transport == "ucx") {
    return std::move(here).error().with("/cluster/transport");
  }
  const auto& why = here.error().what();
  return fmt::format("links: TCP{}: {}", between ? ", with TLS between machines" : "",
                     why.substr(0, why.find('\n')));
}

Result<Secrets> read_secrets(const ProcessArguments& arguments) {
  return arguments.token_file.empty() ? read_secrets(STDIN_FILENO)
                                      : read_secrets(std::filesystem::path(arguments.token_file));
}

Result<net::TcpOptions> tcp_options(const ProcessArguments& arguments, const Secrets& secrets) {
  net::TcpOptions options;
  TROUPE_ASSIGN_OR_RETURN(options.tls, tls_context(secrets));
  options.tls_inside = secrets.tls_inside;
  options.ucx = ucx_use(arguments.ucx);
  options.heartbeat = seconds_as<std::chrono::nanoseconds>(arguments.heartbeat_s);
  options.lost_after = seconds_as<std::chrono::nanoseconds>(arguments.lost_after_s);
  return options;
}

}  // namespace troupe

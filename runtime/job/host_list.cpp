#include "runtime/job/host_list.hpp"

#include "runtime/base/files.hpp"
#include "runtime/job/process_list.hpp"
#include "runtime/job/words.hpp"
#include "runtime/net/tcp_address.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

namespace troupe {
namespace {

constexpr std::uint32_t most_cores = 1024;  // of a cpu_set_t
constexpr std::uint64_t max_host_file_bytes = std::uint64_t{1} << 20;

/// \errors invalid_argument: not a whole number in 1..most
template <class T>
Status read_number(const std::string& what, const std::string& text, std::uint64_t most, T& out) {
  std::uint64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || rest != end || value == 0 || value > most) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a number 1..{}, found \"{}\"", what, most, text));
  }
  out = static_cast<T>(value);
  return ok_status();
}

/// A word that ssh would take for an option is none of ours.
Status read_text(const std::string& what, const std::string& text, std::string& out) {
  if (text.empty() || text.starts_with('-')) {
    return Error(
        Errc::invalid_argument,
        fmt::format("{}: expected a word that does not begin with -, found \"{}\"", what, text));
  }
  out = text;
  return ok_status();
}

Status read_attribute(const std::string& word, HostSpec& host) {
  const auto at = word.find('=');
  const auto key = word.substr(0, at);
  const auto value = at == std::string::npos ? "" : word.substr(at + 1);
  if (key == "port") {
    return read_number("port", value, 65535, host.port);
  }
  if (key == "slots") {
    return read_number("slots", value, 64, host.slots);
  }
  if (key == "threads") {
    return read_number("threads", value, 1024, host.threads);
  }
  if (key == "cores") {
    TROUPE_ASSIGN_OR_RETURN(host.cores, parse_number_list("cores", value, most_cores));
    return ok_status();
  }
  if (key == "device") {
    auto device = parse_device(value);
    if (!device) {
      return std::move(device.error()).with("device");
    }
    if (device->automatic) {
      return Error(Errc::invalid_argument,
                   fmt::format("device: expected cpu, cuda or cuda:0,2 on a host's line, found {}, "
                               "which is for cluster.device",
                               to_string(*device)));
    }
    host.device = *std::move(device);
    return ok_status();
  }
  if (key == "env") {
    if (auto good = check_environment(value); !good) {
      return std::move(good.error()).with("env");
    }
    host.env.push_back(value);
    return ok_status();
  }
  const std::pair<const char*, std::string HostSpec::*> texts[] = {
      {"user", &HostSpec::user},       {"key", &HostSpec::key},       {"dir", &HostSpec::dir},
      {"program", &HostSpec::program}, {"listen", &HostSpec::listen},
  };
  for (const auto& [name, field] : texts) {
    if (key == name) {
      return read_text(key, value, host.*field);
    }
  }
  return Error(Errc::invalid_argument,
               fmt::format("expected a number of slots, or user=, port=, key=, dir=, program=, "
                           "listen=, threads=, cores=, device= or env=, found \"{}\"",
                           word));
}

std::string without_brackets(const std::string& address) {
  const bool inside = address.starts_with('[') && address.ends_with(']');
  return inside ? address.substr(1, address.size() - 2) : address;
}

/// USER@ADDRESS as ssh has it, and addresses of IPv6 in brackets.
Status take_address_apart(HostSpec& host) {
  if (const auto at = host.address.rfind('@'); at != std::string::npos) {
    if (!host.user.empty()) {
      return Error(Errc::invalid_argument,
                   fmt::format("address: expected one user, found \"{}\" and user={}", host.address,
                               host.user));
    }
    const auto whole = host.address;
    TROUPE_RETURN_IF_ERROR(read_text("user", whole.substr(0, at), host.user));
    TROUPE_RETURN_IF_ERROR(read_text("address", whole.substr(at + 1), host.address));
  }
  host.address = without_brackets(host.address);
  host.listen = without_brackets(host.listen);
  if (net::is_wildcard(host.listen)) {
    return Error(Errc::invalid_argument,
                 fmt::format("listen: expected an address under which the other hosts reach {}, "
                             "found \"{}\", which stands for all of its addresses",
                             host.address, host.listen));
  }
  return ok_status();
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

Status check_environment(const std::string& entry) {
  const auto at = entry.find('=');
  const std::string_view name(entry.data(), std::min(at, entry.size()));
  const bool named =
      !name.empty() && is_letter(name.front()) &&
      std::ranges::all_of(name, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (at != std::string::npos && named && entry.find('\n') == std::string::npos) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("expected NAME=VALUE on one line, the name of letters, digits and _, "
                           "found \"{}{}\"",
                           name, at == std::string::npos ? "" : "=***"));
}

Result<HostSpec> parse_host(std::string_view line) {
  const auto words = words_of(line);
  if (words.empty()) {
    return Error(Errc::invalid_argument, "expected a host's address, found nothing");
  }
  HostSpec host;
  TROUPE_RETURN_IF_ERROR(read_text("address", words[0], host.address));
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool number = words[i].find_first_not_of("0123456789") == std::string::npos;
    TROUPE_RETURN_IF_ERROR(i == 1 && number ? read_number("slots", words[i], 64, host.slots)
                                            : read_attribute(words[i], host));
  }
  TROUPE_RETURN_IF_ERROR(take_address_apart(host));
  return host;
}

Result<std::vector<std::string>> read_host_file(const std::filesystem::path& file) {
  TROUPE_ASSIGN_OR_RETURN(const auto text, read_text_file(file, max_host_file_bytes));
  std::vector<std::string> lines;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto words = words_of(std::string_view(text).substr(at, end - at));
    at = end + 1;
    ++number;
    words.erase(std::ranges::find_if(words, [](const auto& word) { return word.starts_with('#'); }),
                words.end());
    if (words.empty()) {
      continue;
    }
    const auto line = fmt::format("{}", fmt::join(words, " "));
    if (const auto host = parse_host(line); !host) {
      return Error(host.error()).with(fmt::format("{}:{}", file.string(), number));
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace troupe

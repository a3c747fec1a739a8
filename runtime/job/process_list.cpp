#include "runtime/job/process_list.hpp"

#include "runtime/job/words.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>

namespace troupe {
namespace {

constexpr std::uint32_t most_hosts = 1024;
constexpr std::uint32_t most_of_a_list = 65536;
constexpr std::size_t longest_name = 64;

Error wrong_list(std::string_view what, std::string_view text, std::uint32_t most) {
  return {Errc::invalid_argument,
          fmt::format("{}: expected numbers 0..{} ascending, like 0,2-4, found \"{}\"", what,
                      most - 1, text)};
}

/// Takes a number from the front of `text`.
bool take_number(std::string_view& text, std::uint32_t most, std::uint32_t& out) {
  const auto [rest, problem] = std::from_chars(text.begin(), text.end(), out);
  if (problem != std::errc{} || out >= most) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(rest - text.begin()));
  return true;
}

Status read_word(const std::string& word, ProcessSpec& process, bool& has_host) {
  const auto at = std::min(word.find('='), word.size());
  const auto key = word.substr(0, at);
  const auto value = at < word.size() ? word.substr(at + 1) : "";
  if (key == "host") {
    TROUPE_ASSIGN_OR_RETURN(const auto number, parse_number_list(key, value, most_hosts));
    if (number.size() != 1) {
      return wrong_list("host (one of them)", value, most_hosts);
    }
    process.host = number.front();
    has_host = true;
    return ok_status();
  }
  if (key == "name") {
    if (value.empty() || value.size() > longest_name) {
      return Error(Errc::invalid_argument, fmt::format("name: expected 1..{} characters, found {}",
                                                       longest_name, value.size()));
    }
    process.name = value;
    return ok_status();
  }
  const std::pair<const char*, std::vector<std::uint32_t> ProcessSpec::*> lists[] = {
      {"parts", &ProcessSpec::parts},
      {"maps", &ProcessSpec::maps},
      {"ranks", &ProcessSpec::ranks},
      {"samples_for", &ProcessSpec::samples_for},
  };
  for (const auto& [name, field] : lists) {
    if (key == name) {
      TROUPE_ASSIGN_OR_RETURN(process.*field, parse_number_list(key, value, most_of_a_list));
      return ok_status();
    }
  }
  return Error(Errc::invalid_argument,
               fmt::format("expected host=, name=, parts=, maps=, ranks= or samples_for=, found "
                           "\"{}\"",
                           word));
}

Error wrong(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// Ranks are 0..W-1, each in one process. \returns W
Result<std::uint32_t> check_ranks(const std::vector<ProcessSpec>& processes) {
  std::set<std::uint32_t> ranks;
  for (const auto& process : processes) {
    for (const auto rank : process.ranks) {
      if (!ranks.insert(rank).second) {
        return wrong(fmt::format("rank {} is in two processes", rank));
      }
    }
  }
  if (ranks.empty() || *ranks.rbegin() + 1 != ranks.size()) {
    return wrong(fmt::format("expected ranks 0..W-1, found {} of them, the highest {}",
                             ranks.size(), ranks.empty() ? 0 : *ranks.rbegin()));
  }
  return static_cast<std::uint32_t>(ranks.size());
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_number_list(std::string_view what, std::string_view text,
                                                     std::uint32_t most) {
  std::vector<std::uint32_t> numbers;
  auto rest = text;
  do {
    std::uint32_t first = 0;
    if (!numbers.empty()) {
      rest.remove_prefix(1);  // the comma
    }
    if (!take_number(rest, most, first) || (!numbers.empty() && first <= numbers.back())) {
      return wrong_list(what, text, most);
    }
    std::uint32_t last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (!take_number(rest, most, last) || last < first) {
        return wrong_list(what, text, most);
      }
    }
    for (auto n = first; n <= last; ++n) {
      numbers.push_back(n);
    }
  } while (rest.starts_with(','));
  if (!rest.empty()) {
    return wrong_list(what, text, most);
  }
  return numbers;
}

Result<ProcessSpec> parse_process(std::string_view line) {
  ProcessSpec process;
  bool has_host = false;
  for (const auto& word : words_of(line)) {
    TROUPE_RETURN_IF_ERROR(read_word(word, process, has_host));
  }
  if (!has_host) {
    return wrong("expected host=K, found none");
  }
  if (process.parts.empty() && process.ranks.empty() && process.samples_for.empty()) {
    return wrong("expected parts=, ranks= or samples_for=, found none of them");
  }
  return process;
}

Status check_processes(const std::vector<ProcessSpec>& processes, std::uint32_t hosts,
                       std::uint32_t parts) {
  TROUPE_ASSIGN_OR_RETURN(const auto world, check_ranks(processes));
  std::set<std::uint32_t> held;
  std::set<std::string> names;
  for (const auto& process : processes) {
    if (process.host >= hosts) {
      return wrong(
          fmt::format("host {}: expected one of 0..{} (/cluster/hosts)", process.host, hosts - 1));
    }
    if (!process.name.empty() && !names.insert(process.name).second) {
      return wrong(fmt::format("two processes are named {}", process.name));
    }
    for (const auto* list : {&process.parts, &process.maps}) {
      if (!list->empty() && list->back() >= parts) {
        return wrong(fmt::format("part {}: expected one of 0..{} (/partition/parts)", list->back(),
                                 parts - 1));
      }
    }
    held.insert(process.parts.begin(), process.parts.end());
    for (const auto rank : process.samples_for) {
      if (rank >= world || std::ranges::binary_search(process.ranks, rank)) {
        return wrong(fmt::format("samples_for={}: expected a rank 0..{} of another process", rank,
                                 world - 1));
      }
    }
  }
  if (held.size() != parts) {
    return wrong(fmt::format("expected all parts 0..{} in some process, found {} of them",
                             parts - 1, held.size()));
  }
  return ok_status();
}

}  // namespace troupe

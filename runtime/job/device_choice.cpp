#include "runtime/job/device_choice.hpp"

#include "runtime/base/value_rule.hpp"
#include "runtime/job/process_list.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>

namespace troupe {

std::string_view to_string(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::cpu:
      break;
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::emulated:
      return "emulated";
    case DeviceKind::undecided:
      return "auto";
  }
  return "cpu";
}

namespace {

/// N or N,SIZE
Result<DeviceChoice> parse_emulated(std::string_view text) {
  DeviceChoice choice{.kind = DeviceKind::emulated};
  const auto number = text.substr(0, text.find(','));
  const auto [rest, problem] = std::from_chars(number.begin(), number.end(), choice.count);
  if (problem != std::errc{} || rest != number.end() || choice.count == 0 ||
      choice.count > most_devices) {
    return Error(Errc::invalid_argument,
                 fmt::format("emulated devices: expected a number 1..{}, found \"{}\"",
                             most_devices, number));
  }
  if (number.size() < text.size()) {
    const std::string size(text.substr(number.size() + 1));
    choice.memory_bytes = parse_bytes(nlohmann::json(size)).value_or(0);
    if (choice.memory_bytes == 0) {
      return Error(
          Errc::invalid_argument,
          fmt::format("memory of emulated devices: expected a size like 512MB, found \"{}\"",
                      size));
    }
  }
  return choice;
}

}  // namespace

Result<DeviceChoice> parse_device(std::string_view text) {
  constexpr std::string_view cuda_list = "cuda:";
  constexpr std::string_view emulated = "emulated:";
  if (text == "cpu") {
    return DeviceChoice{};
  }
  if (text == "cuda") {
    return DeviceChoice{.kind = DeviceKind::cuda};
  }
  for (const auto kind : {DeviceKind::undecided, DeviceKind::cpu, DeviceKind::cuda}) {
    const DeviceChoice choice{.kind = kind, .automatic = true};
    if (text == to_string(choice)) {
      return choice;
    }
  }
  if (text.starts_with(cuda_list)) {
    TROUPE_ASSIGN_OR_RETURN(
        auto numbers,
        parse_number_list("numbers of CUDA devices", text.substr(cuda_list.size()), most_devices));
    return DeviceChoice{.kind = DeviceKind::cuda, .numbers = std::move(numbers)};
  }
  if (text.starts_with(emulated)) {
    return parse_emulated(text.substr(emulated.size()));
  }
  return Error(Errc::invalid_argument,
               fmt::format("expected cpu, cuda, cuda:LIST, auto, emulated:N or "
                           "emulated:N,SIZE, found \"{}\"",
                           text));
}

std::string to_string(const DeviceChoice& choice) {
  if (choice.automatic) {
    return choice.kind == DeviceKind::undecided ? "auto"
                                                : fmt::format("auto:{}", to_string(choice.kind));
  }
  if (choice.kind == DeviceKind::emulated) {
    return choice.memory_bytes == 0
               ? fmt::format("emulated:{}", choice.count)
               : fmt::format("emulated:{},{}B", choice.count, choice.memory_bytes);
  }
  return choice.numbers.empty()
             ? std::string(to_string(choice.kind))
             : fmt::format("{}:{}", to_string(choice.kind), fmt::join(choice.numbers, ","));
}

}  // namespace troupe

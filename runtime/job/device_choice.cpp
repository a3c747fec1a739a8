#include "runtime/job/device_choice.hpp"

#include "runtime/job/process_list.hpp"

#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {

std::string_view to_string(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::cpu:
      break;
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::emulated:
      return "emulated";
  }
  return "cpu";
}

Result<DeviceChoice> parse_device(std::string_view text) {
  constexpr std::string_view cuda_list = "cuda:";
  constexpr std::string_view emulated = "emulated:";
  if (text == "cpu") {
    return DeviceChoice{};
  }
  if (text == "cuda") {
    return DeviceChoice{.kind = DeviceKind::cuda};
  }
  if (text.starts_with(cuda_list)) {
    TROUPE_ASSIGN_OR_RETURN(
        auto numbers,
        parse_number_list("numbers of CUDA devices", text.substr(cuda_list.size()), most_devices));
    return DeviceChoice{.kind = DeviceKind::cuda, .numbers = std::move(numbers)};
  }
  if (text.starts_with(emulated)) {
    const auto number = text.substr(emulated.size());
    std::uint32_t count = 0;
    const auto [rest, problem] = std::from_chars(number.begin(), number.end(), count);
    if (problem == std::errc{} && rest == number.end() && count > 0 && count <= most_devices) {
      return DeviceChoice{.kind = DeviceKind::emulated, .count = count};
    }
    return Error(Errc::invalid_argument,
                 fmt::format("emulated devices: expected a number 1..{}, found \"{}\"",
                             most_devices, number));
  }
  return Error(Errc::invalid_argument,
               fmt::format("expected cpu, cuda, cuda:LIST or emulated:N, found \"{}\"", text));
}

std::string to_string(const DeviceChoice& choice) {
  if (choice.kind == DeviceKind::emulated) {
    return fmt::format("emulated:{}", choice.count);
  }
  return choice.numbers.empty()
             ? std::string(to_string(choice.kind))
             : fmt::format("{}:{}", to_string(choice.kind), fmt::join(choice.numbers, ","));
}

}  // namespace troupe

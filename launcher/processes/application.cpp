#include "launcher/processes/application.hpp"

#include "launcher/processes/director_link.hpp"
#include "launcher/processes/store_identity.hpp"
#include "launcher/seconds.hpp"

#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

namespace troupe {
namespace {

constexpr std::chrono::milliseconds pause_between_requests{300};

}  // namespace

Result<std::uint32_t> apply_for_place(const ProcessArguments& agent) {
  TROUPE_ASSIGN_OR_RETURN(auto secrets, read_secrets(agent));
  auto applicant = agent;
  applicant.instance = {ProcessId{net::first_applicant | std::random_device()()}, 1};
  DirectorLink link(applicant, std::move(secrets));
  TROUPE_RETURN_IF_ERROR(link.connect(
      {.name = [name = agent.name](
                   ProcessId id) { return id == director_instance.process ? "director" : name; },
       .connected = [](ProcessId, const std::shared_ptr<Gate>&) {}}));
  const auto until =
      net::Clock::now() + seconds_as<std::chrono::milliseconds>(agent.join_deadline_s);
  for (bool said = false;; said = true) {
    const auto welcome = link.apply(agent.instance.process);
    if (welcome) {
      TROUPE_RETURN_IF_ERROR(check_store(*welcome));
      return welcome->incarnation;
    }
    if (welcome.error().code() == Errc::cancelled) {  // the director has closed its links
      return Error(Errc::peer_lost, "the run ended before this host had a place in it");
    }
    if (welcome.error().code() != Errc::overloaded || net::Clock::now() > until) {
      return Error(welcome.error());
    }
    if (!said) {
      std::fprintf(stderr, "troupe: waiting for its end: %s\n", welcome.error().what().c_str());
    }
    std::this_thread::sleep_for(pause_between_requests);
  }
}

}  // namespace troupe

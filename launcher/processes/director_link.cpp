#include "launcher/processes/director_link.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "launcher/seconds.hpp"
#include "launcher/version.hpp"
#include "runtime/net/messages.hpp"

#include <caf/all.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace troupe {

using std::chrono::milliseconds;

net::Clock::duration director_grace(double lost_after_s) {
  return seconds_as<std::chrono::nanoseconds>(lost_after_s / 2);
}

DirectorLink::DirectorLink(ProcessArguments arguments, const net::Token& token)
    : arguments_(std::move(arguments)), token_(token), runtime_(make_real_runtime(0)) {}

Status DirectorLink::connect(Events events) {
  NeighbourhoodOptions around;
  around.token = token_;
  around.self = arguments_.life;
  around.listen = arguments_.listen;
  TROUPE_ASSIGN_OR_RETURN(around.tcp, tcp_options(arguments_));
  tcp_ = around.tcp;
  around.name = std::move(events.name);
  around.connected = std::move(events.connected);
  around.lost = [ending = ending_](const net::ProcessLife& peer, const Error& why) {
    if (peer.process == director_life.process) {
      ending->set(Error(why.code() == Errc::cancelled ? Errc::cancelled : Errc::peer_lost,
                        std::string("the director is lost, so this process ends: ") + why.what()));
    }
  };
  around.say = [](const std::string& line) { std::fprintf(stderr, "troupe: %s\n", line.c_str()); };
  TROUPE_ASSIGN_OR_RETURN(neighbours_, Neighbourhood::open(runtime_->system(), std::move(around)));
  TROUPE_ASSIGN_OR_RETURN(gate_,
                          neighbours_->connect(director_life, arguments_.director,
                                               seconds_as<milliseconds>(arguments_.join_deadline_s),
                                               director_grace(arguments_.lost_after_s)));
  return ok_status();
}

void DirectorLink::close() {
  if (neighbours_) {
    neighbours_->close(Error(Errc::cancelled, arguments_.name + " ends"));
  }
}

DirectorLink::~DirectorLink() {
  close();
  runtime_->finish();
  gate_.reset();
  neighbours_.reset();
}

Result<net::Welcome> DirectorLink::join() {
  const net::Join join{arguments_.life, neighbours_->address(), build_info().version};
  Result<net::Welcome> answer = Error(Errc::internal, "no answer");
  caf::scoped_actor self(runtime_->system());
  self->request(registrar(), caf::infinite, Ref<net::Join>(join))
      .receive([&](const Ref<net::Welcome>& welcome) { answer = *welcome; },
               [&](const caf::error& error) { answer = from_caf(error); });
  return answer;
}

void bound_the_end_of_process(int exit_code) {
  std::thread([exit_code] {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    std::_Exit(exit_code);
  }).detach();
}

}  // namespace troupe

#include "launcher/processes/director_link.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "launcher/bound_the_end.hpp"
#include "launcher/commands.hpp"
#include "launcher/print_error.hpp"
#include "launcher/seconds.hpp"
#include "launcher/version.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <cstdio>

namespace troupe {

using std::chrono::milliseconds;

namespace {

/// Reason for which a process without a link to the director ends.
Error end_without_director(const Error& why) {
  if (why.code() == Errc::fenced) {
    return {Errc::fenced, std::string("fenced, so this process ends: ") + why.what()};
  }
  return {why.code() == Errc::cancelled ? Errc::cancelled : Errc::peer_lost,
          std::string("the director is lost, so this process ends: ") + why.what()};
}

}  // namespace

net::Clock::duration director_grace(double lost_after_s) {
  return seconds_as<std::chrono::nanoseconds>(lost_after_s / 2);
}

DirectorLink::DirectorLink(ProcessArguments arguments, Secrets secrets)
    : arguments_(std::move(arguments)),
      secrets_(std::move(secrets)),
      runtime_(make_real_runtime(0)) {}

Status DirectorLink::connect(Events events) {
  NeighbourhoodOptions around;
  around.token = secrets_.token;
  around.job = arguments_.job;
  around.self = arguments_.instance;
  around.listen = arguments_.listen;
  TROUPE_ASSIGN_OR_RETURN(around.tcp, tcp_options(arguments_, secrets_));
  tcp_ = around.tcp;
  around.name = std::move(events.name);
  around.connected = std::move(events.connected);
  around.lost = [ending = ending_, unreachable = std::move(events.unreachable)](
                    const net::ProcessInstance& peer, const Error& why) {
    if (peer.process == director_instance.process) {
      ending->set(end_without_director(why));
    } else if (unreachable) {
      unreachable(peer, why);
    }
  };
  around.say = [](const std::string& line) { std::fprintf(stderr, "troupe: %s\n", line.c_str()); };
  TROUPE_ASSIGN_OR_RETURN(neighbours_, Neighbourhood::open(runtime_->system(), std::move(around)));
  TROUPE_ASSIGN_OR_RETURN(gate_,
                          neighbours_->connect(director_instance, arguments_.director,
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
  return ask({arguments_.instance, neighbours_->address(), build_identity(), arguments_.name});
}

Result<net::Welcome> DirectorLink::apply(ProcessId agent) {
  return ask({{agent, 0}, neighbours_->address(), build_identity(), arguments_.name});
}

Result<net::Welcome> DirectorLink::ask(const net::Join& join) {
  Result<net::Welcome> answer = Error(Errc::internal, "no answer");
  caf::scoped_actor self(runtime_->system());
  self->request(registrar(), caf::infinite, Ref<net::Join>(join))
      .receive([&](const Ref<net::Welcome>& welcome) { answer = *welcome; },
               [&](const caf::error& error) { answer = from_caf(error); });
  if (!answer && answer.error().code() == Errc::not_found) {  // the registrar is gone
    return Error(Errc::cancelled, "the run is over");
  }
  return answer;
}

ExitCode run_process(const ProcessArguments& arguments,
                     const std::function<Status(DirectorLink&)>& work,
                     const std::shared_ptr<std::atomic<bool>>& returned) {
  unblock_stop_signals();  // who ends it wants just that; the director is told by its link
  auto secrets = read_secrets(arguments);
  if (!secrets) {
    return print_error(Error(secrets.error()).with(arguments.name), ExitCode::usage);
  }
  Status ended = ok_status();
  bool by_director = false;
  {
    DirectorLink link(arguments, *std::move(secrets));
    ended = work(link);
    bound_the_end(ended, returned);
    by_director = link.ending()->by_director();
  }
  if (ended) {
    return ExitCode::done;
  }
  const auto code = exit_code_of(ended.error().code());
  // The director prints its reason itself, where only a host that joined by hand does not see it.
  const bool silent =
      by_director ? arguments.token_file.empty() : ended.error().code() == Errc::cancelled;
  return silent ? code : print_error(Error(ended.error()).with(arguments.name), code);
}

}  // namespace troupe

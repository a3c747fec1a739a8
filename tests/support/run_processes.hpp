#pragma once
/// \file run_processes.hpp
/// The processes of one run of the program, wherever they have gone: all inherit a mark in their environment.
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace troupe::testing {

/// Unique among all tests on this machine.
std::string new_run_mark();
/// NAME=VALUE for the environment of the run.
std::string environment_entry(const std::string& mark);

struct RunProcess {
  pid_t pid = -1;
  std::string name;  ///< of its command line's `--name`; empty: the launcher
  bool stopped = false;
};
/// Those that have not ended, by pid; a zombie has ended.
std::vector<RunProcess> processes_of(const std::string& mark);
/// -1: none of that name.
pid_t find_process(const std::string& mark, const std::string& name);
/// \returns whether there is such a process; nothing is sent for -1, which would mean all of them
bool signal_process(pid_t pid, int signal);
/// Sends SIGSTOP and waits until all threads have stopped: under load they run for milliseconds after the
/// signal. \returns false: no such process, or not stopped within 10 s
bool stop_process(pid_t pid);
/// Numbers of the kernel for the sockets that the processes listen on.
std::vector<std::string> listening_sockets(const std::vector<RunProcess>& processes);
/// Of those sockets, without doubles.
std::vector<std::uint16_t> listening_ports(const std::vector<RunProcess>& processes);
/// Own ports of the TCP connections that a process has, in its network namespace.
std::vector<std::uint16_t> connected_ports(pid_t process);
/// Numbers of the kernel for all sockets of the processes, but not those that this process has, too.
std::vector<std::string> sockets_of(const std::vector<RunProcess>& processes);
/// Those of them that the kernel's tables still have (TCP, UDP, Unix), whichever process holds them.
/// The threads of a killed process close them a moment after it has become a zombie.
std::vector<std::string> still_open(const std::vector<std::string>& sockets);

}  // namespace troupe::testing

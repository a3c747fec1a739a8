#pragma once
/// \file secrets.hpp
/// What makes a process one of the run: the token and, with TLS, the run's certificate and its key.
/// Handed to a child on its standard input only; to another host by files that only their owner may
/// read.
#include "runtime/base/result.hpp"
#include "runtime/net/tls.hpp"
#include "runtime/net/token.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct Secrets {
  net::Token token;
  std::optional<net::TlsPem> tls;  ///< nothing: links are not encrypted
};

/// For the standard input of a child: a line with the token; with TLS " tls" behind it, then the three
/// PEM texts, each closed by an empty line.
std::string to_input(const Secrets& secrets);
/// Takes just that from a descriptor, nothing behind it.
/// \errors invalid_argument: what is wrong with it, never what it holds
Result<Secrets> read_secrets(int descriptor);

/// \param tls  folder with the files of tls_files_in(); empty: no TLS
/// \errors those of net::Token and net::read_tls
Result<Secrets> read_secrets(const std::filesystem::path& token, const std::filesystem::path& tls);

/// Null without TLS. \errors those of net::TlsContext
Result<std::shared_ptr<const net::TlsContext>> tls_context(const Secrets& secrets);

}  // namespace troupe

#include "runtime/net/tls.hpp"

#include "runtime/net/tls_context.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

namespace troupe::net {
namespace {

namespace ssl = boost::asio::ssl;
using ErrorCode = boost::system::error_code;

constexpr std::size_t longest_file = std::size_t{64} << 10;

Status check_file(const std::filesystem::path& file, const char* what) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) {
    return Error(Errc::not_found,
                 fmt::format("{} {}: {}", what, file.string(), std::strerror(errno)));
  }
  if (!S_ISREG(found.st_mode)) {
    return Error(Errc::invalid_argument,
                 fmt::format("{} {}: expected a regular file", what, file.string()));
  }
  return ok_status();
}

Status check_key_mode(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & 077U) != 0) {
    return Error(Errc::failed_precondition,
                 fmt::format("key {}: expected mode 0600, found {:04o}: others than its owner may "
                             "use it; try: chmod 600",
                             file.string(), found.st_mode & 07777U));
  }
  return ok_status();
}

/// Where the texts come from, for errors.
struct CertificateNames {
  std::string certificate = "certificate";
  std::string key = "key";
  std::string authority = "authority";
};

Error wrong_text(const std::string& name, const ErrorCode& error) {
  return {Errc::invalid_argument,
          fmt::format("{}: expected PEM, found something else ({})", name, error.message())};
}

Result<std::string> read_text(const std::filesystem::path& file, const char* what) {
  TROUPE_RETURN_IF_ERROR(check_file(file, what));
  std::ifstream in(file, std::ios::binary);
  std::string text(longest_file + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad() || text.size() > longest_file) {
    return Error(Errc::invalid_argument,
                 fmt::format("{} {}: expected at most {} bytes of PEM, found more or none", what,
                             file.string(), longest_file));
  }
  return text;
}

/// One certificate and one key for both roles, and no session that outlives its connection.
Status set_up(SSL_CTX* context) {
  if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1) {
    return Error(Errc::internal, "TLS 1.3 is not available: " + openssl_reason());
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return ok_status();
}

Status load_texts(ssl::context& context, const TlsPem& pem, const CertificateNames& names) {
  ErrorCode error;
  context.use_certificate_chain(boost::asio::buffer(pem.certificate), error);
  if (error) {
    return wrong_text(names.certificate, error);
  }
  context.use_private_key(boost::asio::buffer(pem.key), ssl::context::pem, error);
  if (error) {  // a key of another certificate is refused here already
    const auto reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
    if (reason != X509_R_KEY_VALUES_MISMATCH && reason != X509_R_KEY_TYPE_MISMATCH) {
      return wrong_text(names.key, error);
    }
    return Error(Errc::failed_precondition,
                 fmt::format("{} does not belong to {}", names.key, names.certificate));
  }
  context.add_certificate_authority(boost::asio::buffer(pem.authority), error);
  return error ? Status(wrong_text(names.authority, error)) : ok_status();
}

Result<std::shared_ptr<const TlsContext>> make_context(const TlsPem& pem,
                                                       const CertificateNames& names) {
  ERR_clear_error();
  SSL_CTX* made = SSL_CTX_new(TLS_method());
  if (made == nullptr) {
    return Error(Errc::out_of_memory, "TLS: " + openssl_reason());
  }
  ssl::context context(made);  // owns it
  TROUPE_RETURN_IF_ERROR(set_up(made));
  TROUPE_RETURN_IF_ERROR(load_texts(context, pem, names));
  return std::shared_ptr<const TlsContext>(std::make_shared<AsioTlsContext>(std::move(context)));
}

}  // namespace

std::string openssl_reason() {
  const char* text = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return text != nullptr ? text : "no reason given";
}

TlsFiles tls_files_in(const std::filesystem::path& folder) {
  return {folder / "certificate.pem", folder / "key.pem", folder / "authority.pem"};
}

Result<TlsPem> read_tls(const TlsFiles& files) {
  TlsPem pem;
  TROUPE_ASSIGN_OR_RETURN(pem.certificate, read_text(files.certificate, "certificate"));
  TROUPE_ASSIGN_OR_RETURN(pem.key, read_text(files.key, "key"));
  TROUPE_ASSIGN_OR_RETURN(pem.authority, read_text(files.authority, "authority"));
  TROUPE_RETURN_IF_ERROR(check_key_mode(files.key));
  return pem;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsPem& pem) {
  return make_context(pem, {});
}

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsFiles& files) {
  TROUPE_ASSIGN_OR_RETURN(const auto pem, read_tls(files));
  return make_context(pem, {.certificate = "certificate " + files.certificate.string(),
                            .key = "key " + files.key.string(),
                            .authority = "authority " + files.authority.string()});
}

}  // namespace troupe::net

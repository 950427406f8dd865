// The petstore_redis_ssl_... directives, and the OpenSSL contexts made from
// them.
#include "../../ngx_base/captured_log.h"
#include "../../ngx_base/str.h"
#include "../hooks.h"
#include "../module.h"
#include "arguments.h"
#include "merge.h"
#include "redis_parts.h"

namespace petstore::ngx {

namespace {

std::string text_of(const PositionedText& text)
{
    return std::string(ngx_base::view(text.text));
}

void mark_tls_levels(const LocConf& conf) noexcept
{
    if ((conf.redis && conf.redis->tls())
        || (conf.limit_redis && conf.limit_redis->tls())) {
        for (auto* level = conf.tls; level != nullptr; level = level->outer) {
            level->has_url = true;
        }
    }
}

// Called for each TLS directive before its value is set.
void note_tls_directive(ngx_conf_t* cf, LocConf& conf)
{
    if (conf.tls == nullptr) {
        conf.tls = &main_conf(cf).tls_levels.emplace_back();
    }
    conf.tls->directives.push_back(
        {std::string(ngx_base::view(arguments(cf)[0])), current_position(cf)});
}

}  // namespace

char* set_tls_flag(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept
{
    return conf_guarded(cf, [&] {
        note_tls_directive(cf, *static_cast<LocConf*>(conf));
        return ngx_conf_set_flag_slot(cf, cmd, conf);
    });
}

char* set_tls_text(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept
{
    return conf_guarded(cf, [&] {
        note_tls_directive(cf, *static_cast<LocConf*>(conf));
        return set_positioned_text(cf, cmd, conf);
    });
}

bool check_tls_levels(ngx_conf_t* cf, MainConf& main) noexcept
{
    // The http block is the only one that is merged into no other.
    mark_tls_levels(*static_cast<LocConf*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_petstore_module)));
    for (const TlsLevel& level : main.tls_levels) {
        if (!level.has_url) {
            const auto& [name, position] = level.directives.front();
            const ReportAt at(cf, position);
            refuse(cf, "\"%s\" applies to no \"rediss://\" URL", name.c_str());
            return false;
        }
    }
    return true;
}

void merge_tls(const LocConf& prev, LocConf& conf) noexcept
{
    ngx_conf_merge_value(conf.redis_ssl_verify, prev.redis_ssl_verify, 1);
    merge(conf.redis_ssl_trusted_certificate,
          prev.redis_ssl_trusted_certificate);
    merge(conf.redis_ssl_name, prev.redis_ssl_name);
    merge(conf.redis_ssl_certificate, prev.redis_ssl_certificate);
    merge(conf.redis_ssl_certificate_key, prev.redis_ssl_certificate_key);

    if (conf.tls == nullptr) {
        conf.tls = prev.tls;
    } else {
        conf.tls->outer = prev.tls;
    }
    mark_tls_levels(conf);
}

ngx_redis::TlsSettings tls_settings(const LocConf& conf,
                                    const std::string& host)
{
    ngx_redis::TlsSettings tls;
    tls.verify = conf.redis_ssl_verify != 0;
    tls.name = text_of(conf.redis_ssl_name);
    if (tls.name.empty()) {
        tls.name = host.substr(0, host.find('%'));  // drop an IPv6 zone
    }
    tls.trusted_certificate = text_of(conf.redis_ssl_trusted_certificate);
    tls.certificate = text_of(conf.redis_ssl_certificate);
    tls.certificate_key = text_of(conf.redis_ssl_certificate_key);
    return tls;
}

#if (NGX_SSL)

namespace {

constexpr ngx_int_t kChainDepth = 100;  // OpenSSL's default

// nginx logs OpenSSL errors without the directive's position. While this object
// exists, they are kept for report() instead.
class SslErrors {
public:
    SslErrors(ngx_conf_t* cf, ngx_ssl_t& ssl) noexcept
        : cf_(cf), ssl_(ssl), log_(cf->log), use_stderr_(ngx_use_stderr)
    {
        ssl.log = log_.log();
        ngx_use_stderr = 0;
    }
    ~SslErrors()
    {
        ngx_use_stderr = use_stderr_;
        ssl_.log = cf_->log;
    }
    SslErrors(const SslErrors&) = delete;

    bool report(const SourcePosition& position) noexcept
    {
        ngx_use_stderr = use_stderr_;
        const ReportAt at(cf_, position);
        refuse(cf_, "%s", log_.text());
        return false;
    }

private:
    ngx_conf_t* cf_;
    ngx_ssl_t& ssl_;
    ngx_base::CapturedLog log_;
    ngx_uint_t use_stderr_;
};

bool load_trusted(ngx_conf_t* cf, const LocConf& conf, ngx_ssl_t& ssl)
{
    SslErrors errors(cf, ssl);
    const PositionedText& file = conf.redis_ssl_trusted_certificate;
    ngx_str_t name = file.text;
    if (ngx_ssl_trusted_certificate(cf, &ssl, &name, kChainDepth) != NGX_OK) {
        return errors.report(file.position);
    }
    if (name.len == 0 && conf.redis_ssl_verify
        && SSL_CTX_set_default_verify_paths(ssl.ctx) == 0) {
        ngx_ssl_error(
            NGX_LOG_EMERG, ssl.log, 0,
            const_cast<char*>("SSL_CTX_set_default_verify_paths() failed"));
        return errors.report(conf.redis_position);
    }
    return true;
}

bool load_certificate(ngx_conf_t* cf, const LocConf& conf, ngx_ssl_t& ssl)
{
    const PositionedText& certificate = conf.redis_ssl_certificate;
    const PositionedText& key = conf.redis_ssl_certificate_key;
    const bool has_certificate = certificate.text.len != 0;
    const bool has_key = key.text.len != 0;
    if (has_certificate != has_key) {
        const ReportAt at(cf, has_key ? key.position : certificate.position);
        refuse(cf, "no \"%s\" is defined for \"%V\"",
               has_key ? "petstore_redis_ssl_certificate"
                       : "petstore_redis_ssl_certificate_key",
               has_key ? &key.text : &certificate.text);
        return false;
    }
    if (!has_certificate) {
        return true;
    }
    // Without a password, OpenSSL would prompt for one on the terminal.
    ngx_array_t* passwords = ngx_array_create(cf->pool, 1, sizeof(ngx_str_t));
    auto* password = passwords == nullptr
                         ? nullptr
                         : static_cast<ngx_str_t*>(ngx_array_push(passwords));
    if (password == nullptr) {
        return false;
    }
    *password = ngx_base::copy(cf->pool, "");

    SslErrors errors(cf, ssl);
    ngx_str_t certificate_name = certificate.text;
    ngx_str_t key_name = key.text;
    if (ngx_ssl_certificate(cf, &ssl, &certificate_name, &key_name, passwords)
        != NGX_OK) {
        // nginx reads the certificate before the key.
        const bool read = SSL_CTX_get0_certificate(ssl.ctx) != nullptr;
        return errors.report(read ? key.position : certificate.position);
    }
    return true;
}

}  // namespace

bool tls_available() noexcept
{
    return true;
}

bool create_tls_context(ngx_conf_t* cf, const LocConf& conf,
                        ngx_redis::TlsSettings& tls)
{
    auto* ssl =
        static_cast<ngx_ssl_t*>(ngx_pcalloc(cf->pool, sizeof(ngx_ssl_t)));
    auto* cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (ssl == nullptr || cleanup == nullptr) {
        return false;
    }
    ssl->log = cf->log;
    if (ngx_ssl_create(ssl, NGX_SSL_TLSv1_2 | NGX_SSL_TLSv1_3, nullptr)
        != NGX_OK) {
        return false;
    }
    cleanup->handler = ngx_ssl_cleanup_ctx;
    cleanup->data = ssl;
    // Later commands may move the buffer of a write that must be retried.
    SSL_CTX_set_mode(ssl->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE
                                   | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!load_trusted(cf, conf, *ssl) || !load_certificate(cf, conf, *ssl)) {
        return false;
    }
    tls.context = ssl;
    return true;
}

#else

bool tls_available() noexcept
{
    return false;
}

bool create_tls_context(ngx_conf_t*, const LocConf&, ngx_redis::TlsSettings&)
{
    return false;
}

#endif

}  // namespace petstore::ngx

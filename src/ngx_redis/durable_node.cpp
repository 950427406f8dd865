#include "durable_node.h"

#include <string_view>
#include <utility>

#include "../api/text.h"

namespace petstore::ngx_redis {

namespace {

// Redis ends a WAIT up to 1/hz seconds late, 0.1 by default. The connection
// must outlast that; clients do not wait for it.
constexpr ngx_msec_t kGrace = 1000;

NodeSettings settings_of_writes(NodeSettings settings)
{
    settings.name += " (creates)";
    settings.timeout += kGrace;
    return settings;
}

// An explanation of errors whose code says little.
const char* explanation_of(std::string_view error) noexcept
{
    if (api::starts_with(error, "ERR unknown command")) {
        return " (it needs Redis 7.2 or later)";
    }
    if (api::starts_with(error, "ERR WAITAOF cannot be used")) {
        return " (it needs \"appendonly yes\")";
    }
    return "";
}

}  // namespace

DurableNode::DurableNode(const NodeSettings& settings,
                         std::unique_ptr<AddressSource> source,
                         redis::Durability durability,
                         redis::Scheduler& scheduler, metrics::RedisMeter meter,
                         const ngx_log_t& log)
    : settings_(settings_of_writes(settings)), meter_(meter),
      log_(settings_.name, log),
      node_(settings_, std::move(source), scheduler, meter, log),
      alarm_(log_.log(), ngx_base::OnExit::delay),
      link_(node_, scheduler, alarm_, *this, durability, settings.timeout)
{}

void DurableNode::unsupported(const char* command,
                              const redis::Reply& error) noexcept
{
    ngx_log_error(
        NGX_LOG_ERR, log_.log(), 0,
        "petstore: redis %s does not support petstore_durability, creates are refused: %s answered with %s%s",
        settings_.name.c_str(), command, ErrorCode(error).text(),
        explanation_of(error.text()));
}

void DurableNode::supported_again() noexcept
{
    ngx_log_error(NGX_LOG_NOTICE, log_.log(), 0,
                  "petstore: redis %s supports petstore_durability again",
                  settings_.name.c_str());
}

void DurableNode::not_reached(std::size_t commands) noexcept
{
    not_reached_ += commands;
    if (not_reached_lines_.due()) {
        ngx_log_error(
            NGX_LOG_ERR, log_.log(), 0,
            "petstore: redis %s: %uz creates did not become durable in time",
            settings_.name.c_str(), not_reached_);
        not_reached_ = 0;
    }
}

void DurableNode::queue_full() noexcept
{
    meter_.redis.rejections.add();
    log_.refused();
    log_.report_refused();
}

}  // namespace petstore::ngx_redis

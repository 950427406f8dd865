#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "../../ngx_base/exception_border.h"
#include "../../ngx_base/ngx.h"
#include "../../ngx_base/str.h"

// The arguments of the directive being parsed. Errors quote the invalid value
// and name what is accepted instead.
namespace petstore::ngx {

inline char* const kConfOk = NGX_CONF_OK;
inline char* const kConfError = static_cast<char*>(NGX_CONF_ERROR);
inline char kDuplicate[] = "is duplicate";  // nginx adds the directive's name

// Element 0 is the directive's name.
inline ngx_str_t* arguments(ngx_conf_t* cf) noexcept
{
    return static_cast<ngx_str_t*>(cf->args->elts);
}

template <typename Body>
char* conf_guarded(ngx_conf_t* cf, Body&& body) noexcept
{
    return ngx_base::guarded(cf->log, kConfError, std::forward<Body>(body));
}

template <typename... Args>
char* refuse(ngx_conf_t* cf, const char* format, Args... args) noexcept
{
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, format, args...);
    return kConfError;
}

// `accepted` completes "it must be".
inline char* refuse_value(ngx_conf_t* cf, const ngx_str_t& value,
                          const char* accepted) noexcept
{
    return refuse(cf, "invalid value \"%V\" in \"%V\" directive, it must be %s",
                  &value, arguments(cf), accepted);
}

inline char* refuse_parameter(ngx_conf_t* cf, const ngx_str_t& parameter,
                              const char* accepted) noexcept
{
    return refuse(cf,
                  "invalid parameter \"%V\" in \"%V\" directive, it must be %s",
                  &parameter, arguments(cf), accepted);
}

// Arguments of the form "name=value", or a name alone.
class Parameters {
public:
    using Value = std::optional<std::int64_t>;

    explicit Parameters(ngx_conf_t* cf) noexcept : cf_(cf) {}

    // Calls `take` for each argument from index `first`. `take` passes the
    // argument to number(), seconds() and flag(), once for each known name.
    // False if an argument was refused; the error is logged. `accepted` lists
    // the names.
    template <typename Take>
    bool each(ngx_uint_t first, const char* accepted, Take&& take)
    {
        for (ngx_uint_t i = first; i < cf_->args->nelts && !refused_; ++i) {
            argument_ = arguments(cf_)[i];
            taken_ = false;
            take(*this);
            if (!taken_) {
                refuse_parameter(cf_, argument_, accepted);
                refused_ = true;
            }
        }
        return !refused_;
    }

    // name=N, N from 1 to `most`.
    void number(std::string_view name, std::int64_t most,
                Value& value) noexcept;

    // name=TIME, from one second to one day.
    void seconds(std::string_view name, Value& value) noexcept;

    // The name alone.
    void flag(std::string_view name, bool& value) noexcept;

private:
    void refuse_duplicate() noexcept;

    // The text after "name=" if the argument is this parameter. Refuses a
    // duplicate.
    std::optional<std::string_view> take(std::string_view name,
                                         bool seen) noexcept;

    ngx_conf_t* cf_;
    ngx_str_t argument_ = ngx_null_string;
    bool taken_ = false;
    bool refused_ = false;
};

}  // namespace petstore::ngx

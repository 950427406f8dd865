#pragma once

#include "../ngx_base/ngx.h"

namespace petstore::ngx {

// The file and line of a directive, recorded while parsing for errors that are
// found later.
struct Place {
    ngx_str_t file = ngx_null_string;
    ngx_uint_t line = 0;

    bool known() const noexcept { return line != 0; }
};

// The place of the directive being parsed.
inline Place current_place(const ngx_conf_t* cf) noexcept
{
    return cf->conf_file == nullptr
               ? Place{}
               : Place{cf->conf_file->file.name, cf->conf_file->line};
}

// While this object exists, ngx_conf_log_error() reports this place. When
// merging, nginx would report the closing brace of http.
class ReportAt {
public:
    ReportAt(ngx_conf_t* cf, const Place& place) noexcept
        : cf_(cf), reading_(cf->conf_file)
    {
        file_.file.name = place.file;
        file_.line = place.line;
        if (place.known()) {
            cf->conf_file = &file_;
        }
    }
    ~ReportAt() { cf_->conf_file = reading_; }
    ReportAt(const ReportAt&) = delete;
    ReportAt& operator=(const ReportAt&) = delete;

private:
    ngx_conf_t* cf_;
    ngx_conf_file_t* reading_;
    ngx_conf_file_t file_{};
};

}  // namespace petstore::ngx

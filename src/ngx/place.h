#pragma once

#include "ngx.h"

namespace petstore::ngx {

// Where a directive stands: recorded while it is read, for what turns out to be
// wrong later.
struct Place {
    ngx_str_t file = ngx_null_string;
    ngx_uint_t line = 0;

    bool known() const noexcept { return line != 0; }
};

// Of the directive that is being read.
inline Place current_place(const ngx_conf_t* cf) noexcept
{
    return cf->conf_file == nullptr
               ? Place{}
               : Place{cf->conf_file->file.name, cf->conf_file->line};
}

// As long as it lives, ngx_conf_log_error() names this place. Merging happens
// at the closing brace of http, which is what nginx would name.
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

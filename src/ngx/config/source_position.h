#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// The file and line of a directive, recorded while parsing so that errors found
// later can report them.
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

// While this object exists, ngx_conf_log_error() reports this place. During
// merging, nginx would report the closing brace of http.
class ReportAt {
public:
    ReportAt(ngx_conf_t* cf, const Place& place) noexcept
        : file_(place.known() ? cf->conf_file : nullptr)
    {
        if (file_ != nullptr) {
            reading_ = {file_->file.name, file_->line};
            move_to(place);
        }
    }
    ~ReportAt()
    {
        if (file_ != nullptr) {
            move_to(reading_);
        }
    }
    ReportAt(const ReportAt&) = delete;
    ReportAt& operator=(const ReportAt&) = delete;

private:
    void move_to(const Place& place) noexcept
    {
        file_->file.name = place.file;
        file_->line = place.line;
    }

    ngx_conf_file_t* file_;
    Place reading_;
};

}  // namespace petstore::ngx

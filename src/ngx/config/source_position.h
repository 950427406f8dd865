#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// The file and line of a directive, recorded while parsing so that errors found
// later can report them.
struct SourcePosition {
    ngx_str_t file = ngx_null_string;
    ngx_uint_t line = 0;

    bool known() const noexcept { return line != 0; }
};

// The position of the directive being parsed.
inline SourcePosition current_position(const ngx_conf_t* cf) noexcept
{
    return cf->conf_file == nullptr
               ? SourcePosition{}
               : SourcePosition{cf->conf_file->file.name, cf->conf_file->line};
}

// While this object exists, ngx_conf_log_error() reports this position. During
// merging, nginx would report the closing brace of http.
class ReportAt {
public:
    ReportAt(ngx_conf_t* cf, const SourcePosition& position) noexcept
        : file_(position.known() ? cf->conf_file : nullptr)
    {
        if (file_ != nullptr) {
            reading_ = {file_->file.name, file_->line};
            move_to(position);
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
    void move_to(const SourcePosition& position) noexcept
    {
        file_->file.name = position.file;
        file_->line = position.line;
    }

    ngx_conf_file_t* file_;
    SourcePosition reading_;
};

}  // namespace petstore::ngx

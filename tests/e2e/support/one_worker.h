#pragma once

#include <string>

namespace petstore::e2e {

// A complete configuration for NginxOptions::file: one worker, and these lines
// in http and server. For tests of what the default configuration already sets.
inline std::string one_worker(const std::string& http,
                              const std::string& server)
{
    return R"(load_module %MODULE%;
daemon off;
pid nginx.pid;
error_log error.log info;
worker_processes 1;
events { }
http {
    access_log access.log;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;
    )" + http
           + R"(
    server {
        listen %ADDRESS%:%PORT%;
        )" + server
           + R"(
    }
}
)";
}

}  // namespace petstore::e2e

#pragma once

#include <string>
#include <string_view>

#include "totals.h"

namespace petstore::metrics {

// The response formats of petstore_status. All functions throw std::bad_alloc.

// Prometheus's text format, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/
std::string prometheus_text(const Totals& totals);

std::string status_json(const Totals& totals);

// An HTML page for people. It refreshes itself and loads nothing from
// elsewhere.
std::string status_page(const Totals& totals);

// The Content-Security-Policy of that page.
std::string_view status_page_policy() noexcept;

}  // namespace petstore::metrics

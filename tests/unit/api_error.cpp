#include "api/error.h"

#include <string>

#include "catch.h"

using namespace petstore::api;

TEST_CASE("every error has the status and name of the contract", "[error]")
{
    const struct {
        ErrorCode code;
        int status;
        const char* name;
    } rows[] = {
        {ErrorCode::invalid_json, 400, "invalid_json"},
        {ErrorCode::missing_body, 400, "missing_body"},
        {ErrorCode::missing_field, 400, "missing_field"},
        {ErrorCode::invalid_field, 400, "invalid_field"},
        {ErrorCode::read_only_field, 400, "read_only_field"},
        {ErrorCode::invalid_parameter, 400, "invalid_parameter"},
        {ErrorCode::bad_request, 400, "bad_request"},
        {ErrorCode::missing_api_key, 401, "missing_api_key"},
        {ErrorCode::invalid_api_key, 401, "invalid_api_key"},
        {ErrorCode::insufficient_scope, 403, "insufficient_scope"},
        {ErrorCode::plan_not_allowed, 403, "plan_not_allowed"},
        {ErrorCode::cost_exceeds_plan, 403, "cost_exceeds_plan"},
        {ErrorCode::pet_not_found, 404, "pet_not_found"},
        {ErrorCode::not_found, 404, "not_found"},
        {ErrorCode::method_not_allowed, 405, "method_not_allowed"},
        {ErrorCode::request_timeout, 408, "request_timeout"},
        {ErrorCode::external_id_taken, 409, "external_id_taken"},
        {ErrorCode::account_in_use, 409, "account_in_use"},
        {ErrorCode::plan_in_use, 409, "plan_in_use"},
        {ErrorCode::too_many_plans, 409, "too_many_plans"},
        {ErrorCode::key_exists, 409, "key_exists"},
        {ErrorCode::already_rotated, 409, "already_rotated"},
        {ErrorCode::own_key, 409, "own_key"},
        {ErrorCode::gone, 410, "gone"},
        {ErrorCode::payload_too_large, 413, "payload_too_large"},
        {ErrorCode::uri_too_long, 414, "uri_too_long"},
        {ErrorCode::unsupported_media_type, 415, "unsupported_media_type"},
        {ErrorCode::idempotency_key_reused, 422, "idempotency_key_reused"},
        {ErrorCode::rate_limit_exceeded, 429, "rate_limit_exceeded"},
        {ErrorCode::api_key_banned, 429, "api_key_banned"},
        {ErrorCode::internal_error, 500, "internal_error"},
        {ErrorCode::service_unavailable, 503, "service_unavailable"},
        {ErrorCode::outcome_unknown, 503, "outcome_unknown"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.name);
        CHECK(http_status(row.code) == row.status);
        CHECK(code_name(row.code) == row.name);
    }
}

TEST_CASE("an error body has exactly code, message and status", "[error]")
{
    CHECK(error_body({ErrorCode::pet_not_found, "There is no such pet."})
          == R"({"code":"pet_not_found","message":"There is no such pet.",)"
             R"("status":404})");
    CHECK(error_body("gone", "", 410)
          == R"({"code":"gone","message":"","status":410})");
    CHECK(error_body("a\"b", "c\\d\n", 400)
          == R"({"code":"a\"b","message":"c\\d\n","status":400})");
}

TEST_CASE("errors made by nginx have a code", "[error]")
{
    const struct {
        int status;
        const char* name;
    } rows[] = {
        {400, "bad_request"},
        {401, "unauthorized"},
        {402, "bad_request"},
        {403, "forbidden"},
        {404, "not_found"},
        {405, "method_not_allowed"},
        {406, "bad_request"},
        {408, "request_timeout"},
        {409, "bad_request"},
        {410, "gone"},
        {411, "length_required"},
        {412, "bad_request"},
        {413, "payload_too_large"},
        {414, "uri_too_long"},
        {415, "unsupported_media_type"},
        {416, "bad_request"},
        {418, "bad_request"},
        {421, "bad_request"},
        {429, "too_many_requests"},
        {431, "bad_request"},
        {494, "header_too_large"},
        {495, "invalid_client_certificate"},
        {496, "client_certificate_required"},
        {497, "https_required"},
        {499, "bad_request"},
        {500, "internal_error"},
        {501, "not_implemented"},
        {502, "service_unavailable"},
        {503, "service_unavailable"},
        {504, "service_unavailable"},
        {505, "http_version_not_supported"},
        {507, "internal_error"},
        {599, "internal_error"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.status);
        CHECK(code_name_for_status(row.status) == row.name);
    }
}

TEST_CASE("of the errors made by nginx only 429 and 503 can be retried",
          "[error]")
{
    for (int status = 400; status < 600; ++status) {
        CAPTURE(status);
        CHECK(is_retryable_status(status) == (status == 429 || status == 503));
    }
}

TEST_CASE("bodies of errors made by nginx", "[error]")
{
    CHECK(error_body_for_status(413)
          == R"({"code":"payload_too_large","message":)"
             R"("The body of the request is too large.","status":413})");
    CHECK(error_body_for_status(418)
          == R"({"code":"bad_request","message":)"
             R"("The request is not valid.","status":418})");
    CHECK(error_body_for_status(505)
          == R"({"code":"http_version_not_supported","message":)"
             R"("The HTTP version of the request is not supported.",)"
             R"("status":505})");
    CHECK(error_body_for_status(431)
          == R"({"code":"bad_request","message":)"
             R"("The header of the request is too large.","status":431})");
}

TEST_CASE("the error for a body that is too large names the limit", "[error]")
{
    const auto error = payload_too_large(1'048'576);
    CHECK(error.code == ErrorCode::payload_too_large);
    CHECK(error.message.text()
          == "The request body must not be larger than 1048576 bytes.");
}

TEST_CASE("an error body contains the status that is sent", "[error]")
{
    for (const int status : {494, 495, 496, 497}) {
        CAPTURE(status);
        const std::string body = error_body_for_status(status);
        CHECK(body.find("\"status\":400}") != std::string::npos);
    }
    for (int status = 400; status < 494; ++status) {
        CAPTURE(status);
        const std::string body = error_body_for_status(status);
        CHECK(body.find("\"status\":" + std::to_string(status) + "}")
              != std::string::npos);
    }
}

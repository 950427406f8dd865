#pragma once

#include <string>

#include "catch.h"
#include "fake_http.h"

// Shared by the tests of the service. Must not be included by other headers.
using namespace petstore;
using Method = api::Method;
using Names = FakeWorker::Names;
using Rate = FakeClient::Rate;
using redis::NoReply;

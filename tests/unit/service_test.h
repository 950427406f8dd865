#pragma once

#include <string>

#include "catch.h"
#include "fake_http.h"

// What the tests of the service share. Not for other headers.
using namespace petstore;
using Method = api::Method;
using Names = FakeWorker::Names;
using Rate = FakeClient::Rate;
using redis::NoReply;
using service::Header;

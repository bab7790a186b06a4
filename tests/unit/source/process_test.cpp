// Programs that take too long: by the clock, and by the time that they have really used.
#include <doctest/doctest.h>

#include "source/process.h"

using namespace pglocklint;

TEST_CASE("a program that computes for ever is ended by its processor time") {
  ProcessRequest request;
  request.arguments = {"/bin/sh", "-c", "while :; do :; done"};
  request.processor_seconds = 1, request.seconds = 100;
  const ProcessResult result = runProcess(request);
  CHECK(result.out_of_processor_time);
  CHECK_FALSE(result.timed_out);
  CHECK_FALSE(result.started());
}

TEST_CASE("a program that waits uses no processor time, and is ended by the clock") {
  ProcessRequest request;
  request.arguments = {"/bin/sh", "-c", "exec sleep 100"};
  request.processor_seconds = 1, request.seconds = 2;
  const ProcessResult result = runProcess(request);
  CHECK(result.timed_out);
  CHECK_FALSE(result.out_of_processor_time);
}

TEST_CASE("other signals are no lack of time") {
  ProcessRequest request;
  request.arguments = {"/bin/sh", "-c", "kill -SEGV $$"};
  request.processor_seconds = 10;
  const ProcessResult result = runProcess(request);
  CHECK_FALSE(result.out_of_processor_time);
  CHECK_FALSE(result.started());
}

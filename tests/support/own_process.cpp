// SPDX-License-Identifier: MIT
#include "tests/support/own_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <stdexcept>

namespace rnicsim::test {

namespace {

std::string text_of(const std::function<std::string()>& function) {
  try {
    return function();
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

[[noreturn]] void run_child(int out, const std::function<std::string()>& function) {
  const std::string text = text_of(function);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(out, text.data() + done, text.size() - done);
    if (n <= 0) _exit(1);
    done += static_cast<std::size_t>(n);
  }
  _exit(0);
}

std::string read_all(int in) {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t n = 0;
  while ((n = read(in, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  return text;
}

}  // namespace

std::string in_own_process(const std::function<std::string()>& function) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) run_child(ends[1], function);
  close(ends[1]);
  std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("the process failed, having said: " + text);
  return text;
}

}  // namespace rnicsim::test

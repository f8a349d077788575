#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bitgate::fuzz {

/// Threads worth starting on this host: one a core.
inline unsigned host_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

/// Runs `count` pieces of work on `threads` threads and hands the results over in order, whichever
/// ended first, so that nothing printed depends on the number of threads.
///
/// `make_worker` is called once on each thread and owns what a thread needs to itself (a device).
/// `stop` is asked before each piece: once true, no further one starts. `done(index, result)` is
/// called one at a time with ascending index. Returns how many were done: a prefix. An exception of
/// the lowest index is thrown again after the threads have ended.
template <class Result>
std::size_t run_in_order(std::size_t count, unsigned threads,
                         const std::function<std::function<Result(std::size_t)>()>& make_worker,
                         const std::function<bool()>& stop,
                         const std::function<void(std::size_t, Result)>& done) {
  std::mutex mutex;
  std::size_t next = 0;
  std::size_t handed_over = 0;
  bool failed = false;
  std::map<std::size_t, Result> waiting;
  std::map<std::size_t, std::exception_ptr> errors;

  const auto fail = [&](std::size_t index) {
    const std::lock_guard lock(mutex);
    failed = true;
    errors.emplace(index, std::current_exception());
  };
  const auto work = [&] {
    // The cores are taken by cases; a case's own loops stay on its thread.
    if (threads > 1) omp_set_num_threads(1);
    std::size_t index = count;
    try {
      const auto worker = make_worker();
      for (;;) {
        {
          const std::lock_guard lock(mutex);
          if (failed || next == count || stop()) return;
          index = next++;
        }
        Result result = worker(index);
        const std::lock_guard lock(mutex);
        waiting.emplace(index, std::move(result));
        for (auto first = waiting.begin(); first != waiting.end() && first->first == handed_over;
             first = waiting.begin()) {
          Result ready = std::move(first->second);
          waiting.erase(first);
          done(handed_over, std::move(ready));
          ++handed_over;
        }
      }
    } catch (...) {
      fail(index);
    }
  };

  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < threads; ++thread) others.emplace_back(work);
  const int outer = omp_get_max_threads();
  work();
  omp_set_num_threads(outer);
  for (std::thread& thread : others) thread.join();
  if (!errors.empty()) std::rethrow_exception(errors.begin()->second);
  return handed_over;
}

}  // namespace bitgate::fuzz

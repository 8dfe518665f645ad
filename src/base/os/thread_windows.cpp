#include <process.h>
#include <windows.h>

#include <new>

#include "base/os/thread.hpp"

namespace dl4::os {
namespace {

constexpr unsigned stack_bytes = 1u << 20;

struct Start {
  Thread::Body body;
  void *user;
};

unsigned __stdcall run(void *p) {
  const Start s = *std::unique_ptr<Start>(static_cast<Start *>(p));
  s.body(s.user);
  return 0;
}

// Wait queues by hash of the word's address. libstdc++'s std::atomic::wait() may miss a wake-up here: until GCC 13 it
// compares the word before it takes the lock.
struct Place {
  SRWLOCK lock = SRWLOCK_INIT;
  CONDITION_VARIABLE called = CONDITION_VARIABLE_INIT;
};

Place &place_of(const void *word) {
  static constinit Place places[16];
  return places[reinterpret_cast<uintptr_t>(word) / 64 % 16];
}

}  // namespace

bool Thread::start(Body body, void *user) noexcept {
  auto *start = new (std::nothrow) Start{body, user};
  if (!start) return false;
  id_ = _beginthreadex(nullptr, stack_bytes, run, start, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (!id_) delete start;
  return id_ != 0;
}

void Thread::join() noexcept {
  const auto handle = reinterpret_cast<HANDLE>(id_);
  WaitForSingleObject(handle, INFINITE);
  CloseHandle(handle);
}

void relax() noexcept { YieldProcessor(); }

void wait(const std::atomic<uint32_t> &word, uint32_t old) noexcept {
  Place &p = place_of(&word);
  AcquireSRWLockExclusive(&p.lock);
  while (word.load(std::memory_order_acquire) == old) SleepConditionVariableSRW(&p.called, &p.lock, INFINITE, 0);
  ReleaseSRWLockExclusive(&p.lock);
}

void wake(std::atomic<uint32_t> &word) noexcept {
  Place &p = place_of(&word);
  AcquireSRWLockExclusive(&p.lock);  // a thread that has seen the old word is waiting from here on
  ReleaseSRWLockExclusive(&p.lock);
  WakeAllConditionVariable(&p.called);
}

Key::Key() noexcept {
  const DWORD key = TlsAlloc();
  known_ = key != TLS_OUT_OF_INDEXES;
  if (known_) key_ = key;
}

intptr_t Key::get() const noexcept {
  if (!known_) return 0;
  const DWORD last = GetLastError();  // TlsGetValue clears it
  const auto word = reinterpret_cast<intptr_t>(TlsGetValue(static_cast<DWORD>(key_)));
  SetLastError(last);
  return word;
}

bool Key::set(intptr_t word) const noexcept {
  return known_ && TlsSetValue(static_cast<DWORD>(key_), reinterpret_cast<void *>(word));
}

}  // namespace dl4::os

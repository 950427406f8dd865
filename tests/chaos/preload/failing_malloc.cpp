// Replaces malloc() and its family, and every form of operator new. Each
// allocation is counted once, however many of these functions it passes
// through, and then forwarded to the next definition: glibc's, libstdc++'s or
// AddressSanitizer's. That definition also frees it, so free() and operator
// delete are not replaced.
#include "failing_malloc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

FailingMalloc g_own;
FailingMalloc* g_control = &g_own;

// Initial-exec, because other thread-local variables of a library may allocate
// on first use.
#define THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local

// operator new calls malloc(), which must not be counted again.
THREAD_LOCAL int g_depth;
THREAD_LOCAL bool g_looking_up;

struct Nested {
    Nested() { ++g_depth; }
    ~Nested() { --g_depth; }
};

// Not backtrace(), which loads a library when first called.
void record_stack(FailingMalloc& control)
{
    control.frames = 0;
    const auto add = [](_Unwind_Context* context, void* data) {
        auto& all = *static_cast<FailingMalloc*>(data);
        if (all.frames == FailingMalloc::kMaxFrames) {
            return _URC_END_OF_STACK;
        }
        all.stack[all.frames++] =
            reinterpret_cast<void*>(_Unwind_GetIP(context));
        return _URC_NO_REASON;
    };
    _Unwind_Backtrace(add, &control);
}

enum class By { malloc, operator_new };

bool is_to_fail(By by)
{
    FailingMalloc& control = *g_control;
    const pid_t armed = control.armed;
    if (armed == 0 || g_depth != 0 || armed != getpid()
        || (by == By::malloc && control.only_new)) {
        return false;
    }
    const std::int64_t number = ++control.counted;
    const std::int64_t first = control.first;
    if (number < first || number - first >= control.times) {
        return false;
    }
    const Nested nested;
    record_stack(control);
    ++control.failed;
    errno = ENOMEM;
    return true;
}

// The next definition of a function. nullptr while dlsym() runs: it may
// allocate, and copes with a failure.
template <typename Function>
Function* look_up(const char* name)
{
    if (g_looking_up) {
        return nullptr;
    }
    g_looking_up = true;
    void* const found = dlsym(RTLD_NEXT, name);
    g_looking_up = false;
    return reinterpret_cast<Function*>(found);
}

#define NEXT(name, ...)                                                        \
    [] {                                                                       \
        using Function = void*(__VA_ARGS__);                                   \
        static Function* function;                                             \
        if (function == nullptr) {                                             \
            function = look_up<Function>(name);                                \
        }                                                                      \
        return function;                                                       \
    }()

template <By by = By::malloc, typename Function, typename... Args>
void* allocate(Function* next, Args... args)
{
    if (next == nullptr || is_to_fail(by)) {
        return nullptr;
    }
    const Nested nested;
    return next(args...);
}

template <typename Function, typename... Args>
void* allocate_or_throw(Function* next, Args... args)
{
    void* const memory = allocate<By::operator_new>(next, args...);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

__attribute__((constructor)) void map_control()
{
    const char* path = std::getenv(kFailingMallocFile);
    const int fd = path != nullptr ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    void* const shared = mmap(nullptr, sizeof(FailingMalloc),
                              PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared != MAP_FAILED) {
        g_control = static_cast<FailingMalloc*>(shared);
    }
}

}  // namespace

extern "C" {

FailingMalloc* failing_malloc_control()
{
    return g_control;
}

// Otherwise the runtime insists on being the first library, but a preloaded one
// comes before it.
const char* __asan_default_options()
{
    return "verify_asan_link_order=0";
}

// LeakSanitizer recognizes the dynamic linker's own memory by the caller of
// malloc(), which is this library now.
const char* __lsan_default_suppressions()
{
    return "leak:ld-linux\n";
}

// Nor is the use of that a finding.
const char* __lsan_default_options()
{
    return "print_suppressions=0";
}

void* malloc(std::size_t size) noexcept
{
    return allocate(NEXT("malloc", std::size_t), size);
}

void* calloc(std::size_t count, std::size_t size) noexcept
{
    return allocate(NEXT("calloc", std::size_t, std::size_t), count, size);
}

void* realloc(void* memory, std::size_t size) noexcept
{
    return allocate(NEXT("realloc", void*, std::size_t), memory, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept
{
    return allocate(NEXT("memalign", std::size_t, std::size_t), alignment,
                    size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
    return allocate(NEXT("aligned_alloc", std::size_t, std::size_t), alignment,
                    size);
}

int posix_memalign(void** memory, std::size_t alignment,
                   std::size_t size) noexcept
{
    using Function = int(void**, std::size_t, std::size_t);
    static Function* next = look_up<Function>("posix_memalign");
    if (next == nullptr || is_to_fail(By::malloc)) {
        return ENOMEM;
    }
    const Nested nested;
    return next(memory, alignment, size);
}

}  // extern "C"

using Align = std::align_val_t;
using NoThrow = const std::nothrow_t&;

void* operator new(std::size_t size)
{
    return allocate_or_throw(NEXT("_Znwm", std::size_t), size);
}

void* operator new[](std::size_t size)
{
    return allocate_or_throw(NEXT("_Znam", std::size_t), size);
}

void* operator new(std::size_t size, NoThrow) noexcept
{
    return allocate<By::operator_new>(NEXT("_Znwm", std::size_t), size);
}

void* operator new[](std::size_t size, NoThrow) noexcept
{
    return allocate<By::operator_new>(NEXT("_Znam", std::size_t), size);
}

void* operator new(std::size_t size, Align alignment)
{
    return allocate_or_throw(NEXT("_ZnwmSt11align_val_t", std::size_t, Align),
                             size, alignment);
}

void* operator new[](std::size_t size, Align alignment)
{
    return allocate_or_throw(NEXT("_ZnamSt11align_val_t", std::size_t, Align),
                             size, alignment);
}

void* operator new(std::size_t size, Align alignment, NoThrow) noexcept
{
    return allocate<By::operator_new>(
        NEXT("_ZnwmSt11align_val_t", std::size_t, Align), size, alignment);
}

void* operator new[](std::size_t size, Align alignment, NoThrow) noexcept
{
    return allocate<By::operator_new>(
        NEXT("_ZnamSt11align_val_t", std::size_t, Align), size, alignment);
}

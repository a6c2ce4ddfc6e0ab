/* What `import Glibc` hides, and machine instructions that Swift can't use. PlugboardPosix imports it,
   and PlugboardMemory for `plugboard_prefetch` alone. It declares and defines, and holds no state. It
   never sets _GNU_SOURCE, because that would change types of the Glibc module. */
#ifndef PLUGBOARD_PLATFORM_H
#define PLUGBOARD_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* Asks for the cache lines of bytes that will be used soon. The address may be any: nothing is read. */
static inline void plugboard_prefetch(const void *bytes, size_t count) {
    for (size_t place = 0; place < count; place += 64) __builtin_prefetch((const char *)bytes + place);
    if (count > 1) __builtin_prefetch((const char *)bytes + count - 1);
}

#if defined(__x86_64__)
/* The factors that move a CRC-32C over 64 and 128 bytes of zeros: x^(8n - 33). */
#define PLUGBOARD_CRC32C_AFTER_64 0x9e4addf8u
#define PLUGBOARD_CRC32C_AFTER_128 0x0d3b6092u

typedef long long plugboard_words __attribute__((vector_size(16)));

__attribute__((target("sse4.2,pclmul"))) static inline uint64_t
plugboard_crc32c_later(uint64_t state, uint32_t factor) {
    plugboard_words left = {(long long)state, 0}, right = {(long long)(uint64_t)factor, 0};
    plugboard_words product = (plugboard_words)__builtin_ia32_pclmulqdq128(left, right, 0);
    return __builtin_ia32_crc32di(0, (uint64_t)product[0]);
}

static inline uint64_t plugboard_word(const unsigned char *bytes) {
    uint64_t word;
    __builtin_memcpy(&word, bytes, 8);
    return word;
}

/* CRC-32C with eight bytes per instruction (SSE4.2). Each instruction waits for the one before, so
   three runs of 64 bytes go side by side and are then combined (PCLMUL). Call it only if
   `plugboard_has_crc32c` says so. */
__attribute__((target("sse4.2,pclmul"))) static inline uint32_t
plugboard_crc32c(uint32_t state, const unsigned char *bytes, size_t count) {
    uint64_t first = state;
    for (; count >= 192; bytes += 192, count -= 192) {
        uint64_t second = 0, third = 0;
        for (size_t place = 0; place < 64; place += 8) {
            first = __builtin_ia32_crc32di(first, plugboard_word(bytes + place));
            second = __builtin_ia32_crc32di(second, plugboard_word(bytes + 64 + place));
            third = __builtin_ia32_crc32di(third, plugboard_word(bytes + 128 + place));
        }
        first = plugboard_crc32c_later(first, PLUGBOARD_CRC32C_AFTER_128)
            ^ plugboard_crc32c_later(second, PLUGBOARD_CRC32C_AFTER_64) ^ third;
    }
    for (; count >= 8; bytes += 8, count -= 8) first = __builtin_ia32_crc32di(first, plugboard_word(bytes));
    uint32_t narrow = (uint32_t)first, word;
    if (count >= 4) {
        __builtin_memcpy(&word, bytes, 4);
        narrow = __builtin_ia32_crc32si(narrow, word);
        bytes += 4, count -= 4;
    }
    for (; count > 0; bytes++, count--) narrow = __builtin_ia32_crc32qi(narrow, *bytes);
    return narrow;
}
static inline int plugboard_has_crc32c(void) {
    return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
}
#else
static inline uint32_t plugboard_crc32c(uint32_t state, const unsigned char *bytes, size_t count) {
    (void)bytes, (void)count;
    return state;
}
static inline int plugboard_has_crc32c(void) { return 0; }
#endif

#ifdef __linux__
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* accept4(2): only in GNU, and necessary so that no descriptor is ever inheritable. */
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/* fallocate(2): reserves room after a file's end. */
extern int fallocate(int fd, int mode, off_t offset, off_t length);

/* sync_file_range(2): sends bytes of a file to the disk, and waits for them. */
extern int sync_file_range(int fd, off_t offset, off_t count, unsigned int flags);

/* posix_spawn's GNU additions: the child's folder, and no descriptors except its own. */
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

/* prctl(2) is variadic, so Swift can't call it. This is the same function with named arguments. */
extern int prctl_arguments(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
    __asm__("prctl");

/* sched_getcpu(3): only in GNU. */
extern int sched_getcpu(void);

/* sched_getaffinity(2) and sched_setaffinity(2). The set of processors is words of bits. */
extern int sched_getaffinity_bits(pid_t thread, size_t bytes, uint64_t *bits) __asm__("sched_getaffinity");
extern int sched_setaffinity_bits(pid_t thread, size_t bytes, const uint64_t *bits)
    __asm__("sched_setaffinity");

/* sched_setattr(2), which has no function in older libraries, for the calling thread. Its policy stays as
   it is. A system that doesn't know such turns ignores them. */
extern long plugboard_system_call(long number, long thread, const void *attributes, long flags) __asm__("syscall");
static inline int plugboard_set_turns(uint64_t nanoseconds, int nice) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {.size = 48, .flags = 8 /* SCHED_FLAG_KEEP_POLICY */, .nice = nice, .runtime = nanoseconds};
    return (int)plugboard_system_call(SYS_sched_setattr, 0, &attributes, 0);
}

#ifdef __GLIBC__
/* mtrace(3): traces allocations, if libc_malloc_debug.so is loaded before libc. */
extern void mtrace(void);
#endif
#endif

#endif

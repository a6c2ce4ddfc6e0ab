/* What `import Glibc` hides: declarations only, no code of ours in C.
   No _GNU_SOURCE here: it would change types that the Glibc module owns. */
#ifndef PLUGBOARD_PLATFORM_H
#define PLUGBOARD_PLATFORM_H

#ifdef __linux__
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* accept4(2): GNU only, and needed so that a descriptor is never inheritable. */
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/* posix_spawn's GNU additions: the child's folder, and no descriptor but its own. */
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

/* prctl(2) is variadic, which Swift can't call: the same function, its arguments named. */
extern int prctl_arguments(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
    __asm__("prctl");

#ifdef __GLIBC__
/* mtrace(3): traces allocations, where libc_malloc_debug.so is loaded before libc. */
extern void mtrace(void);
extern void muntrace(void);
#endif
#endif

#endif

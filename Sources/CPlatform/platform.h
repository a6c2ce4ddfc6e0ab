/* What `import Glibc` hides: declarations only, no code of ours in C.
   No _GNU_SOURCE here: it would change types that the Glibc module owns. */
#ifndef PLUGBOARD_PLATFORM_H
#define PLUGBOARD_PLATFORM_H

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* accept4(2): GNU only, and needed so that a descriptor is never inheritable. */
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
#endif

#endif

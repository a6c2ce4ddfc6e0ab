/* What `import Glibc` hides: declarations only, no code of ours in C. */
#ifndef PLUGBOARD_PLATFORM_H
#define PLUGBOARD_PLATFORM_H

#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#endif

#endif

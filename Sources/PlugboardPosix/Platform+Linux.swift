// What Linux spells its own way.
//
// Why its pointers are safe: a new thread gets one to an object that is kept for it, the environment
// is the C library's, and the others are to local variables, for the length of one call.

#if os(Linux)
    /// Asks `send` to report a vanished peer instead of raising SIGPIPE.
    let noSignalFlag = Int32(MSG_NOSIGNAL)

    let streamSocketType = Int32(SOCK_STREAM.rawValue)
    let datagramSocketType = Int32(SOCK_DGRAM.rawValue)

    let powerSignals = [SIGPWR]
    /// With those that a program may give any meaning, signal(7).
    let platformStraySignals = [SIGIO, SIGSTKFLT] + (__libc_current_sigrtmin()...__libc_current_sigrtmax())

    let openFilesLimit = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let fileSizeLimit = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)

    /// A socket of the process's own: non-blocking, not inherited by children.
    func makeStreamSocket() -> Int32 {
        socket(AF_UNIX, streamSocketType | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    /// Accepts one connection as a non-blocking descriptor that children don't inherit.
    func acceptStream(_ listener: Int32) -> Int32 {
        accept4(listener, nil, nil, Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue))
    }

    func socketAddressHeader(_ address: inout sockaddr_un) {
        address.sun_family = sa_family_t(AF_UNIX)
    }

    func changeTime(_ status: stat) -> timespec { status.st_ctim }

    enum PlatformProgramPath {
        static func current() -> String? { ProgramPath.resolved("/proc/self/exe") }
    }

    enum EnvironmentBlock {
        static func first() -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? { unsafe environ }
    }

    enum PlatformThread {
        static func start(_ work: UnsafeMutableRawPointer) -> Int32 {
            var thread = pthread_t()
            return unsafe pthread_create(
                &thread,
                nil,
                { pointer in
                    // Whoever started it can't do that: it may have ended by then, and glibc looks at its memory.
                    pthread_detach(pthread_self())
                    if let pointer = unsafe pointer { unsafe Work.run(pointer) }
                    return nil
                },
                unsafe work
            )
        }

        /// A turn of a tenth of a millisecond, sched_setattr(2): since Linux 6.12, a thread that wakes up
        /// interrupts one whose turns are longer. Its share of the processor stays the same.
        static func takeShortTurns() {
            _ = plugboard_set_turns(100_000, getpriority(.init(PRIO_PROCESS.rawValue), 0))
        }

        /// `SCHED_BATCH`, sched(7): a thread that wakes up waits until a processor is free or its
        /// turn has come. setpriority(2), here for a thread, makes its turns a tenth of the
        /// others'.
        static func yieldToOthers() {
            var parameters = sched_param()
            parameters.sched_priority = 0
            _ = unsafe sched_setscheduler(0, 3, &parameters)
            _ = setpriority(.init(PRIO_PROCESS.rawValue), 0, 10)
        }
    }
#endif

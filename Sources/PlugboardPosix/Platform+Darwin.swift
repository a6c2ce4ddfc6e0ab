// What macOS spells its own way. Written to the documented calls; not yet tried
// on a Mac.
//
// Why its pointers are safe: a new thread gets one to an object that is kept for it, the environment
// is the C library's, and the others are to local variables, for the length of one call.

#if canImport(Darwin)
    /// macOS has SO_NOSIGPIPE per socket instead of a flag per call.
    let noSignalFlag: Int32 = 0

    let streamSocketType = SOCK_STREAM
    let datagramSocketType = SOCK_DGRAM
    let openFilesLimit = RLIMIT_NOFILE
    let fileSizeLimit = RLIMIT_FSIZE

    let powerSignals: [Int32] = []
    let platformStraySignals: [Int32] = []

    func makeStreamSocket() -> Int32 {
        prepareStream(socket(AF_UNIX, streamSocketType, 0))
    }

    func acceptStream(_ listener: Int32) -> Int32 {
        prepareStream(accept(listener, nil, nil))
    }

    func changeTime(_ status: stat) -> timespec { status.st_ctimespec }

    func socketAddressHeader(_ address: inout sockaddr_un) {
        address.sun_family = sa_family_t(AF_UNIX)
        address.sun_len = UInt8(MemoryLayout<sockaddr_un>.size)
    }

    private func prepareStream(_ fd: Int32) -> Int32 {
        guard fd >= 0 else { return fd }
        SocketCalls.setOption(fd, SOL_SOCKET, SO_NOSIGPIPE, 1)
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        _ = fcntl(fd, F_SETFL, O_NONBLOCK)
        return fd
    }

    enum PlatformProgramPath {
        static func current() -> String? {
            var length = UInt32(PATH_MAX)
            var buffer = [CChar](repeating: 0, count: Int(length))
            guard unsafe _NSGetExecutablePath(&buffer, &length) == 0 else { return nil }
            let path = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            return ProgramPath.resolved(String(decoding: path, as: UTF8.self))
        }
    }

    enum EnvironmentBlock {
        static func first() -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
            unsafe _NSGetEnviron().pointee
        }
    }

    enum PlatformThread {
        static func start(_ work: UnsafeMutableRawPointer) -> Int32 {
            var thread: pthread_t?
            return unsafe pthread_create(
                &thread,
                nil,
                { pointer in
                    unsafe pthread_detach(pthread_self())
                    unsafe Work.run(pointer)
                    return nil
                },
                unsafe work
            )
        }

        /// Threads have no turns of their own here.
        static func takeShortTurns() {}

        static func yieldToOthers() {
            _ = pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        }
    }
#endif

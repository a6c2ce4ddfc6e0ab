// What macOS spells its own way. Written to the documented calls; not yet tried
// on a Mac.

#if canImport(Darwin)
    /// macOS has SO_NOSIGPIPE per socket instead of a flag per call.
    let noSignalFlag: Int32 = 0

    let streamSocketType = SOCK_STREAM
    let datagramSocketType = SOCK_DGRAM

    func makeStreamSocket() -> Int32 {
        prepareStream(socket(AF_UNIX, streamSocketType, 0))
    }

    func acceptStream(_ listener: Int32) -> Int32 {
        prepareStream(accept(listener, nil, nil))
    }

    func socketAddressHeader(_ address: inout sockaddr_un) {
        address.sun_family = sa_family_t(AF_UNIX)
        address.sun_len = UInt8(MemoryLayout<sockaddr_un>.size)
    }

    private func prepareStream(_ fd: Int32) -> Int32 {
        guard fd >= 0 else { return fd }
        var on: Int32 = 1
        setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        _ = fcntl(fd, F_SETFL, O_NONBLOCK)
        return fd
    }

    enum PlatformProgramPath {
        static func current() -> String? {
            var length = UInt32(PATH_MAX)
            var buffer = [CChar](repeating: 0, count: Int(length))
            guard _NSGetExecutablePath(&buffer, &length) == 0 else { return nil }
            return buffer.withUnsafeBufferPointer {
                $0.baseAddress.flatMap { ProgramPath.resolved(String(cString: $0)) }
            }
        }
    }

    enum EnvironmentBlock {
        static func first() -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? { _NSGetEnviron().pointee }
    }

    enum PlatformThread {
        static func start(_ work: UnsafeMutableRawPointer) -> Int32 {
            var thread: pthread_t?
            let code = pthread_create(
                &thread,
                nil,
                { pointer in
                    Work.run(pointer)
                    return nil
                },
                work
            )
            if code == 0, let thread { pthread_detach(thread) }
            return code
        }

        static func yieldToOthers() {
            _ = pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        }
    }
#endif

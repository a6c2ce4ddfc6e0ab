// A handle of a child that can't refer to another process by mistake: a pidfd. On kernels and C
// libraries without pidfds, the program notices that and uses the number, which belongs to the
// child until it is reaped.
//
// Why its pointers are safe: the system finds the two functions by their names, and their types here
// are those of the manual; the one pointer that they take is nil.

#if os(Linux)
    /// Signals to a child that leads a process group.
    struct ProcessHandle: ~Copyable {
        private let pid: Int32
        private let pidfd: Descriptor?

        /// `pid` must be a child that wasn't reaped yet.
        init(child pid: Int32) {
            self.pid = pid
            let number = PidfdCalls.open.map { $0(pid, 0) } ?? -1
            pidfd = number >= 0 ? Descriptor(adopting: number) : nil
        }

        /// Whether there is a pidfd.
        var isExact: Bool {
            switch pidfd {
            case .some: true
            case .none: false
            }
        }

        /// Sends a signal to the child's group.
        func signalGroup(_ number: Int32) {
            switch pidfd {
            case .some(let descriptor):
                let result = unsafe PidfdCalls.send.map {
                    $0(descriptor.raw, number, nil, PidfdCalls.toGroup)
                }
                // Only kernels from 6.9 on support groups. ESRCH means that no process is left.
                if let result, result == 0 || errno == ESRCH { return }
            case .none: break
            }
            kill(-pid, number)
        }

        /// Whether anybody of the child's group still runs. The child itself has ended and isn't reaped, so no
        /// other group has its number; and the system counts it, so all processes are looked at.
        var isGroupAlive: Bool {
            let processes = ((try? Folder.names(in: "/proc")) ?? []).filter { Int32($0) != nil }
            return processes.contains { process in
                let line = try? InputFile.contents(path: "/proc/\(process)/stat", limit: 4_096)
                // The state, the parent and the group stand behind the program's name, which is in parentheses.
                guard let line, let end = line.lastIndex(of: 0x29) else { return false }
                let fields = String(decoding: line[(end + 1)...], as: UTF8.self).split(separator: " ")
                return fields.count > 2 && fields[2] == "\(pid)" && !["Z", "X"].contains(fields[0])
            }
        }
    }

    /// The two calls, if this C library has them (glibc from 2.36 on).
    private enum PidfdCalls {
        typealias Open = @convention(c) (Int32, UInt32) -> Int32
        typealias Send = @convention(c) (Int32, Int32, UnsafeMutableRawPointer?, UInt32) -> Int32

        /// PIDFD_SIGNAL_PROCESS_GROUP
        static let toGroup: UInt32 = 1 << 2
        static let open = unsafe dlsym(nil, "pidfd_open").map { unsafe unsafeBitCast($0, to: Open.self) }
        static let send = unsafe dlsym(nil, "pidfd_send_signal").map {
            unsafe unsafeBitCast($0, to: Send.self)
        }
    }
#endif

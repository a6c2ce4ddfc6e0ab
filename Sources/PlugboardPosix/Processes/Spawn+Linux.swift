// posix_spawn's actions and attributes on Linux.
//
// Why its pointers are safe: the structures are `posix_spawn`'s own, prepared by its calls before
// use and destroyed once, and each call gets the address of one for its own length.

import PlugboardMemory

#if os(Linux)
    /// What the child does with its descriptors and its folder before the program starts.
    @safe
    struct SpawnActions {
        var raw = unsafe posix_spawn_file_actions_t()

        mutating func prepare(
            output: ChildStart.Output, writer: Int32?, reader: Int32?, passing: Int32?, folder: String?
        ) throws {
            unsafe posix_spawn_file_actions_init(&raw)
            if let reader {
                try unsafe check(posix_spawn_file_actions_adddup2(&raw, reader, 0), "input")
            } else {
                try unsafe check(
                    posix_spawn_file_actions_addopen(&raw, 0, "/dev/null", O_RDONLY, 0), "/dev/null"
                )
            }
            if let writer {
                try unsafe check(posix_spawn_file_actions_adddup2(&raw, writer, 1), "output")
                if case .piped = output {
                    try unsafe check(posix_spawn_file_actions_adddup2(&raw, writer, 2), "output")
                }
            }
            if let passing {
                try unsafe check(posix_spawn_file_actions_adddup2(&raw, passing, 3), "descriptor")
            }
            let rest: Int32 = passing == nil ? 3 : 4
            try unsafe check(posix_spawn_file_actions_addclosefrom_np(&raw, rest), "descriptors")
            if let folder {
                try unsafe check(
                    posix_spawn_file_actions_addchdir_np(&raw, SystemText.cString(folder)), folder
                )
            }
        }

        mutating func destroy() {
            unsafe posix_spawn_file_actions_destroy(&raw)
        }
    }

    /// A group of its own, and signals as a fresh program expects them.
    @safe
    struct SpawnAttributes {
        var raw = posix_spawnattr_t()
        /// POSIX_SPAWN_SETSID, which glibc and musl have for those who ask for extensions.
        private static let setsid: Int32 = 0x80

        mutating func prepare(_ leading: ChildStart.Leading) throws {
            unsafe posix_spawnattr_init(&raw)
            var signals = sigset_t()
            unsafe sigfillset(&signals)
            try unsafe check(posix_spawnattr_setsigdefault(&raw, &signals), "signals")
            unsafe sigemptyset(&signals)
            try unsafe check(posix_spawnattr_setsigmask(&raw, &signals), "signals")
            try unsafe check(posix_spawnattr_setpgroup(&raw, 0), "group")
            let leader = leading == .session ? Self.setsid : POSIX_SPAWN_SETPGROUP
            let flags = leader | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
            try unsafe check(posix_spawnattr_setflags(&raw, Int16(flags)), "flags")
        }

        mutating func destroy() {
            unsafe posix_spawnattr_destroy(&raw)
        }
    }

    private func check(_ code: Int32, _ subject: String) throws {
        guard code == 0 else { throw SystemError(code: code, operation: "posix_spawn", subject: subject) }
    }

    extension SpawnCalls {
        /// Whom waitid's answer is about; 0 if it found nobody.
        static func processNumber(_ information: siginfo_t) -> Int32 {
            unsafe information._sifields._sigchld.si_pid
        }
    }

    extension ChildEnd {
        /// From waitid's answer; nil if it found nothing yet.
        init?(_ information: siginfo_t) {
            guard unsafe information._sifields._sigchld.si_pid != 0 else { return nil }
            let status = unsafe information._sifields._sigchld.si_status
            self = unsafe information.si_code == CLD_EXITED ? .exited(status) : .signalled(status)
        }
    }

    /// Asks the kernel to send this process a signal when its parent dies, however it
    /// dies. It outlives `exec`. False if the parent is already gone.
    public enum ParentWatch {
        public static func signalSelf(_ number: Int32, whenParentDies parent: Int32) -> Bool {
            _ = prctl_arguments(PR_SET_PDEATHSIG, UInt(number), 0, 0, 0)
            return getppid() == parent
        }
    }
#endif

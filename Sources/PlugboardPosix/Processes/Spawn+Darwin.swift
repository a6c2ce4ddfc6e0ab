// posix_spawn's actions and attributes on macOS. Written to the documented calls;
// not yet tried on a Mac.
//
// Why its pointers are safe: the structures are `posix_spawn`'s own, prepared by its calls before
// use and destroyed once, and each call gets the address of one for its own length.

import PlugboardMemory

#if canImport(Darwin)
    @safe
    struct SpawnActions {
        var raw: posix_spawn_file_actions_t?

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
            try unsafe check(posix_spawn_file_actions_adddup2(&raw, writer ?? 1, 1), "output")
            if let writer, case .piped = output {
                try unsafe check(posix_spawn_file_actions_adddup2(&raw, writer, 2), "output")
            } else {
                try unsafe check(posix_spawn_file_actions_adddup2(&raw, 2, 2), "error")
            }
            if let passing {
                try unsafe check(posix_spawn_file_actions_adddup2(&raw, passing, 3), "descriptor")
            }
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

    @safe
    struct SpawnAttributes {
        var raw: posix_spawnattr_t?

        mutating func prepare(_ leading: ChildStart.Leading) throws {
            unsafe posix_spawnattr_init(&raw)
            var signals = sigset_t()
            unsafe sigfillset(&signals)
            try unsafe check(posix_spawnattr_setsigdefault(&raw, &signals), "signals")
            unsafe sigemptyset(&signals)
            try unsafe check(posix_spawnattr_setsigmask(&raw, &signals), "signals")
            try unsafe check(posix_spawnattr_setpgroup(&raw, 0), "group")
            let leader = leading == .session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP
            let flags =
                leader | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
                | POSIX_SPAWN_CLOEXEC_DEFAULT
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
        static func processNumber(_ information: siginfo_t) -> Int32 {
            unsafe information.si_pid
        }
    }

    extension ChildEnd {
        init?(_ information: siginfo_t) {
            guard unsafe information.si_pid != 0 else { return nil }
            let status = unsafe information.si_status
            self = unsafe information.si_code == CLD_EXITED ? .exited(status) : .signalled(status)
        }
    }

    /// macOS doesn't notify a child of its parent's death: a child outlives a parent that was
    /// killed outright.
    public enum ParentWatch {
        public static func signalSelf(_ number: Int32, whenParentDies parent: Int32) -> Bool {
            getppid() == parent
        }
    }
#endif

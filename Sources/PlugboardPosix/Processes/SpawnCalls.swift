// The system's calls that start a program, and those that wait for its end.
//
// Why its pointers are safe: each is to a local variable, or to texts that stay until the call
// returns; the list of them ends with nil, as the calls expect.

import PlugboardMemory

/// `posix_spawn` and `waitid`, for one child each.
enum SpawnCalls {
    /// Starts a program, and returns the number of its process.
    static func start(
        _ start: ChildStart, _ actions: inout SpawnActions, _ attributes: inout SpawnAttributes
    ) throws -> Int32 {
        var pid: pid_t = 0
        let code = unsafe withList([start.program] + start.arguments) { argv in
            unsafe withList(start.environment) { envp in
                unsafe posix_spawn(
                    &pid, SystemText.cString(start.program), &actions.raw, &attributes.raw, argv, envp
                )
            }
        }
        guard code == 0 else {
            throw SystemError.starting(start.program, "start", in: start.folder, code: code)
        }
        return pid
    }

    /// Runs a program in place of this one. Returns only if that failed, with `errno`.
    static func execute(_ program: String, _ arguments: [String]) {
        _ = unsafe withList([program] + arguments) { unsafe execv(SystemText.cString(program), $0) }
    }

    /// How a child ended, which isn't reaped; nil while it runs.
    static func end(of pid: Int32) -> ChildEnd? {
        var information = unsafe siginfo_t()
        let result = retrying {
            unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT)
        }
        // There is no child to wait for: it has ended, but it isn't known how.
        return result == 0 ? unsafe ChildEnd(information) : .exited(0)
    }

    /// A child that has ended and isn't reaped; nil if there is none.
    static func endedChild() -> Int32? {
        var information = unsafe siginfo_t()
        let result = retrying { unsafe waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) }
        let pid = unsafe processNumber(information)
        return result == 0 && pid > 0 ? pid : nil
    }

    static func reap(_ pid: Int32) {
        _ = retrying { waitpid(pid, nil, 0) }
    }

    /// Lends texts in the form that `exec` takes.
    private static func withList(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        var pointers = unsafe texts.map { unsafe strdup(SystemText.cString($0)) }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free($0) } }
        return unsafe body(pointers)
    }
}

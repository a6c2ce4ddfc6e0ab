import PlugboardPosix
import TestSupport
import Testing

@Suite("Child processes", .someAtATime)
struct ChildProcessTests {
    private struct Late: Error {}

    /// Runs a shell script to its end. Returns its output and how it ended.
    private func run(_ script: String, _ arguments: [String] = [], folder: String? = nil) throws -> (
        String, ChildEnd
    ) {
        var child = try ChildProcess(starting: shell(script, arguments, folder: folder))
        var bytes: [UInt8] = []
        let deadline = MonotonicClock.nanoseconds() + 20_000_000_000
        while MonotonicClock.nanoseconds() < deadline {
            let end = child.end()
            bytes += output(child.outputFD)
            if let end { return (String(decoding: bytes, as: UTF8.self), end) }
            Pause.sleep(seconds: 0.002)
        }
        throw Late()
    }

    private func shell(_ script: String, _ arguments: [String] = [], folder: String? = nil) -> ChildStart {
        ChildStart(
            program: "/bin/sh", arguments: ["-c", script, "sh"] + arguments, folder: folder, output: .piped
        )
    }

    private func output(_ fd: Int32?) -> [UInt8] {
        guard let fd else { return [] }
        var bytes: [UInt8] = []
        while case (.bytes, let piece) = PipeCalls.read(fd, upTo: 4096) { bytes += piece }
        return bytes
    }

    /// Whether a process runs. One that only waits for init to reap it doesn't.
    private func isAlive(_ pid: Int32) -> Bool {
        guard kill(pid, 0) == 0 else { return false }
        let text = (try? InputFile.contents(path: "/proc/\(pid)/stat", limit: 4096)) ?? []
        return !String(decoding: text, as: UTF8.self).contains(") Z ")
    }

    private func waitUntil(_ condition: () -> Bool) throws {
        let deadline = MonotonicClock.nanoseconds() + 20_000_000_000
        while !condition() {
            guard MonotonicClock.nanoseconds() < deadline else { throw Late() }
            Pause.sleep(seconds: 0.002)
        }
    }

    @Test("a child reads what its parent writes, until the parent ends its input")
    func input() throws {
        var start = shell("cat; echo end")
        start.takesInput = true
        var child = try ChildProcess(starting: start)
        let writer = child.inputFD
        let fd = try #require(writer)
        let text = Array("one\n".utf8)
        #expect(PipeCalls.write(fd, text.span) == .bytes(4))
        var bytes: [UInt8] = []
        try waitUntil {
            bytes += output(child.outputFD)
            return bytes == text
        }
        var end = child.end()
        #expect(end == nil)
        child.endInput()
        let left = child.inputFD
        #expect(left == nil)
        try waitUntil {
            end = child.end()
            return end != nil
        }
        #expect(end == .exited(0))
        #expect(output(child.outputFD) == Array("end\n".utf8))
    }

    @Test("the end comes with its status, or with the signal that caused it")
    func ends() throws {
        #expect(try run("exit 0").1 == .exited(0))
        #expect(try run("exit 7").1 == .exited(7))
        #expect(try run("kill -KILL $$").1 == .signalled(SIGKILL))
        #expect("\(ChildEnd.signalled(SIGTERM))" == "was ended by SIGTERM")
        #expect("\(ChildEnd.exited(3))" == "exited with status 3")
    }

    @Test("output and errors come through one pipe, in the order in which they were written")
    func output() throws {
        #expect(try run("echo a; echo b >&2; echo c").0 == "a\nb\nc\n")
    }

    @Test("arguments arrive unchanged")
    func arguments() throws {
        #expect(try run(#"printf '<%s>' "$@""#, ["a b", "", "*", "ü'\""]).0 == "<a b><><*><ü'\">")
    }

    @Test("it runs in the given folder, with an empty standard input")
    func folder() throws {
        #expect(try run("pwd; cat", folder: "/").0 == "/\n")
    }

    @Test("it has exactly the given variables")
    func environment() throws {
        var start = shell("echo $A; env | grep -c B")
        start.environment = ["A=1", "PATH=/usr/bin:/bin"]
        var child = try ChildProcess(starting: start)
        var text: [UInt8] = []
        try waitUntil {
            text += output(child.outputFD)
            return child.end() != nil
        }
        text += output(child.outputFD)
        #expect(String(decoding: text, as: UTF8.self) == "1\n0\n")
        #expect(Environment.all(with: ["PATH": "x"]).filter { $0.hasPrefix("PATH=") } == ["PATH=x"])
    }

    @Test("it leads its own process group")
    func group() throws {
        let child = try ChildProcess(starting: shell("exec sleep 100"))
        #expect(getpgid(child.pid) == child.pid)
    }

    @Test(
        "it inherits no descriptor except its three standard ones",
        .enabled(if: FileStatus(path: "/proc/self/fd").kind == .folder)
    )
    func descriptors() throws {
        let leaky = dup(0)
        defer { close(leaky) }
        #expect(fcntl(leaky, F_GETFD) & FD_CLOEXEC == 0)
        // `ls` itself has 3 open: the folder that it lists.
        #expect(try run("exec ls /proc/self/fd").0 == "0\n1\n2\n3\n")
    }

    @Test(
        "signals are as a new program expects them, although the parent ignores SIGPIPE",
        .enabled(if: FileStatus(path: "/proc/self/status").kind == .file)
    )
    func signals() throws {
        Signals.ignoreFailedWrites()
        let text = try run("exec grep -E '^Sig(Blk|Ign)' /proc/self/status").0
        let masks = text.split(separator: "\n").compactMap { UInt64($0.split(separator: "\t")[1], radix: 16) }
        // Signals 32 and 33 are the C library's own, which posix_spawn leaves alone.
        #expect(masks.map { $0 & ~(3 << 31) } == [0, 0])
    }

    @Test("it leads a session on request, and its children are in that session")
    func session() throws {
        var start = shell("sh -c 'sleep 1000 & echo $!; wait'")
        start.leading = .session
        let child = try ChildProcess(starting: start)
        var bytes: [UInt8] = []
        try waitUntil {
            bytes += output(child.outputFD)
            return bytes.last == 0x0A
        }
        let inner = try #require(Int32(String(decoding: bytes.dropLast(), as: UTF8.self)))
        #expect(ProcessSession.of(child.pid) == child.pid)
        #expect(ProcessSession.of(inner) == child.pid)
        #expect(ProcessSession.of(getpid()) != child.pid)
        #expect(ProcessSession.of(0) == nil)
    }

    @Test("a held child reads a byte when it may go on, or the end when its parent is gone")
    func held() throws {
        var start = shell("read -r line && echo go || echo gone")
        start.isHeld = true
        var child = try ChildProcess(starting: start)
        #expect(child.end() == nil)
        child.release()
        child.release()
        var bytes: [UInt8] = []
        try waitUntil {
            bytes += output(child.outputFD)
            return bytes.last == 0x0A
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "go\n")
    }

    @Test("a missing program is an error that names it")
    func missing() throws {
        #expect(throws: SystemError(code: ENOENT, operation: "start", subject: "/no/such")) {
            _ = try ChildProcess(starting: ChildStart(program: "/no/such", output: .piped))
        }
    }

    @Test(
        "a failed start leaves no descriptor open",
        .enabled(if: FileStatus(path: "/proc/self/fd").kind == .folder)
    )
    func failedStart() throws {
        func count() throws -> Int { try Folder.names(in: "/proc/self/fd").count }
        let before = try count()
        for _ in 0..<500 { _ = try? ChildProcess(starting: ChildStart(program: "/no/such", output: .piped)) }
        // Other tests open descriptors meanwhile.
        #expect(try count() < before + 300)
    }

    @Test("what remains of its group ends with it")
    func leftovers() throws {
        let (text, end) = try run("sleep 1000 >/dev/null 2>&1 & echo $!")
        #expect(end == .exited(0))
        let pid = try #require(Int32(text.dropLast()))
        try waitUntil { !isAlive(pid) }
    }

    @Test("releasing a child ends it and its whole group, and leaves no zombie")
    func letGo() throws {
        var pids: [Int32] = []
        do {
            let child = try ChildProcess(starting: shell("trap '' TERM; sleep 1000 & echo $!; wait"))
            var text: [UInt8] = []
            try waitUntil {
                text += output(child.outputFD)
                return text.last == 0x0A
            }
            pids = [child.pid, try #require(Int32(String(decoding: text.dropLast(), as: UTF8.self)))]
        }
        #expect(kill(pids[0], 0) == -1)
        #expect(errno == ESRCH)
        try waitUntil { !isAlive(pids[1]) }
    }

    @Test("a signal to the group reaches the child")
    func signalGroup() throws {
        var child = try ChildProcess(
            starting: shell("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done")
        )
        var text: [UInt8] = []
        try waitUntil {
            text += output(child.outputFD)
            return text.last == 0x0A
        }
        child.signalGroup(SIGTERM)
        var end: ChildEnd?
        try waitUntil {
            end = child.end()
            return end != nil
        }
        #expect(end == .exited(9))
    }
}

@Suite("Caught signals", .oneAtATime, .serialized)
struct SignalsTests {
    @Test("a caught signal can be read with its number, and wakes a poller")
    func caught() throws {
        let signals = try Signals(catching: [SIGUSR1, SIGUSR2])
        #expect(signals.next() == nil)
        kill(getpid(), SIGUSR2)
        #expect(signals.wait() == SIGUSR2)
        kill(getpid(), SIGUSR1)
        #expect(signals.wait() == SIGUSR1)
        #expect(signals.next() == nil)
        #expect(Signals.name(SIGUSR1) == "SIGUSR1")
        #expect(Signals.name(99) == "signal 99")
    }
}

@Suite("Files", .someAtATime)
struct InputFileTests {
    @Test(
        "a small file is read completely; a folder, a missing file and one over the limit are errors with its name"
    )
    func contents() throws {
        let text = try InputFile.contents(path: #filePath, limit: 1 << 20)
        #expect(String(decoding: text, as: UTF8.self).hasPrefix("import PlugboardPosix"))
        #expect(throws: SystemError(code: EFBIG, operation: "read", subject: #filePath)) {
            try InputFile.contents(path: #filePath, limit: 10)
        }
        #expect(throws: SystemError(code: EISDIR, operation: "read", subject: "/")) {
            try InputFile.contents(path: "/", limit: 10)
        }
        #expect(throws: SystemError(code: ENOENT, operation: "read", subject: "/no/such")) {
            try InputFile.contents(path: "/no/such", limit: 10)
        }
    }

    @Test("the kinds of what is at a path are distinguished")
    func status() {
        #expect(FileStatus(path: #filePath).kind == .file)
        #expect(FileStatus(path: "/").kind == .folder)
        #expect(FileStatus(path: "/dev/null").kind == .other)
        #expect(FileStatus(path: "/no/such").kind == .missing)
        #expect(FileStatus.isRunnable(path: "/bin/sh"))
        #expect(!FileStatus.isRunnable(path: "/"))
        #expect(!FileStatus.isRunnable(path: #filePath))
    }
}
